package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/simulate"
	"guard/providers/fake"
)

// life is one instance of the script, and what people and guard did to it.
type life struct {
	account *Account
	cloud   *fake.Cloud
	id      string // ACCOUNT/ID
	spec    fake.Resource
	born    time.Duration
	gone    time.Duration // never, while it lives
	claims  []claim       // what people said of it, oldest first
	vetoes  []veto        // oldest first
	muddled bool          // people changed what guard had registered, to what only guard knows
	orders  []time.Duration
	calls   []simulate.CloudCall // that end or stop it, in their order
	family  []string             // IDs of what hangs on it
	does    []stint              // see stints
}

// claim is a lease as people's words made it, from one word to the next.
type claim struct {
	at       time.Duration // when it was said
	verb     Verb
	set      time.Duration // when a limit was last set
	expires  time.Duration // by guard's wall clock, as an offset of the start
	budget   guard.Money
	capSet   time.Duration
	grace    time.Duration
	held     time.Duration // by guard's wall clock
	guarded  bool          // protected
	noGPU    bool
	register time.Duration // of the lease
}

// veto keeps a rule from acting on a box, from one word until the next, or its end.
type veto struct {
	at    time.Duration
	rule  guard.Rule
	until time.Duration // by guard's wall clock
}

// vetoed is until when a rule does nothing about a box, by what was said up to a
// moment; 0 where nobody said so.
func (b *life) vetoed(rule guard.Rule, at time.Duration) time.Duration {
	until := time.Duration(0)
	for _, v := range b.vetoes {
		if v.rule == rule && v.at <= at {
			until = v.until
		}
	}
	return until
}

// story derives the boxes and their claims from the script and from the commands
// that worked.
func (j *judge) story() {
	j.byID = map[string]*life{}
	j.dead = j.deaths()
	for i := range j.week.Accounts {
		a := &j.week.Accounts[i]
		for r := range a.all() {
			j.add(a, r)
		}
	}
	for _, c := range j.h.Calls {
		if !destroys(c) {
			continue
		}
		for _, id := range c.IDs {
			if b := j.byID[c.Account+"/"+id]; b != nil {
				b.calls = append(b.calls, c)
			}
		}
	}
	orders := slices.Clone(j.week.Orders)
	slices.SortStableFunc(orders, func(a, b Order) int { return cmp.Compare(a.At, b.At) })
	for i, o := range orders {
		b := j.byID[o.ID]
		if i >= len(j.h.Commands) || b == nil {
			continue
		}
		if ran := j.h.Commands[i]; ran.At != o.At || !strings.Contains(ran.Line, o.ID) {
			j.wrong(0, "ledger", o.At, o.ID, "the %d. command of the week is %q: the week and its history do not belong together", i+1, ran.Line)
			return
		} else if ran.Status == 0 {
			j.say(b, o)
		} else if o.Verb == Release && ran.Crashed {
			b.orders = append(b.orders, o.At)
		}
	}
}

// add makes the boxes of one resource of the script; all but instances, and what
// another identity owns, are left out.
func (j *judge) add(a *Account, r fake.Resource) {
	if r.Kind != "" && r.Kind != guard.Instance || r.Identity != "" && r.Identity != identityOf(a.Script) {
		return
	}
	ids := []string{r.ID}
	if r.Count > 1 {
		ids = nil
		for n := range r.Count {
			ids = append(ids, fmt.Sprintf("%s-%03d", r.ID, n+1))
		}
	}
	later := 0
	if r.Relaunch != nil {
		later = len(ids)
		ids = append(ids, r.Relaunch.IDs...)
	}
	for n, id := range ids {
		b := &life{account: a, cloud: j.h.Clouds[nameOf(a.Script)], spec: r, born: r.Created, gone: never}
		b.id, b.spec.ID = nameOf(a.Script)+"/"+id, id
		if b.cloud == nil || b.cloud.Truth(id) == "" || j.byID[b.id] != nil {
			continue
		}
		if later == 0 || n < later {
			b.family = slices.Concat(r.Attached, a.copies(r.Attached))
		} else {
			b.born = never // a newcomer: the cloud alone knows when it came
		}
		if gone := b.cloud.Gone(id); !gone.IsZero() {
			b.gone = gone.Sub(j.zero)
		}
		j.byID[b.id] = b
		j.boxes = append(j.boxes, b)
	}
}

// copies are the snapshots of some volumes, and the images that those back: they count
// to the box that the volumes hang on.
func (a *Account) copies(volumes []string) []string {
	var ids []string
	for r := range a.all() {
		if r.Kind == guard.Snapshot && slices.Contains(volumes, r.Source) {
			ids = append(append(ids, r.ID), r.UsedBy...)
		}
	}
	return ids
}

