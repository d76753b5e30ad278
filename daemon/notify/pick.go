package notify

import (
	"cmp"
	"slices"
	"time"

	"guard"
)

const (
	// A normal message waits for others of its kind until none has come for
	// gatherQuiet, and at most gatherMost: fifty boxes that cross a threshold in
	// the same cycle are one post.
	gatherQuiet = 2 * time.Second
	gatherMost  = 5 * time.Second
	// many is how many normal messages of one kind make a digest, manyUrgent how
	// many urgent ones: those are told one by one unless that takes too long.
	many       = 4
	manyUrgent = 6
	// maxWait is the longest wait of anything; a time further away comes from a
	// clock that was set back, and does not count.
	maxWait = time.Hour
)

// post is what is posted next.
type post struct {
	members []guard.Message // one, or those of a digest
	id      string          // what the history is searched for
	look    bool            // its fate is unknown: look before posting
}

func (p post) digest() bool { return len(p.members) > 1 || p.members[0].Batch != "" }

// pick chooses the next post of a channel, or tells when there may be one; a zero
// wake means that nothing waits.
func (c *line) pick(at guard.Instant, pending []guard.Message) (p post, ok bool, wake guard.Instant) {
	if len(pending) == 0 {
		return post{}, false, guard.Instant{}
	}
	held := at.Before(c.until)
	if held && c.state.Wait != waitRefused {
		return post{}, false, c.until
	}
	if pace := c.lastPost.Add(c.pace()); !c.lastPost.IsZero() && at.Before(pace) {
		return post{}, false, pace
	}
	var due []guard.Message
	for _, m := range pending {
		wait := m.NextTry.Sub(at.Wall)
		switch {
		case held && m.Attempts > 0:
			wake = guard.Earliest(wake, c.until)
		case !m.NextTry.IsZero() && wait > 0 && wait <= maxWait:
			wake = guard.Earliest(wake, at.Add(wait))
		default:
			due = append(due, m)
		}
	}
	slices.SortFunc(due, func(a, b guard.Message) int {
		switch {
		case a.Urgent && !b.Urgent:
			return -1
		case b.Urgent && !a.Urgent:
			return 1
		}
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	groups := map[string][]guard.Message{}
	if c.limits != nil {
		for _, m := range due {
			if key := groupKey(m); key != "" && !m.Uncertain {
				groups[key] = append(groups[key], m)
			}
		}
	}
	for _, m := range due {
		if m.Uncertain {
			return again(m, due), true, at
		}
		group := groups[groupKey(m)]
		if wait := gathering(at, m, group); wait > 0 {
			wake = guard.Earliest(wake, at.Add(wait))
			continue
		}
		if least := map[bool]int{false: many, true: manyUrgent}[m.Urgent]; len(group) >= least {
			if members := fitting(group, c.limits.Fits); len(members) > 1 {
				return post{members: members, id: batchID(members)}, true, at
			}
		}
		return post{members: []guard.Message{m}, id: m.ID}, true, at
	}
	return post{}, false, wake
}

// again is the post that m went out with, as it was.
func again(m guard.Message, due []guard.Message) post {
	if m.Batch == "" {
		return post{members: []guard.Message{m}, id: m.ID, look: true}
	}
	p := post{id: m.Batch, look: true}
	for _, other := range due {
		if other.Uncertain && other.Batch == m.Batch {
			p.members = append(p.members, other)
		}
	}
	return p
}

// gathering is how long m still waits for others of its kind to come.
func gathering(at guard.Instant, m guard.Message, group []guard.Message) time.Duration {
	if m.Urgent || len(group) == 0 || m.Attempts > 0 {
		return 0
	}
	oldest, newest := group[0].CreatedAt, group[len(group)-1].CreatedAt
	if newest.After(at.Wall) { // the clock was set back
		return 0
	}
	return min(newest.Add(gatherQuiet).Sub(at.Wall), oldest.Add(gatherMost).Sub(at.Wall))
}
