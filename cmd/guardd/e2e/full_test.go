package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	register := func(ttl string) (string, string, bool) {
		id := c.run()
		out, code := g.try("register", "research/"+id, "--purpose", strings.Repeat("fill ", 40), "--ttl", ttl)
		kept[id] = code == 0
		return id, out, code == 0
	}
	var due []string
	for range 4 {
		id, out, ok := register("12s")
		if !ok {
			t.Fatal(out)
		}
		due = append(due, id)
	}
	deadline := time.Now().Add(12 * time.Second)
	d.fill()
	// What room is left in the file itself is used up.
	said := ""
	for ok := true; ok; {
		if time.Now().After(deadline.Add(-3 * time.Second)) {
			t.Fatal("the disk is full and guardd still registers")
		}
		_, said, ok = register("8h")
	}
	if !strings.Contains(said, "make room on the disk") || !strings.Contains(said, "ledger.db") {
		t.Errorf("a registration that cannot be kept is refused with %q", said)
	}

	<-time.After(time.Until(deadline.Add(4 * time.Second)))
	g.silent(c, due)
	if out, code := g.try("status"); code != 1 || !strings.Contains(out, "make room on the disk") {
		t.Errorf("status: exit %d: %s", code, out)
	}
	if log := g.log.String(); !strings.Contains(log, "make room on the disk") || !strings.Contains(log, "ledger.db") {
		t.Errorf("the log does not say that the disk is full: %s", g.log.tail())
	}
	if d.in != nil { // a limit ends with its process
		g.kill()
		g.start()
		<-time.After(3 * time.Second)
		g.silent(c, due)
	}

	d.room()
	g.until("what was due is ended", func() bool {
		for _, id := range due {
			if c.alive(id) {
				return false
			}
		}
		return true
	})
	for _, id := range due {
		if n := c.asked(id); n != 1 {
			t.Errorf("%s: the cloud was told %d times to end it", id, n)
		}
	}
	g.until("all is well again", func() bool { _, code := g.try("status"); return code == 0 })
	if _, out, ok := register("8h"); !ok {
		t.Errorf("with room again: %s", out)
	}
	g.stop()
	g.wholeAt(filepath.Join(d.seen, "ledger.db"), func(v *store.View) error {
		for id, promised := range kept {
			_, ok, err := v.LeaseOf(guard.ResourceID{Account: "research", Kind: guard.Instance, ID: id}.Key())
			if err != nil || ok != promised {
				t.Errorf("%s: in the ledger %t, promised %t, %v", id, ok, promised, err)
			}
		}
		return nil
	})
}

// silent checks that guardd reads and shows what it knows, and has ended nothing
// of what is due but could not be written down.
func (g *guardd) silent(c *cloud, due []string) {
	g.t.Helper()
	list, err := g.api.List(context.Background(), client.Filter{})
	if err != nil || len(list.Items) < len(due) {
		g.t.Errorf("with a full disk it lists %d instances, %v", len(list.Items), err)
	}
	for _, id := range due {
		if n := c.asked(id); n != 0 {
			g.t.Errorf("%s was ended, and its intent is in no ledger (release: %s)", id, g.release(id))
		}
		if s := g.release(id); s != "noticed" && s != "planned" && s != "" {
			g.t.Errorf("%s is %s with a full disk", id, s)
		}
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
