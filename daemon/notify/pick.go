package notify

import (
	"strings"
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
	// many urgent ones: those are told one by one unless that takes too long. What
	// quiet hours held back is told together.
	many       = 4
	manyUrgent = 6
	manyHeld   = 2
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
	edited := c.lastEdit.Add(c.pace()) // what is urgent does not wait for an edit's pace
	groups := c.groups(at)
	ahead := map[string]bool{} // threads of which an earlier message is about to be told
	for m := range c.pending.all() {
		if m.Thread != "" && !m.Urgent && ahead[m.Thread] {
			continue
		}
		if waits := c.waits(at, m.Message); !waits.IsZero() {
			wake = guard.Earliest(wake, waits)
			ahead[m.Thread] = ahead[m.Thread] || m.Uncertain && m.Looks == 0
			continue
		}
		if !m.Urgent && !c.lastEdit.IsZero() && at.Before(edited) {
			return post{}, false, guard.Earliest(wake, edited)
		}
		if m.Uncertain {
			return c.again(at, m.Message), true, at
		}
		group := groups(m.group)
		if wait := gathering(at, m.Message, group); wait > 0 {
			wake = guard.Earliest(wake, at.Add(wait))
			ahead[m.Thread] = true
			continue
		}
		if len(group) >= least(m) {
			if members := fitting(group, c.limits.Fits); len(members) > 1 {
				return post{members: members, id: batchID(members)}, true, at
			}
		}
		return post{members: []guard.Message{m.Message}, id: m.ID}, true, at
	}
	return post{}, false, wake
}

// least is how many messages like m make a digest.
func least(m *waiting) int {
	switch {
	case m.Urgent:
		return manyUrgent
	case strings.HasPrefix(m.group, heldGroup):
		return manyHeld
	}
	return many
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
	if held := c.heldUntil(m, at.Wall); !held.IsZero() {
		return at.Reach(held)
	}
	return guard.Instant{}
}

// holds reports whether quiet hours hold a message back. One that may have arrived is
// not held: somebody may have read it. guardd's log wakes nobody.
func holds(m guard.Message) bool {
	return m.Waits && !m.Urgent && !m.Uncertain && m.Channel != logName
}

// heldUntil is until when quiet hours hold a message back at a moment; zero: they do not.
func (c *line) heldUntil(m guard.Message, at time.Time) time.Time {
	if !holds(m) {
		return time.Time{}
	}
	if !c.asked.Equal(at) {
		c.asked, c.quiet = at, c.loop.quiet(at)
	}
	return c.quiet
}

// groups makes a function that tells the messages due that may be told in one post.
func (c *line) groups(at guard.Instant) func(group string) []guard.Message {
	if c.limits == nil {
		return func(string) []guard.Message { return nil }
	}
	var first map[string]string // the group of the first message of each thread
	known := map[string][]guard.Message{}
	return func(group string) []guard.Message {
		if have, ok := known[group]; ok || group == "" {
			return have
		}
		var out []guard.Message
		for m := range c.pending.all() {
			if m.group != group || m.Uncertain || !c.waits(at, m.Message).IsZero() {
				continue
			}
			if c.pending.threads[m.Thread] > 1 {
				if first == nil {
					first = c.firsts()
				}
				if first[m.Thread] != group {
					continue // an earlier one of its thread is told before
				}
			}
			out = append(out, m.Message)
		}
		known[group] = out
		return out
	}
}

// firsts are the groups of the first messages of all threads.
func (c *line) firsts() map[string]string {
	out := map[string]string{}
	for m := range c.pending.all() {
		if _, ok := out[m.Thread]; !ok {
			out[m.Thread] = m.group
		}
	}
	return out
}

// again is the post that m went out with, as it was.
func (c *line) again(at guard.Instant, m guard.Message) post {
	if m.Batch == "" {
		return post{members: []guard.Message{m}, id: m.ID, look: true}
	}
	p := post{id: m.Batch, look: true}
	for other := range c.pending.all() {
		if other.Uncertain && other.Batch == m.Batch && c.waits(at, other.Message).IsZero() {
			p.members = append(p.members, other.Message)
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
