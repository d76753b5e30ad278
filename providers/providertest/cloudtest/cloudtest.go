// Package cloudtest is what the stateful fakes of clouds' APIs share: things that come,
// stop and go on a clock that is given, pages, an in-process way to a handler, and faults.
// A fake is an [http.Handler] that translates between these and its vendor's JSON; it
// names its own states and fields.
package cloudtest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/providers/providertest"
)

// Lags are how long a cloud takes. The zero value is at once.
type Lags struct {
	Boot time.Duration // from created or started until it runs
	Stop time.Duration
	End  time.Duration // from the release until it is gone
	// Forget is how long what is gone is still shown, as guard.StateGone.
	Forget time.Duration
}

// Cloud holds things of all kinds. Its zero value is empty, and its clock the real one.
// It is safe for concurrent use.
type Cloud struct {
	Lags Lags
	// Clock tells the time; nil is time.Now.
	Clock func() time.Time
	// StopFirst: what runs cannot be released.
	StopFirst bool

	mu     sync.Mutex
	things []*Thing
}

// Thing is one of a cloud's at the moment at which it was looked at.
type Thing struct {
	providertest.Thing
	State   guard.State
	Created time.Time
	// Changed is when the present state began, Started when it last began to run, and
	// Ran how long it had run before that.
	Changed, Started time.Time
	Ran              time.Duration
	Ended            guard.How

	next guard.State // the state that it goes to at a time; "" for none
	at   time.Time
}

// Of makes a cloud that holds what the suite's world does, from an hour ago on.
func Of(w providertest.World) *Cloud {
	c := &Cloud{}
	born := c.now().Add(-time.Hour)
	for _, t := range slices.Concat(w.Instances, w.Leftovers) {
		t.Kind = cmp.Or(t.Kind, guard.Instance)
		x := &Thing{Thing: t, State: guard.StateRunning, Created: born, Changed: born, Started: born}
		if t.Stopped {
			x.State = guard.StateStopped
		}
		c.things = append(c.things, x)
	}
	return c
}

func (c *Cloud) now() time.Time {
	if c.Clock != nil {
		return c.Clock().UTC()
	}
	return time.Now().UTC()
}

// Create adds a thing, which comes up after Lags.Boot.
func (c *Cloud) Create(t providertest.Thing) Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	t.Kind = cmp.Or(t.Kind, guard.Instance)
	x := &Thing{Thing: t, Created: now}
	c.turn(x, guard.StateProvisioning, guard.StateRunning, c.Lags.Boot, now)
	c.things = append(c.things, x)
	return *x
}

// turn sets a state, and the one that follows by itself. A lag of nothing is none.
func (c *Cloud) turn(x *Thing, through, to guard.State, lag time.Duration, now time.Time) {
	if x.State == guard.StateRunning {
		x.Ran += now.Sub(x.Started)
	}
	if lag <= 0 {
		through, to = to, ""
	}
	x.State, x.Changed, x.next, x.at = through, now, to, now.Add(lag)
	if through == guard.StateRunning {
		x.Started = now
	}
}

// pass lets the time pass: states that are due come, and what is gone is forgotten.
func (c *Cloud) pass() time.Time {
	now := c.now()
	for _, x := range c.things {
		if x.next != "" && !x.at.After(now) {
			c.turn(x, "", x.next, 0, x.at)
		}
	}
	c.things = slices.DeleteFunc(c.things, func(x *Thing) bool {
		return x.State == guard.StateGone && !now.Before(x.Changed.Add(c.Lags.Forget))
	})
	return now
}

// List is what there is of a kind in a scope ("" is any), in the order of its creation.
func (c *Cloud) List(kind guard.Kind, scope string) []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	out := []Thing{}
	for _, x := range c.things {
		if x.Kind == kind && (scope == "" || x.Scope == scope) {
			out = append(out, *x)
		}
	}
	return out
}

// Get is one thing; guard.ErrNotFound where there is none.
func (c *Cloud) Get(kind guard.Kind, id string) (Thing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	x, err := c.find(kind, id)
	if err != nil {
		return Thing{}, err
	}
	return *x, nil
}

func (c *Cloud) find(kind guard.Kind, id string) (*Thing, error) {
	i := slices.IndexFunc(c.things, func(x *Thing) bool { return x.Kind == kind && x.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s %s", guard.ErrNotFound, kind, id)
	}
	return c.things[i], nil
}

// Edit changes what a thing is besides its state: its name, tags, protection.
func (c *Cloud) Edit(kind guard.Kind, id string, f func(*providertest.Thing)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	x, err := c.find(kind, id)
	if err == nil {
		f(&x.Thing)
	}
	return err
}

// Stop stops an instance. What is stopped or stopping stays so; what is going is
// guard.ErrConflict.
func (c *Cloud) Stop(id string) error {
	return c.move(guard.Instance, id, func(x *Thing, now time.Time) error {
		switch x.State {
		case guard.StateStopped, guard.StateStopping:
		case guard.StateReleasing, guard.StateGone:
			return fmt.Errorf("%w: %s is %s", guard.ErrConflict, id, x.State)
		default:
			c.turn(x, guard.StateStopping, guard.StateStopped, c.Lags.Stop, now)
		}
		return nil
	})
}

// Start starts a stopped instance; another is guard.ErrConflict.
func (c *Cloud) Start(id string) error {
	return c.move(guard.Instance, id, func(x *Thing, now time.Time) error {
		if x.State != guard.StateStopped {
			return fmt.Errorf("%w: %s is %s", guard.ErrConflict, id, x.State)
		}
		c.turn(x, guard.StateProvisioning, guard.StateRunning, c.Lags.Boot, now)
		return nil
	})
}

// Release ends a thing. What is going or gone stays so; guard.ErrProtected is what is
// protected, and guard.ErrConflict what an instance uses or what has to be stopped first.
func (c *Cloud) Release(kind guard.Kind, id string) error {
	return c.move(kind, id, func(x *Thing, now time.Time) error {
		switch {
		case x.State == guard.StateReleasing, x.State == guard.StateGone:
			return nil
		case x.Protected:
			return fmt.Errorf("%w: %s", guard.ErrProtected, id)
		case c.StopFirst && kind == guard.Instance && x.State != guard.StateStopped:
			return fmt.Errorf("%w: %s is %s", guard.ErrConflict, id, x.State)
		case x.AttachedTo != "":
			if user, err := c.find(guard.Instance, x.AttachedTo); err == nil && user.State != guard.StateGone {
				return fmt.Errorf("%w: %s is attached to %s", guard.ErrConflict, id, x.AttachedTo)
			}
		}
		x.Ended = guard.ByRelease
		c.turn(x, guard.StateReleasing, guard.StateGone, c.Lags.End, now)
		return nil
	})
}

// Reclaim is the provider's own end of an instance: to guard.StateGone, or where the cloud
// only stops what it takes back, to guard.StateStopped.
func (c *Cloud) Reclaim(id string, to guard.State) error {
	return c.move(guard.Instance, id, func(x *Thing, now time.Time) error {
		x.Ended = guard.ByReclaim
		c.turn(x, to, to, 0, now)
		return nil
	})
}

func (c *Cloud) move(kind guard.Kind, id string, f func(x *Thing, now time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.pass()
	x, err := c.find(kind, id)
	if err != nil {
		return err
	}
	return f(x, now)
}
