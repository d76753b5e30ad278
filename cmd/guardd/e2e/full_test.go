package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"guard"
	"guard/daemon/client"
	"guard/store"
)

// disk is a place for a ledger that can be filled and given room again.
type disk struct {
	dir  string   // for guardd
	seen string   // the same place, for the test
	in   []string // what guardd is started through to be there
	fill func()
	room func()
}

// TestDiskFull lets the disk under the ledger fill up while releases fall due.
// guardd says so, goes on reading, ends nothing that it could not write down
// first, and goes on by itself once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	t.Run("a file system without room", func(t *testing.T) {
		t.Parallel()
		g := unpack(t)
		d, err := mounted(g)
		if err != nil {
			t.Skipf("no file system of its own to be had (mount namespaces are refused here): %v; a file size limit is tried instead", err)
		}
		full(t, g, d)
	})
	t.Run("a file size limit", func(t *testing.T) {
		t.Parallel()
		g := unpack(t)
		full(t, g, limited(g))
	})
}

// TestReadOnlyMount starts guardd where the ledger's file system takes no writes: it
// says so, changes nothing, and starts once it does.
func TestReadOnlyMount(t *testing.T) {
	t.Parallel()
	g := unpack(t)
	d, err := mounted(g)
	if err != nil {
		t.Skipf("no file system of its own to be had (mount namespaces are refused here): %v", err)
	}
	remount := func(how string) {
		args := append(slices.Clone(d.in[1:]), "mount", "-o", "remount,"+how, d.dir)
		if out, err := exec.Command(d.in[0], args...).CombinedOutput(); err != nil {
			t.Fatalf("remount %s: %v: %s", how, err, out)
		}
	}
	c, w := newCloud(t), newWorkspace(t)
	g.in = d.in
	g.watch(guard.Enforce, filepath.Join(d.dir, "ledger.db"), c, w)
	g.start()
	id := c.run()
	g.guard("register", "research/"+id, "--purpose", "fine-tune", "--ttl", "8h")
	g.stop()
	remount("ro")
	out, code := g.refused("serve")
	if code != 1 || !strings.Contains(out, "mounted read-only") || !strings.Contains(out, "mount it writable") || !strings.Contains(out, "ledger.db") {
		t.Errorf("exit %d: %s", code, out)
	}
	remount("rw")
	g.start()
	if out := g.guard("ls"); !strings.Contains(out, id) {
		t.Errorf("mounted writable again, it lists %s", out)
	}
	g.stop()
}

