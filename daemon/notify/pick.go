package notify

import (
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
func (c *line) pick(at guard.Instant) (p post, ok bool, wake guard.Instant) {
	if c.pending.len() == 0 {
		return post{}, false, guard.Instant{}
	}
	if at.Before(c.until) && c.state.Wait != waitRefused {
		return post{}, false, c.until
	}
	if pace := c.lastPost.Add(c.pace()); !c.lastPost.IsZero() && at.Before(pace) {
		return post{}, false, pace
	}
	var groups map[string][]guard.Message
	if c.limits != nil {
		groups = c.groups(at)
	}
	for m := range c.pending.all() {
		if waits := c.waits(at, m); !waits.IsZero() {
			wake = guard.Earliest(wake, waits)
			continue
		}
		if m.Uncertain {
			return c.again(at, m), true, at
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

// waits is until when a message is not posted; zero where it is due.
func (c *line) waits(at guard.Instant, m guard.Message) guard.Instant {
	wait := m.NextTry.Sub(at.Wall)
	switch {
	case at.Before(c.until) && m.Attempts > 0:
		return c.until
	case !m.NextTry.IsZero() && wait > 0 && wait <= maxWait:
		return at.Add(wait)
	}
	return guard.Instant{}
}

// groups are the messages due that may be told in one post.
func (c *line) groups(at guard.Instant) map[string][]guard.Message {
	groups := map[string][]guard.Message{}
	for m := range c.pending.all() {
		if key := groupKey(m); key != "" && !m.Uncertain && c.waits(at, m).IsZero() {
			groups[key] = append(groups[key], m)
		}
	}
	return groups
}

// again is the post that m went out with, as it was.
func (c *line) again(at guard.Instant, m guard.Message) post {
	if m.Batch == "" {
		return post{members: []guard.Message{m}, id: m.ID, look: true}
	}
	p := post{id: m.Batch, look: true}
	for other := range c.pending.all() {
		if other.Uncertain && other.Batch == m.Batch && c.waits(at, other).IsZero() {
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
