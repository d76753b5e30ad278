package notify

import (
	"cmp"
	"iter"

	"github.com/tidwall/btree"

	"guard"
)

// queue is the messages that wait for one channel, in the order in which they are
// told: urgent ones first, then the oldest.
type queue struct {
	inOrder *btree.BTreeG[guard.Message]
	byID    map[string]guard.Message
}

func newQueue() queue {
	return queue{btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), map[string]guard.Message{}}
}

func before(a, b guard.Message) bool {
	if a.Urgent != b.Urgent {
		return a.Urgent
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) < 0
}

func (q queue) len() int { return len(q.byID) }

func (q queue) put(m guard.Message) {
	q.remove(m.ID)
	q.byID[m.ID] = m
	q.inOrder.Set(m)
}

func (q queue) remove(id string) {
	if m, ok := q.byID[id]; ok {
		delete(q.byID, id)
		q.inOrder.Delete(m)
	}
}

// all must not be changed meanwhile.
func (q queue) all() iter.Seq[guard.Message] { return q.inOrder.Scan }

// replace takes the old messages out and puts those in that still wait.
func (q queue) replace(old, still []guard.Message) {
	for _, m := range old {
		q.remove(m.ID)
	}
	for _, m := range still {
		q.put(m)
	}
}