// mounted is a file system of 2 MiB in a mount namespace, which a process of its
// own keeps.
func mounted(g *guardd) (disk, error) {
	d := disk{dir: filepath.Join(g.dir, "disk")}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		return d, err
	}
	holder := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=2m,mode=700 none "$0" && echo mounted && exec cat`, d.dir)
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := holder.StdinPipe()
	if err != nil {
		return d, err
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		return d, err
	}
	if err := holder.Start(); err != nil {
		return d, err
	}
	g.t.Cleanup(func() { _ = in.Close(); _ = holder.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return d, fmt.Errorf("unshare and mount: %q, %w", line, err)
	}
	pid := fmt.Sprint(holder.Process.Pid)
	d.in = []string{"nsenter", "-t", pid, "-U", "-m", "--preserve-credentials"}
	d.seen = filepath.Join("/proc", pid, "root", d.dir)
	filler := filepath.Join(d.seen, "filler")
	d.fill = func() {
		f, err := os.OpenFile(filler, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			g.t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		g.t.Logf("the disk is full: %v", err)
	}
	d.room = func() {
		if err := os.Remove(filler); err != nil {
			g.t.Fatal(err)
		}
	}
	return d, nil
}

// limited is a directory in which guardd's files cannot be written behind their
// second page, once it is filled.
func limited(g *guardd) disk {
	limit := func(to uint64) {
		err := unix.Prlimit(g.run.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: to, Max: unix.RLIM_INFINITY}, nil)
		if err != nil {
			g.t.Fatal(err)
		}
	}
	return disk{dir: g.dir, seen: g.dir, fill: func() { limit(2 * 4096) }, room: func() { limit(unix.RLIM_INFINITY) }}
}

func full(t *testing.T, g *guardd, d disk) {
	c, w := newCloud(t), newWorkspace(t)
	g.in = d.in
	g.watch(guard.Enforce, filepath.Join(d.dir, "ledger.db"), c, w)
	g.start()
	kept := map[string]bool{}
	register := func(ttl string) (string, string) {
		id := c.run()
		out, code := g.try("register", "research/"+id, "--purpose", "fine-tune", "--ttl", ttl)
		kept[id] = code == 0
		return id, out
	}
	const ttl = 40 * time.Second
	var due []string
	deadline := time.Now().Add(ttl)
	for range 5 {
		id, out := register(ttl.String())
		if !kept[id] {
			t.Fatal(out)
		}
		due = append(due, id)
	}
	last := time.Now().Add(ttl)
	long, _ := register("8h")
	d.fill()
	g.useUp(long, deadline)
	id, out := register("8h")
	if kept[id] || !strings.Contains(out, "make room on the disk") || !strings.Contains(out, "ledger.db") {
		t.Errorf("a registration that cannot be kept is answered with %q", out)
	}

	<-time.After(time.Until(last.Add(4 * time.Second)))
	g.holdsBack(c, due)
	g.until("status tells of the full disk", func() bool {
		out, code := g.try("status")
		return code == 1 && strings.Contains(out, "make room on the disk")
	})
	if log := g.log.String(); !strings.Contains(log, "make room on the disk") || !strings.Contains(log, "ledger.db") {
		t.Errorf("the log does not say that the disk is full: %s", g.log.tail())
	}
	if d.in != nil { // a limit ends with its process
		g.kill()
		g.start()
		<-time.After(3 * time.Second)
		g.holdsBack(c, due)
	}

	d.room()
	g.until("what was due is ended", func() bool { return !slices.ContainsFunc(due, c.alive) })
	for _, id := range due {
		if n := c.asked(id); n != 1 {
			t.Errorf("%s: the cloud was told %d times to end it", id, n)
		}
	}
	g.until("all is well again", func() bool { _, code := g.try("status"); return code == 0 })
	if id, out := register("8h"); !kept[id] {
		t.Errorf("with room again: %s", out)
	}
	g.stop()
	g.wholeAt(filepath.Join(d.seen, "ledger.db"), func(v *store.View) error {
		for id, promised := range kept {
			_, ok, err := v.LeaseOf(boxKey(id))
			if err != nil || ok != promised {
				t.Errorf("%s: in the ledger %t, promised %t, %v", id, ok, promised, err)
			}
		}
		return nil
	})
}

// useUp writes into the ledger until that fails and goes on failing: what room is left in
// the file itself is then too little for a release, which writes no less.
func (g *guardd) useUp(id string, due time.Time) {
	g.t.Helper()
	change, other := g.api.Protect, g.api.Unprotect
	for failed := 0; failed < 10; {
		if time.Now().After(due) {
			g.t.Fatal("there is room left when the first of the releases is due")
		}
		if _, err := change(context.Background(), "research/"+id); err != nil {
			failed++ // and once more the same, for the other has nothing to change then
		} else {
			failed = 0
			change, other = other, change
		}
	}
}

// holdsBack checks that guardd shows what it knows, and has ended nothing of what
// is due but what it could write down before.
func (g *guardd) holdsBack(c *cloud, due []string) {
	g.t.Helper()
	list, err := g.api.List(context.Background(), client.Filter{})
	if err != nil || len(list.Items) < len(due) {
		g.t.Errorf("with a full disk it lists %d instances, %v", len(list.Items), err)
	}
	held := 0
	for _, id := range due {
		asked, state := c.asked(id), g.release(id)
		if intended := state == "intended" || state == "issued"; asked > 0 && !intended {
			g.t.Errorf("%s was ended, and the ledger says that its release is %s", id, state)
		}
		if asked == 0 {
			held++
		}
	}
	if held == 0 {
		g.t.Error("everything due was ended on a full disk: that proves nothing")
	}
}

// Where a ledger cannot even be made, guardd says so and leaves nothing behind.
func TestNoRoomForALedger(t *testing.T) {
	t.Parallel()
	g := unpack(t)
	d, err := mounted(g)
	if err != nil {
		t.Skipf("no file system of its own to be had (mount namespaces are refused here): %v", err)
	}
	g.in = d.in
	g.watch(guard.Enforce, filepath.Join(d.dir, "ledger.db"), newCloud(t), newWorkspace(t))
	d.fill()
	out, code := g.refused("serve")
	if code != 1 || !strings.Contains(out, filepath.Join(d.dir, "ledger.db")) || !strings.Contains(out, "no space left") {
		t.Errorf("exit %d: %s", code, out)
	}
	entries, err := os.ReadDir(d.seen)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	d.room()
	g.start()
	g.stop()
}
