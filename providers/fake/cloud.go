package fake

import (
	"cmp"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/providers"
)

// Cloud is one account of the fake cloud. It is safe for concurrent use.
type Cloud struct {
	script Script

	mu       sync.Mutex
	now      time.Time
	identity string   // whose the credentials are now
	things   []*thing // all that ever were, oldest first
	index    index    // of them
	agenda   []due
	foretold map[string][]Event // what monitors tell of things that are not there yet, by ID
	faults   []Fault
	calls    []Call
	wallet   *wallet // nil: the account does not pay ahead
	bill     []line  // of the timeline
}

// due is something that will happen; of two at one time the first planned is first.
type due struct {
	at time.Time
	do func(at time.Time)
}

// NewCloud checks the script and sets the cloud to its start. Every mistake in
// the script is in the error, which is guard.ErrInvalid.
func NewCloud(s Script) (*Cloud, error) {
	s.defaults()
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Cloud{script: s, now: s.Start, identity: s.Identity, index: newIndex(), foretold: map[string][]Event{}, faults: slices.Clone(s.Faults)}
	c.wallet = newWallet(s)
	for _, r := range s.Resources {
		c.create(r)
	}
	for _, e := range s.Timeline {
		c.plan(s.Start.Add(e.At), func(at time.Time) { c.happen(e, at) })
	}
	c.advance(s.Start)
	return c, nil
}

// MustCloud is NewCloud for scripts that are constants; it panics on an error.
func MustCloud(s Script) *Cloud {
	c, err := NewCloud(s)
	if err != nil {
		panic(err)
	}
	return c
}

// RoundTripper serves the cloud's API. A request's instant moves the cloud's time.
func (c *Cloud) RoundTripper() http.RoundTripper { return server{c} }

// Truths are what an adapter for this cloud declares.
func (c *Cloud) Truths() guard.Truths {
	s := c.script
	return guard.Truths{
		Granularity: s.Billing.Granularity, Minimum: s.Billing.Minimum, ReleaseLead: s.ReleaseTakes,
		ImmutableIDs: true, HasGet: true, TerminalBilling: true, Stop: s.StopEffect, PriceUnit: "machine",
		StoppedEnds: s.StoppedEnds, AtZero: s.atZero(),
		DeleteLeaves: []guard.Kind{guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem},
		ReclaimShows: "state gone, ended: reclaim", Signals: "what its script says",
	}
}

// Provider is a new adapter for this cloud, set up as its script says.
func (c *Cloud) Provider() *Provider {
	p, err := New(Config{Account: c.script.Account, Token: c.script.Token, Scopes: c.script.Scopes,
		Truths: c.Truths(), Next: c.RoundTripper()})
	if err != nil {
		panic(err) // the script was checked
	}
	return p
}

// Account is the provider as a configured account, in observe mode.
func (c *Cloud) Account() *providers.Account {
	return providers.NewAccount(c.script.Account, "fake", c.Offers(c.Provider()))
}

// Advance moves the cloud's time on and lets everything happen that is due. A
// time that is past already changes nothing.
func (c *Cloud) Advance(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(to)
}

// Now is the cloud's time.
func (c *Cloud) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Do lets an event happen now, whatever its At. An event that makes no sense is
// guard.ErrInvalid.
func (c *Cloud) Do(e Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := func(id string) bool { return len(c.index.byID[id]) > 0 }
	e.At = 0
	if err := checkEvents(c.script, []Event{e}, known); err != nil {
		return err
	}
	c.happen(e, c.now)
	c.advance(c.now)
	return nil
}

// Fault adds a fault behind those that are there. Its From counts from the
// cloud's start.
func (c *Cloud) Fault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, f)
}

// ClearFaults ends all faults.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// Calls are all requests so far, oldest first.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// CallsSince are the requests behind the first n, oldest first.
func (c *Cloud) CallsSince(n int) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.calls) {
		return nil
	}
	return slices.Clone(c.calls[n:])
}

