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
	if got := *r.text.Load(); got != asJSON+"second" {
		t.Errorf("got %q", got)
	}
}

// TestBefore: an update reads from memory what no update before it may have changed.
func TestBefore(t *testing.T) {
	p := newPublisher(newImage())
	l1, l2, sent := place{"leases", "l1"}, place{"leases", "l2"}, place{"outbox_sent", "m1"}
	first := p.draw(0)
	p.written(first, write("leases", "l1", "first"))
	second := p.draw(0)
	if p.before(l1) != nil || p.before(l2) == nil || p.before(sent) != nil {
		t.Error("what is not durable yet, or never in memory, is read from there")
	}
	p.publish(first, write("leases", "l1", "first"))
	if m := p.before(l1); m == nil || len(m.keys("")) != 1 {
		t.Error("what is durable is not read from memory")
	}
	p.written(second, write("leases", "l1", "second"))
	third := p.draw(second) // the second ran again
	if p.before(l1) == nil {
		t.Error("what was thrown away still counts")
	}
	p.publish(third, nil)
	if len(p.wrote)+len(p.ready) > 0 {
		t.Errorf("%d and %d are kept for nobody", len(p.wrote), len(p.ready))
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
	if i := p.now(); i.version != 2 || len(i.tables["leases"].keys("")) != 1 {
		t.Errorf("version %d with %v", i.version, i.tables["leases"].keys(""))
	}
}

// TestChangesAreForgotten: who looks too seldom is told to read everything, and
// nobody is told too little.
func TestChangesAreForgotten(t *testing.T) {
	i := newImage()
	var seen []*image
	for n := range mostChanges * 6 / 5 / 100 {
		writes := map[place]string{}
		for k := range 100 {
			writes[place{"leases", fmt.Sprintf("%d-%d", n, k)}] = asJSON + "x"
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

func write(table, key, value string) map[place]string {
	return map[place]string{{table, key}: asJSON + value}
}
