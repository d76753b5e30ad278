package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guard"
	"guard/daemon/wire"
	"guard/store"
	"guard/store/bolt"
)

// TestEarlierSchemas starts guardd on a ledger of every schema there ever was: the
// leases, releases and history of its time are there, and it works on.
func TestEarlierSchemas(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Schema(); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("..", "..", "..", "store", "bolt", "testdata", fmt.Sprintf("schema-%d.db", version)))
			if err != nil {
				t.Fatal(err)
			}
			c, w, g := newCloud(t), newWorkspace(t), unpack(t)
			path := filepath.Join(g.dir, "ledger.db")
			g.watch(guard.Observe, path, c, w)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			g.start()
			if copied, err := os.ReadFile(fmt.Sprintf("%s.schema-%d", path, version)); (err == nil) != (version < store.Schema()) {
				t.Errorf("a copy from before the upgrade: %d bytes, %v", len(copied), err)
			} else if log := g.log.String(); err == nil && (!strings.Contains(log, "upgraded") || !strings.Contains(log, path+".schema-")) {
				t.Errorf("the log does not tell of the upgrade: %s", log)
			}
			var items []wire.Item
			g.json(&items, "ls", "--all")
			if len(items) < 2 {
				t.Errorf("lists %+v", items)
			}
			leases := map[string]string{}
			for _, i := range items {
				leases[i.ID] = i.Lease
			}
			if leases["i-0a00000000000001"] != "active" || leases["i-0a00000000000002"] != "released" {
				t.Errorf("leases %v", leases)
			}
			if s := g.show("i-0a00000000000001"); s.Release == nil || s.Release.State != "blocked" || len(s.Log) == 0 {
				t.Errorf("its release is %+v, its history %+v", s.Release, s.Log)
			}
			id := c.run()
			g.guard("register", "research/"+id, "--purpose", "new", "--ttl", "1h")
			g.stop()
			g.whole(func(v *store.View) error {
				if _, ok, err := v.LeaseOf(boxKey(id)); err != nil || !ok {
					return errors.Join(err, errors.New("what was registered afterwards is not there"))
				}
				return nil
			})
			if n := len(c.told()); n != 0 {
				t.Errorf("%d boxes were ended", n)
			}
		})
	}
}

// A ledger that a later guard wrote is refused, and left to that one. The copy that
// was kept before its upgrade is named: it is the way back.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "store", "bolt", "testdata", "schema-1.db"))
	if err != nil {
		t.Fatal(err)
	}
	c, w, g := newCloud(t), newWorkspace(t), unpack(t)
	path := filepath.Join(g.dir, "ledger.db")
	g.watch(guard.Observe, path, c, w)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	g.stop()
	newer := store.Schema() + 1
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = b.Update(context.Background(), func(w store.Writer) error {
		old, err := w.Get("meta", "schema")
		if err != nil {
			return err
		}
		return w.Put("meta", "schema", bytes.Replace(old, fmt.Appendf(nil, `"schema":%d`, store.Schema()), fmt.Appendf(nil, `"schema":%d`, newer), 1))
	})
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, code := g.refused("serve")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	for _, w := range []string{fmt.Sprintf("schema %d", newer), fmt.Sprintf("up to %d", store.Schema()), "nothing was changed", "restore " + path + ".schema-1"} {
		if !strings.Contains(out, w) {
			t.Errorf("%q does not say %q", out, w)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
}
