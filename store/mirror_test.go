package store

import (
	"fmt"
	"sync"
	"testing"

	"guard"
)

// TestPublishInOrder: turns end in any order, and what can be seen follows the
// order in which they were drawn.
func TestPublishInOrder(t *testing.T) {
	p := newPublisher(newImage())
	first, second := p.draw(0), p.draw(0)
	var wait sync.WaitGroup
	wait.Go(func() { p.publish(second, write("leases", "l1", "second")) })
	for p.ended.L.Lock(); len(p.ready) == 0; p.ended.Wait() {
	}
	p.ended.L.Unlock()
	if v := p.now().version; v != 1 {
		t.Errorf("version %d before the first is published", v)
	}
	p.publish(first, write("leases", "l1", "first"))
	wait.Wait()
	r, _ := p.now().tables["leases"].(*mirror[guard.Lease]).rows.Get("l1")
	if got := string(r.p.Load().raw); got != "second" {
		t.Errorf("got %q", got)
	}
}

// TestPublishWithoutEffect: a run that is repeated or fails holds nobody up.
func TestPublishWithoutEffect(t *testing.T) {
	p := newPublisher(newImage())
	failed := p.draw(0)
	again := p.draw(p.draw(0))
	p.publish(0, write("leases", "l0", "never drawn"))
	p.publish(failed, nil)
	p.publish(again, write("leases", "l1", "kept"))
	if i := p.now(); i.version != 2 || len(i.tables["leases"].keys()) != 1 {
		t.Errorf("version %d with %v", i.version, i.tables["leases"].keys())
	}
}

// TestChangesAreForgotten: who looks too seldom is told to read everything, and
// nobody is told too little.
func TestChangesAreForgotten(t *testing.T) {
	i := newImage()
	var seen []*image
	for n := range mostChanges * 6 / 5 / 100 {
		writes := map[place][]byte{}
		for k := range 100 {
			writes[place{"leases", fmt.Sprintf("%d-%d", n, k)}] = []byte("x")
		}
		i = i.after(writes)
		seen = append(seen, i)
	}
	if len(i.changes) > mostChanges+100 {
		t.Errorf("%d changes are kept", len(i.changes))
	}
	if _, known := i.since("leases", seen[0].version); known {
		t.Error("what was written right after the start is said to be known")
	}
	for back := range 20 {
		old := seen[len(seen)-1-back]
		if keys, known := i.since("leases", old.version); !known || len(keys) != back*100 {
			t.Fatalf("%d updates ago: %d keys, known %t", back, len(keys), known)
		}
	}
	for n := 0; n < len(seen); n += len(seen) / 30 {
		old := seen[n]
		keys, known := i.since("leases", old.version)
		if want := int(i.version-old.version) * 100; known && len(keys) != want {
			t.Fatalf("%d keys since version %d, want %d", len(keys), old.version, want)
		}
	}
}

func write(table, key, value string) map[place][]byte {
	return map[place][]byte{{table, key}: []byte(value)}
}