// CallsOf are the requests of one sort (CallAny for every) that named id; an
// empty id is any.
func (c *Cloud) CallsOf(call, id string) []Call {
	return slices.DeleteFunc(c.Calls(), func(x Call) bool {
		return call != CallAny && x.Call != call || id != "" && !slices.Contains(x.IDs, id)
	})
}

// Truth is what the thing really is now: TruthRunning, TruthStopped or
// TruthGone; "" if there never was one. Where an ID stands under two identities
// the account's first one counts; TruthOf asks for another.
func (c *Cloud) Truth(id string) string { return c.TruthOf("", id) }

// TruthOf is Truth of the thing that an identity owns.
func (c *Cloud) TruthOf(identity, id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find(identity, id)
	switch {
	case t == nil || c.now.Before(t.created):
		return ""
	case t.stateAt(c.now).word == stateGone:
		return TruthGone
	case t.stateAt(c.now).word == stateStopped:
		return TruthStopped
	}
	return TruthRunning
}

// Gone is when the thing really went; zero while it is there.
func (c *Cloud) Gone(id string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.find("", id); t != nil && t.stateAt(c.now).word == stateGone {
		return t.stateAt(c.now).at
	}
	return time.Time{}
}

// Spend is what the thing has really cost until now, exactly, by the cloud's
// own meter, its traffic included, and the currency. What is attached to it is not in
// it. Nil if there never was one.
func (c *Cloud) Spend(id string) (*big.Rat, string) { return c.SpendAt(id, c.Now()) }

// SpendAt is what Spend was at a time that is past.
func (c *Cloud) SpendAt(id string, at time.Time) (*big.Rat, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find("", id)
	if t == nil {
		return nil, ""
	}
	sum := t.spend(c.script.Billing, at)
	return sum.Add(sum, c.carried(t, at)), t.currency
}

// Tags are the tags that the thing really has.
func (c *Cloud) Tags(id string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find("", id)
	if t == nil {
		return nil
	}
	return maps.Clone(t.spec.Tags)
}

// find gives the thing that an identity owns; "" tries the account's first, then
// any. Where an ID was given again the newer thing counts.
func (c *Cloud) find(identity, id string) *thing {
	var any *thing
	for _, t := range slices.Backward(c.index.byID[id]) {
		if c.superseded(t) {
			continue
		}
		if t.spec.Identity == cmp.Or(identity, c.script.Identity) {
			return t
		}
		any = t
	}
	if identity != "" {
		return nil
	}
	return any
}

// superseded is true of what is gone when its identity has a newer thing of its ID and
// kind.
func (c *Cloud) superseded(t *thing) bool {
	all := c.index.byID[t.spec.ID]
	if len(all) < 2 || t.last().word != stateGone {
		return false
	}
	return slices.ContainsFunc(all, func(o *thing) bool {
		return o.seq > t.seq && o.spec.Identity == t.spec.Identity && o.spec.Kind == t.spec.Kind
	})
}

func (c *Cloud) plan(at time.Time, do func(time.Time)) {
	i, _ := slices.BinarySearchFunc(c.agenda, at, func(d due, at time.Time) int {
		if d.at.After(at) {
			return 1
		}
		return -1 // behind those of the same time
	})
	c.agenda = slices.Insert(c.agenda, i, due{at, do})
}

func (c *Cloud) advance(to time.Time) {
	for {
		until, due := to, len(c.agenda) > 0 && !c.agenda[0].at.After(to)
		if due {
			until = c.agenda[0].at
		}
		if c.runDry(until) {
			continue // what that did may come first
		}
		if !due {
			break
		}
		next := c.agenda[0]
		c.agenda = c.agenda[1:]
		if next.at.After(c.now) {
			c.now = next.at
		}
		next.do(next.at)
	}
	if to.After(c.now) {
		c.now = to.UTC()
	}
}
