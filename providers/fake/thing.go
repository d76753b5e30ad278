package fake

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"guard"
)

// The words of the API for states. Scripts may use any other word too.
const (
	stateRunning   = "running"
	stateStopped   = "stopped"
	stateReleasing = "releasing"
	stateGone      = "gone"
)

// The words of the API for how a state came about.
const (
	endedUser     = "user" // through the API or the console: it cannot tell whom
	endedReclaim  = "reclaim"
	endedPlatform = "platform"
)

// thing is one resource and its whole past.
type thing struct {
	seq      int
	spec     Resource // as it is now
	created  time.Time
	reported time.Time // the creation time that the API tells
	currency string
	states   []state // oldest first; the first is at created
	prices   []price // oldest first; the first is at created
	paid     []Payment
	host     *thing   // the instance it is attached to
	attached []*thing // what is attached to it, in the order of their making
	lingers  time.Duration
	chain    *chain
	watch    *watch
	trace    *Trace    // that is played, in place of what a monitor would tell
	timer    time.Time // when the cloud ends it by itself; zero: never
}

type state struct {
	at    time.Time
	word  string
	ended string
}

// price is what a second costs; nil is not known.
type price struct {
	at               time.Time
	running, stopped *big.Rat
}

// chain is what puts a new instance in the place of one that ended.
type chain struct {
	relaunch Relaunch
	spec     Resource
	done     int
}

// stateAt is the state at a time; before its creation, the first.
func (t *thing) stateAt(at time.Time) state {
	s := t.states[0]
	for _, next := range t.states[1:] {
		if next.at.After(at) {
			break
		}
		s = next
	}
	return s
}

func (t *thing) last() state { return t.states[len(t.states)-1] }

func (t *thing) become(word, ended string, at time.Time) {
	t.states = append(t.states, state{at, word, ended})
	t.watch.runs(at, word == stateRunning)
}

// reprice puts the present prices of the spec in force.
func (t *thing) reprice(effect guard.StopEffect, at time.Time) {
	p := price{at: at, running: t.perSecond(t.spec.Rate)}
	switch {
	case t.spec.StoppedRate != nil:
		p.stopped = t.perSecond(t.spec.StoppedRate)
	case effect == guard.StopSavesCompute || effect == guard.StopSavesAll:
		p.stopped = new(big.Rat)
	default:
		p.stopped = p.running
	}
	t.prices = append(t.prices, p)
}

func (t *thing) perSecond(r *Rate) *big.Rat {
	if r == nil {
		return nil
	}
	x, _ := new(big.Rat).SetString(r.Amount) // checked
	if r.PerGPU {
		x.Mul(x, big.NewRat(int64(max(t.spec.GPUs, 0)), 1))
	}
	if r.Per == "gb_month" {
		x.Mul(x, big.NewRat(t.spec.SizeGB, 1))
	}
	return x.Quo(x, big.NewRat(int64(periods[r.Per]/time.Second), 1))
}

// spend is what it cost until a time. A run (from a start to a stop or the end)
// is charged for whole units and at least for the minimum; what is beyond its
// real length costs what its last second did. Being stopped is charged for whole
// units as well. What was paid ahead is paid.
func (t *thing) spend(b Billing, until time.Time) *big.Rat {
	sum := t.lumps(until)
	for i := 0; i < len(t.states); {
		first := t.states[i]
		stopped := first.word == stateStopped
		for i++; i < len(t.states) && t.states[i].word != stateGone && t.still(i, stopped); {
			i++
		}
		if first.word == stateGone || !first.at.Before(until) {
			break
		}
		end := until
		if i < len(t.states) && t.states[i].at.Before(until) {
			end = t.states[i].at
		}
		least := b.Minimum
		if stopped || t.spec.Kind != guard.Instance {
			least = 0
		}
		t.charge(sum, first.at, end, stopped, b.Granularity, least)
	}
	return sum
}

// still reports whether a state bills as the one before it does: what is stopped
// does not run again to be released.
func (t *thing) still(i int, stopped bool) bool {
	word := t.states[i].word
	return (word == stateStopped) == stopped || stopped && word == stateReleasing
}

func (t *thing) charge(sum *big.Rat, from, to time.Time, stopped bool, unit, least time.Duration) {
	billed := max(to.Sub(from), least)
	billed = (billed + unit - 1) / unit * unit
	end := from.Add(billed)
	for i, p := range t.prices {
		start, stop := p.at, end
		if start.Before(from) || i == 0 {
			start = from
		}
		if i+1 < len(t.prices) && t.prices[i+1].at.Before(to) {
			stop = t.prices[i+1].at
		}
		rate := p.running
		if stopped {
			rate = p.stopped
		}
		if rate == nil || !start.Before(stop) || i > 0 && !p.at.Before(to) {
			continue
		}
		x := new(big.Rat).SetFrac64(int64(stop.Sub(start)), int64(time.Second))
		sum.Add(sum, x.Mul(x, rate))
	}
}

// create adds the resources of a spec; Created counts from the script's start.
func (c *Cloud) create(r Resource) {
	r.fill(c.script)
	if r.Count <= 1 {
		c.add(r, c.script.Start.Add(r.Created))
		return
	}
	id := r.ID
	for i := range r.Count {
		r.ID = member(id, i+1)
		c.foretold[r.ID] = append(c.foretold[r.ID], c.foretold[id]...)
		c.add(r, c.script.Start.Add(r.Created))
	}
}

