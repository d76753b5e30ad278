package notifytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
)

// Memory is a channel in memory, with threads, a history, limits and the same
// faults as the fake Slack. The zero value works; set the fields before use.
type Memory struct {
	ID    string        // its name; "" is "memory"
	Every time.Duration // its pace
	Room  int           // how many bytes of title and lines fit; 0 is 8000
	// Blind is what Find answers where there is no looking.
	Blind error

	// Still is a channel that cannot edit: ErrUnsupported.
	Still bool

	mu     sync.Mutex
	posts  []Delivery
	edits  []Delivery
	faults []*Fault
	looks  int
}

// Delivery is one post to a Memory.
type Delivery struct {
	At      time.Time
	Message guard.Message
	Thread  string
	Stored  bool
	Receipt string
}

// Name implements the channel.
func (c *Memory) Name() string {
	if c.ID == "" {
		return "memory"
	}
	return c.ID
}

// Pace is Every.
func (c *Memory) Pace() time.Duration { return c.Every }

// Fits reports whether title and lines are within Room.
func (c *Memory) Fits(m guard.Message) bool {
	room := c.Room
	if room == 0 {
		room = 8000
	}
	return len(m.Title)+len(strings.Join(m.Lines, "\n")) <= room
}

// Inject adds a fault. A status of 429 is ErrThrottled, another one ErrUncertain;
// Error is taken as the kind of the same text, or else as ErrInvalid.
func (c *Memory) Inject(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &f)
}

// Mend removes all faults, blindness included.
func (c *Memory) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults, c.Blind = nil, nil
}

// Post implements the channel.
func (c *Memory) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: post to %s: %v", guard.ErrUnavailable, c.Name(), err)
	}
	at, _ := guard.InstantFrom(ctx)
	d := Delivery{At: at.Wall, Message: m, Thread: thread, Receipt: fmt.Sprintf("%s-%d", c.Name(), len(c.posts)+1)}
	f := due(c.faults, at.Wall, false)
	d.Stored = f == nil || f.Stored
	c.posts = append(c.posts, d)
	if f != nil {
		return guard.Posted{}, f.err(c.Name())
	}
	posted := guard.Posted{Receipt: d.Receipt, Thread: thread}
	if thread == "" {
		posted.Thread = d.Receipt
	}
	return posted, nil
}

// Edit implements an editing channel: the post of the receipt shows m from then on.
func (c *Memory) Edit(ctx context.Context, receipt string, m guard.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := guard.InstantFrom(ctx)
	i := slices.IndexFunc(c.posts, func(d Delivery) bool { return d.Receipt == receipt })
	d := Delivery{At: at.Wall, Message: m, Receipt: receipt}
	f := due(c.faults, at.Wall, true)
	d.Stored = (f == nil || f.Stored) && i >= 0 && !c.Still
	c.edits = append(c.edits, d)
	if d.Stored {
		c.posts[i].Message = m
	}
	switch {
	case f != nil:
		return f.err(c.Name())
	case c.Still:
		return fmt.Errorf("%w: edit %s in %s", guard.ErrUnsupported, receipt, c.Name())
	case i < 0:
		return fmt.Errorf("%w: edit %s in %s", guard.ErrNotFound, receipt, c.Name())
	}
	return nil
}

// due is the first fault of posts, or of edits, in force, if any, which is used up by that.
func due(faults []*Fault, at time.Time, edits bool) *Fault {
	for _, f := range faults {
		if f.Edits == edits && (f.Times == 0 || f.used < f.Times) && !at.Before(f.From) && (f.Until.IsZero() || at.Before(f.Until)) {
			f.used++
			return f
		}
	}
	return nil
}

func (f *Fault) err(name string) error {
	switch {
	case f.TimesOut:
		return fmt.Errorf("%w: post to %s: no answer in time", guard.ErrUncertain, name)
	case f.Refused:
		return fmt.Errorf("%w: post to %s: no connection", guard.ErrUnavailable, name)
	case f.Error != "":
		for _, kind := range []error{guard.ErrPermission, guard.ErrNotFound, guard.ErrConflict} {
			if f.Error == kind.Error() {
				return fmt.Errorf("%w: post to %s", kind, name)
			}
		}
		return fmt.Errorf("%w: post to %s: %s", guard.ErrInvalid, name, f.Error)
	case f.Status == 429 && f.RetryAfter > 0:
		return &guard.RetryError{Err: fmt.Errorf("%w: post to %s", guard.ErrThrottled, name), After: f.RetryAfter}
	case f.Status == 429:
		return fmt.Errorf("%w: post to %s", guard.ErrThrottled, name)
	}
	return fmt.Errorf("%w: post to %s: status %d", guard.ErrUncertain, name, f.Status)
}

// Find implements the channel.
func (c *Memory) Find(_ context.Context, m guard.Message, thread string) (guard.Posted, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	if c.Blind != nil {
		return guard.Posted{}, false, fmt.Errorf("%w: look into %s", c.Blind, c.Name())
	}
	for _, d := range c.posts {
		if d.Stored && d.Message.ID == m.ID {
			posted := guard.Posted{Receipt: d.Receipt, Thread: d.Thread}
			if d.Thread == "" {
				posted.Thread = d.Receipt
			}
			return posted, true, nil
		}
	}
	return guard.Posted{}, false, nil
}

// Posts are all posts, stored or not, oldest first.
func (c *Memory) Posts() []Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.posts)
}

// Edits are all edits, done or not, oldest first.
func (c *Memory) Edits() []Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.edits)
}

// Stored are the posts that people see, oldest first.
func (c *Memory) Stored() []Delivery {
	return slices.DeleteFunc(c.Posts(), func(d Delivery) bool { return !d.Stored })
}

// Looks is how often the history was looked at.
func (c *Memory) Looks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}
