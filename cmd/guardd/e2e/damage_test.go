package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"guard"
	"guard/store"
	"guard/store/bolt"
)

// page is the size of a page of a ledger's file.
const page = 4096

// cared is the content of a small ledger as the binary itself left it: a lease, a
// release on its way, what people were told, a page of journal and more.
func cared(t *testing.T) []byte {
	t.Helper()
	c, w, g := newCloud(t), newWorkspace(t), unpack(t)
	g.watch(guard.Enforce, filepath.Join(g.dir, "ledger.db"), c, w)
	g.start()
	for i := range 8 {
		g.guard("register", "research/"+c.run(), "--purpose", strings.Repeat("epoch ", 20+i), "--ttl", fmt.Sprintf("%dm", 5+i))
	}
	backup := filepath.Join(g.dir, "backup.db")
	if out, code := g.refused("backup", backup); code != 0 {
		t.Fatal(out)
	}
	g.stop()
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if len(content)%page != 0 || len(content) < 8*page {
		t.Fatalf("the backup has %d bytes", len(content))
	}
	return content
}

// wound is one damage to a ledger's file.
type wound struct {
	name    string
	content []byte
	says    []string // more than the name of the file and what to do
}

func wounds(good []byte, r *rand.Rand) []wound {
	var out []wound
	hurt := func(name string, content []byte, says ...string) { out = append(out, wound{name, content, says}) }
	cut := func(n int) { hurt(fmt.Sprintf("cut off at %d of %d", n, len(good)), good[:n]) }
	hurt("cut off at 0", nil, "is empty")
	for at := page; at < len(good); at += page {
		cut(at)
	}
	for _, n := range []int{1, 15, 16, 79, 80, page - 1, page + 1, 2*page - 1, 2*page + 17, len(good) - page + 1, len(good) - 512, len(good) - 1} {
		cut(n)
	}
	over := func(name string, from, to int, with func([]byte)) {
		b := bytes.Clone(good)
		with(b[from:to])
		if !bytes.Equal(b, good) {
			hurt(name, b)
		}
	}
	zero := func(b []byte) { clear(b) }
	// The first half of each page made it to the disk, or the second.
	for at := 0; at < len(good); at += page {
		over(fmt.Sprintf("page %d zeroed", at/page), at, at+page, zero)
		over(fmt.Sprintf("page %d torn, its end is lost", at/page), at+page/2, at+page, zero)
		over(fmt.Sprintf("page %d torn, its beginning is lost", at/page), at, at+page/2, zero)
	}
	over("both headers zeroed", 0, 2*page, zero)
	over("all zeroed", 0, len(good), zero)
	for range 60 {
		at, bit := r.IntN(len(good)), r.IntN(8)
		over(fmt.Sprintf("bit %d of byte %d flipped", bit, at), at, at+1, func(b []byte) { b[0] ^= 1 << bit })
	}
	return out
}

// TestDamaged starts guardd on damaged ledgers. It ends with status 1, names the
// file, what is wrong and what to do, and leaves the file as it was.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good := cared(t)
	r := rand.New(rand.NewPCG(seeded(t), 0))
	refused, harmless := 0, 0
	var mu sync.Mutex
	work := make(chan wound)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		g := unpack(t)
		g.watch(guard.Enforce, filepath.Join(g.dir, "ledger.db"), newCloud(t), newWorkspace(t))
		workers.Go(func() {
			for wd := range work {
				bad := g.endures(wd)
				mu.Lock()
				if bad {
					refused++
				} else {
					harmless++
				}
				mu.Unlock()
			}
		})
	}
	for _, wd := range wounds(good, r) {
		work <- wd
	}
	close(work)
	workers.Wait()
	t.Logf("%d damaged files were refused; %d changes lay where nothing is kept", refused, harmless)
	if refused < len(good)/page {
		t.Errorf("only %d refusals", refused)
	}
}

// endures tries one damaged file and reports whether it was refused. What lies
// where nothing is kept is no damage: then all must be readable.
func (g *guardd) endures(wd wound) (refused bool) {
	path := filepath.Join(g.dir, "ledger.db")
	if err := os.WriteFile(path, wd.content, 0o600); err != nil {
		g.t.Error(err)
		return false
	}
	before, err := os.Stat(path)
	if err != nil {
		g.t.Error(err)
		return false
	}
	if bolt.Verify(context.Background(), path) == nil {
		if strings.HasPrefix(wd.name, "cut off") || strings.HasPrefix(wd.name, "both headers") {
			g.t.Errorf("%s: passes for a whole file", wd.name)
		}
		if err := examine(filepath.Join(g.dir, "copy.db"), wd.content, func(*store.View) error { return nil }); err != nil {
			g.t.Errorf("%s: passes for a whole file, and then: %v", wd.name, err)
		}
		return false
	}
	out, code := g.refused("serve")
	if code != 1 {
		g.t.Errorf("%s: exit %d: %s", wd.name, code, out)
	}
	for _, w := range append(wd.says, path, "nothing was changed", "backup") {
		if !strings.Contains(out, w) {
			g.t.Errorf("%s: %q does not say %q", wd.name, out, w)
		}
	}
	for _, w := range []string{"panic", "goroutine ", "guardd runs"} {
		if strings.Contains(out, w) {
			g.t.Errorf("%s: %s", wd.name, out)
		}
	}
	after, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err := errors.Join(err, statErr); err != nil || !bytes.Equal(after, wd.content) || !os.SameFile(before, info) {
		g.t.Errorf("%s: the file was changed (%v)", wd.name, err)
	}
	return true
}

// The backup that the refusal names is a way back: put in the file's place, all
// that it knew is there. It is this ledger's, whatever newer one lies beside it.
func TestDamagedAndRestored(t *testing.T) {
	t.Parallel()
	good, other := cared(t), cared(t)
	g, c, w := unpack(t), newCloud(t), newWorkspace(t)
	path, backup := filepath.Join(g.dir, "ledger.db"), filepath.Join(g.dir, "monday.db")
	g.watch(guard.Observe, path, c, w)
	for name, content := range map[string][]byte{"cut off": good[:len(good)-page], "torn": torn(t, good)} {
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.WriteFile(backup, good, 0o600),
			os.WriteFile(filepath.Join(g.dir, "another.db"), other, 0o600)); err != nil {
			t.Fatal(err)
		}
		if out, code := g.refused("serve"); code != 1 || !strings.Contains(out, "restore "+backup) || strings.Contains(out, "another.db") {
			t.Fatalf("%s: exit %d: %s", name, code, out)
		}
	}
	if err := errors.Join(os.Rename(path, path+".damaged"), os.Rename(backup, path)); err != nil {
		t.Fatal(err)
	}
	g.start()
	if out := g.guard("ls", "--all"); strings.Count(out, "research/i-") != 8 {
		t.Errorf("restored: %s", out)
	}
	g.stop()
	g.whole(func(*store.View) error { return nil })
}

// torn is a ledger of which the second half of a page did not make it to the disk:
// of one that holds something, and not what the ledger is.
func torn(t *testing.T, good []byte) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "torn.db")
	for at := 2 * page; at < len(good); at += page {
		if bytes.Contains(good[at:at+page], []byte("deployment")) {
			continue
		}
		b := bytes.Clone(good)
		clear(b[at+page/2 : at+page])
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if bolt.Verify(context.Background(), path) != nil {
			return b
		}
	}
	t.Fatal("no page of it holds anything")
	return nil
}
