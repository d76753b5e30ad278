package notify

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"guard"
)

// waiting is a message that waits for a channel.
type waiting struct {
	guard.Message
	group string // what others must have too to be told in the same post; "": it is told alone
}

// queue is the messages that wait for one channel, in the order in which they are
// told: urgent ones first, then the oldest.
type queue struct {
	inOrder *btree.BTreeG[*waiting]
	byID    map[string]*waiting
	threads map[string]int      // how many wait for each thread
	of      map[string][]string // the IDs of those that wait, by finding
	// grown are the findings of which one has come since newest was last asked.
	grown map[string]bool
}

func newQueue() *queue {
	return &queue{btree.NewBTreeGOptions(before, btree.Options{NoLocks: true}), map[string]*waiting{}, map[string]int{}, map[string][]string{}, map[string]bool{}}
}

func before(a, b *waiting) bool {
	if a.Urgent != b.Urgent {
		return a.Urgent
	}
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) < 0
}

func (q *queue) len() int { return len(q.byID) }

// put adds a message, or takes it in the place of the one with its ID. held is the end
// of the quiet hours in which it was written, where those held it back.
func (q *queue) put(m guard.Message, held time.Time) {
	_, known := q.byID[m.ID]
	q.remove(m.ID)
	w := &waiting{m, groupKey(m, held)}
	q.byID[m.ID] = w
	q.inOrder.Set(w)
	if m.Thread != "" {
		q.threads[m.Thread]++
	}
	if m.Finding != "" {
		q.of[m.Finding] = append(q.of[m.Finding], m.ID)
		if !known && len(q.of[m.Finding]) > 1 {
			q.grown[m.Finding] = true
		}
	}
}

func (q *queue) remove(id string) {
	w, ok := q.byID[id]
	if !ok {
		return
	}
	delete(q.byID, id)
	q.inOrder.Delete(w)
	if q.threads[w.Thread]--; q.threads[w.Thread] <= 0 {
		delete(q.threads, w.Thread)
	}
	if ids := slices.DeleteFunc(q.of[w.Finding], func(other string) bool { return other == id }); len(ids) > 0 {
		q.of[w.Finding] = ids
	} else {
		delete(q.of, w.Finding)
	}
}

// all must not be changed meanwhile.
func (q *queue) all() iter.Seq[*waiting] { return q.inOrder.Scan }

// about are the messages of a finding, the oldest first.
func (q *queue) about(finding string) []guard.Message {
	var out []guard.Message
	for _, id := range q.of[finding] {
		out = append(out, q.byID[id].Message)
	}
	slices.SortFunc(out, func(a, b guard.Message) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}