func (c *Cloud) add(r Resource, created time.Time) *thing {
	r.Tags = maps.Clone(r.Tags)
	r.Protected = slices.Clone(r.Protected)
	t := &thing{seq: len(c.things) + 1, spec: r, created: created, reported: created, currency: c.script.Currency, lingers: c.script.Lag.Disappears}
	if r.Rate != nil && r.Rate.Currency != "" {
		t.currency = r.Rate.Currency
	}
	t.states = []state{{at: created, word: r.State}}
	t.watch = newWatch(c.script.Start, created, r.State == stateRunning, r.GPUs)
	t.reprice(c.script.StopEffect, created)
	if r.Relaunch != nil {
		t.chain = &chain{relaunch: *r.Relaunch, spec: r}
		if t.chain.relaunch.Times == 0 {
			t.chain.relaunch.Times = len(r.Relaunch.IDs)
		}
	}
	c.things = append(c.things, t)
	c.index.add(t)
	c.wait(t, created)
	c.pay(t, created)
	// Instances and what hangs on them may be scripted in any order.
	for _, id := range r.Attached {
		for _, other := range c.index.byID[id] {
			if other.spec.Identity == r.Identity {
				other.hang(t)
			}
		}
	}
	for _, other := range c.index.hosts[r.ID] {
		if other.spec.Identity == r.Identity && other.last().word != stateGone {
			t.hang(other)
		}
	}
	for _, e := range c.foretold[r.ID] {
		c.watched(t, e, created)
	}
	return t
}

// end makes a thing gone, and with it what goes with it.
func (c *Cloud) end(t *thing, ended string, at time.Time) {
	if t.last().word == stateGone {
		return
	}
	t.become(stateGone, ended, at)
	t.hang(nil)
	for _, child := range slices.Clone(t.attached) {
		child.hang(nil)
		if child.spec.GoesWithInstance {
			c.end(child, ended, at)
		}
	}
	if t.chain != nil {
		c.plan(at.Add(t.chain.relaunch.After), func(at time.Time) { c.relaunch(t, at) })
	}
}

func (c *Cloud) relaunch(t *thing, at time.Time) {
	ch := t.chain
	if ch.done >= ch.relaunch.Times || ch.done >= len(ch.relaunch.IDs) {
		return
	}
	if p := c.find(t.spec.Identity, ch.relaunch.Parent); p != nil && (p.last().word == stateGone || p.last().word == stateReleasing) {
		return
	}
	r := ch.spec
	r.ID, r.Attached, r.Relaunch, r.State = ch.relaunch.IDs[ch.done], nil, nil, stateRunning
	ch.done++
	c.add(r, at).chain = ch
}

// happen lets an event happen. Events were checked; one about a thing that is
// gone by now changes nothing.
func (c *Cloud) happen(e Event, at time.Time) {
	switch {
	case e.Create != nil:
		r := *e.Create
		if r.Created == 0 {
			r.Created = at.Sub(c.script.Start)
		}
		c.create(r)
		return
	case e.Identity != "":
		c.identity = e.Identity
		return
	case e.TopUp != "":
		c.topUp(e.TopUp)
		return
	case e.Charge != nil:
		c.billed(*e.Charge, at)
		return
	}
	if e.watched() {
		c.tell(e, at)
		return
	}
	t := c.find("", e.ID)
	if t == nil || t.last().word == stateGone {
		return
	}
	ended := endedUser
	if e.By == guard.ByPlatform {
		ended = endedPlatform
	}
	switch {
	case e.Reclaim != nil && e.Reclaim.Stop:
		c.halt(t, endedReclaim, at)
	case e.Reclaim != nil:
		if e.Reclaim.Lingers > 0 {
			t.lingers = e.Reclaim.Lingers
		}
		c.end(t, endedReclaim, at)
	case e.Delete, e.State == stateGone:
		c.end(t, ended, at)
	case e.State == stateStopped:
		c.halt(t, ended, at)
	case e.State != "":
		t.become(e.State, ended, at)
	case e.Rate != nil:
		t.spec.Rate = e.Rate
		t.reprice(c.script.StopEffect, at)
	case e.Detach:
		t.hang(nil)
	case e.Attach != "":
		t.hang(c.find(t.spec.Identity, e.Attach))
	case e.Set != nil:
		c.change(t, *e.Set, at)
	}
}

func (c *Cloud) change(t *thing, s Changes, at time.Time) {
	set(&t.spec.Name, s.Name)
	set(&t.spec.GPUs, s.GPUs)
	set(&t.spec.GPUModel, s.GPUModel)
	set(&t.spec.SizeGB, s.SizeGB)
	set(&t.spec.Spot, s.Spot)
	set(&t.spec.GoesWithInstance, s.GoesWithInstance)
	set(&t.spec.Protected, s.Protected)
	set(&t.spec.HideProtection, s.HideProtection)
	set(&t.spec.UsedBy, s.UsedBy)
	if s.Renews != nil && t.spec.Lump != nil {
		l := *t.spec.Lump
		l.Renews = *s.Renews
		t.spec.Lump = &l
	}
	if s.Tags != nil {
		t.spec.Tags = maps.Clone(s.Tags)
	}
	if s.Created != nil {
		t.reported = c.script.Start.Add(*s.Created)
	}
	t.reprice(c.script.StopEffect, at)
	t.watch.change(at, func(m *mark) { m.gpus = t.spec.GPUs })
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// release accepts the end of a thing.
func (c *Cloud) release(t *thing) {
	switch t.last().word {
	case stateReleasing, stateGone:
		return
	}
	takes := c.script.ReleaseTakes
	if takes <= 0 {
		c.end(t, endedUser, c.now)
		return
	}
	t.become(stateReleasing, endedUser, c.now)
	c.plan(c.now.Add(takes), func(at time.Time) { c.end(t, endedUser, at) })
}