// say folds one command that worked.
func (j *judge) say(b *life, o Order) {
	now := o.At
	switch o.Verb {
	case Veto:
		b.vetoes = append(b.vetoes, veto{o.At, o.Rule, now + o.By})
		return
	case Snooze: // moves nothing
		return
	}
	c := claim{at: o.At, verb: o.Verb}
	fresh := true
	if last, ok := b.claim(o.At); ok {
		c, fresh = last, false
		c.at, c.verb = o.At, o.Verb
	}
	if fresh && o.Verb != Register && o.Verb != Release {
		b.muddled = true
	}
	switch o.Verb {
	case Register:
		if fresh {
			c.expires, c.grace, c.register = now+defaultTTL, 0, o.At
			if j.week.Life > 0 {
				c.expires = min(c.expires, now+j.week.Life)
			}
		}
		if o.TTL > 0 {
			c.expires = now + o.TTL
		}
		if fresh || o.TTL > 0 {
			c.set = o.At
		}
		if o.Budget.IsSet() {
			c.budget, c.capSet = o.Budget, o.At
		}
		c.grace = cmp.Or(o.Grace, c.grace)
		c.noGPU = c.noGPU || o.NoGPU
	case Extend:
		if o.By > 0 {
			c.expires, c.set = max(c.expires, now)+o.By, o.At
		}
		if o.Budget.IsSet() {
			if sum, err := c.budget.Add(o.Budget); err == nil {
				c.budget, c.capSet = sum, o.At
			}
		}
	case Hold:
		c.held = max(c.held, now+cmp.Or(o.By, defaultHold))
	case Unhold:
		c.held = min(c.held, now)
	case Protect:
		c.guarded = true
	case Unprotect:
		c.guarded = false
	case Release:
		b.orders = append(b.orders, o.At)
		return
	}
	b.claims = append(b.claims, c)
}

// claim is what people had said by a moment, that of the moment included.
func (b *life) claim(at time.Duration) (claim, bool) {
	var out claim
	found := false
	for _, c := range b.claims {
		if c.at <= at {
			out, found = c, true
		}
	}
	return out, found
}

// graceOf is the notice that a lease asks for.
func (j *judge) graceOf(c claim) time.Duration {
	return cmp.Or(c.grace, j.week.Grace, defaultGrace)
}

func (j *judge) warning() time.Duration {
	if len(j.week.Warn) > 0 {
		return slices.Max(j.week.Warn)
	}
	return defaultWarn
}

func (j *judge) poll() time.Duration  { return cmp.Or(j.week.Poll, defaultPoll) }
func (j *judge) sweep() time.Duration { return cmp.Or(j.week.Sweep, defaultSweep) }

// acts is whether guard may, and whether it must, act in an account at a moment. A
// switch to enforce may be refused (law 8) and is believed once the journal tells
// of the fresh notice that comes with it; one that finds guard dead or asleep is
// read at some later start.
func (j *judge) acts(a *Account, at time.Duration) (may, must bool) {
	name := nameOf(a.Script)
	may = a.Mode == guard.Enforce
	must = may
	for _, h := range j.week.Hits {
		if h.Reload == nil || h.Reload.Account != name || h.At > at {
			continue
		}
		late := slices.ContainsFunc(j.dead, func(s span) bool { return s.touches(h.At, h.At) })
		if h.Reload.Mode == guard.Enforce {
			may = true
			must = must || slices.ContainsFunc(j.book.journal, func(e guard.JournalEntry) bool {
				t := j.latest(e.At)
				return e.Verb == "fresh_notice" && e.Subject == name && t >= h.At && t <= at
			})
			continue
		}
		may, must = may && late, false
	}
	return may, must
}

// takes is how long a release of the account takes once it is accepted.
func takes(a *Account) time.Duration {
	switch t := a.Script.ReleaseTakes; {
	case t == 0:
		return 30 * time.Second
	case t < 0:
		return 0
	default:
		return t
	}
}

func nameOf(s fake.Script) string     { return cmp.Or(s.Account, "fake") }
func identityOf(s fake.Script) string { return cmp.Or(s.Identity, "acct-"+nameOf(s)) }

// identityAt is whose the account's credentials are at a moment.
func identityAt(s fake.Script, at time.Duration) string {
	who := identityOf(s)
	for _, e := range s.Timeline {
		if e.Identity != "" && e.At <= at {
			who = e.Identity
		}
	}
	return who
}

// events are those of the script about a box, but for what it does.
func (b *life) events() []fake.Event {
	var out []fake.Event
	for _, e := range b.account.Script.Timeline {
		if e.ID == b.spec.ID && e.At < b.gone && e.Signals == nil && e.Pulse == nil && !e.Reboot {
			out = append(out, e)
		}
	}
	return out
}

// tags are what the script says that a box carries; what guard writes is apart.
func (b *life) tags(at time.Duration) map[string]string {
	tags := b.spec.Tags
	for _, e := range b.events() {
		if e.Set != nil && e.Set.Tags != nil && e.At <= at {
			tags = e.Set.Tags
		}
	}
	return tags
}

// alive reports whether a box really exists at a moment.
func (b *life) alive(at time.Duration) bool { return at < b.gone && (b.born == never || at >= b.born) }

func destroys(c simulate.CloudCall) bool {
	return c.Call.Call == fake.CallRelease || c.Call.Call == fake.CallDelete || c.Call.Call == fake.CallStop
}

// offset is a time of the cloud in the story.
func (j *judge) offset(t time.Time) time.Duration { return t.Sub(j.zero) }
