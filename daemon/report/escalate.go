package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/release"
	"guard/policy/spend"
	"guard/store"
)

// Escalation is whom what nobody acknowledges goes to.
type Escalation struct {
	// After is how long after the first message each circle is told, in their order.
	After []time.Duration
	// Admins are the names of the admins, and Fallback whom the last circle is.
	Admins   []string
	Fallback []guard.Audience
}

// Escalate is the daemon's loop "escalate".
type Escalate struct {
	Config
	Escalation
}

// NewEscalate makes the loop.
func NewEscalate(c Config, e Escalation) *Escalate { return &Escalate{c.ready(), e} }

// Name is "escalate".
func (l *Escalate) Name() string { return "escalate" }

// again is how soon the findings are looked at anyway.
const again = time.Minute

// few is how many are each told on their own; more that are due together share a message.
const few = 3

// escalatedName is the ledger's value with how far each open finding has got, by its ID:
// the widest circle that was told.
const escalatedName = "report/escalated"

// Once tells the next circle of what nobody has acknowledged. Of circles that are due
// together, as after a time in which guard was away, each place is told of the widest.
func (l *Escalate) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	next := at.Add(again)
	var calls []outcry
	var reached map[string]policy.Circle
	var kept, moved bool
	err := l.Ledger.View(ctx, func(v *store.View) error {
		calls, reached, moved = nil, map[string]policy.Circle{}, false
		was := map[string]policy.Circle{}
		if _, err := v.Value(escalatedName, &was); err != nil {
			return err
		}
		for f, err := range v.Findings.All("") {
			if err != nil {
				return err
			}
			if !policy.Escalates(f.Rule) || !l.acts(f.Resource.Account) { // in observe mode nobody is paged
				continue
			}
			c, soon, err := l.look(v, f, was[f.ID], at)
			if err != nil {
				return err
			}
			if !soon.IsZero() {
				next = guard.Earliest(next, at.Reach(soon))
			}
			if c.circle > was[f.ID] {
				calls, moved = append(calls, c), true
			}
			if n := max(c.circle, was[f.ID]); n > 0 {
				reached[f.ID] = n
			}
		}
		kept = maps.Equal(was, reached)
		return nil
	})
	if err != nil {
		return at.Add(again), fmt.Errorf("escalate: read the ledger: %w", err)
	}
	if kept {
		return next, nil
	}
	if err := l.write(ctx, at, calls, reached); err != nil {
		return at.Add(again), fmt.Errorf("escalate: %w", err)
	}
	if moved {
		l.Kick("notify")
	}
	return next, nil
}

// outcry is one finding and the circle that is due to hear of it.
type outcry struct {
	finding guard.Finding
	circle  policy.Circle
	from    policy.Circle // the widest that has heard
	first   time.Time     // from when on it counts
	lease   *guard.Lease
	release *guard.Release
	offers  []guard.Offer
	limit   time.Time // of a cap
	spent   []guard.Money
	hourly  guard.Money
}

// look tells which circle is due, and when the next one is; zero: none, for nothing is
// wrong any more, or somebody sees to it.
func (l *Escalate) look(v *store.View, f guard.Finding, was policy.Circle, at guard.Instant) (outcry, time.Time, error) {
	c := outcry{finding: f, from: was, first: f.Opened}
	lease, ok, err := v.Leases.Get(f.Lease)
	if err != nil {
		return c, time.Time{}, err
	}
	if ok {
		c.lease = &lease
	}
	if f.Rule == guard.RuleBudgetExceeded {
		capped, err := l.capped(v, &c)
		if err != nil || !capped {
			return c, time.Time{}, err
		}
	}
	heard, err := acknowledged(v, f)
	if err != nil || heard {
		return c, time.Time{}, err
	}
	var soon time.Time
	for i, after := range l.After {
		if due := c.first.Add(after); due.After(at.Wall) {
			soon = due
			break
		}
		c.circle = policy.Circle(i + 1)
	}
	if c.circle > was {
		err = l.fill(v, &c, at.Wall)
	}
	return c, soon, err
}

// capped reports whether a lease has a cap that can be passed, and begins to count when it
// is: its finding opens with the notice, before that.
func (l *Escalate) capped(v *store.View, c *outcry) (bool, error) {
	if c.lease == nil || !c.lease.Status.Open() {
		return false, nil
	}
	plan, _, err := v.Plans.Get(c.lease.ID)
	if err != nil {
		return false, err
	}
	d, ok := plan.Deadline(guard.DeadlineBudget)
	if c.limit = d.Limit; c.limit.After(c.first) {
		c.first = c.limit
	}
	return ok, nil
}

// acknowledged reports whether a person has seen to what a finding is about since it was
// told.
func acknowledged(v *store.View, f guard.Finding) (bool, error) {
	const most = 200 // a thing has far fewer entries in the day that an escalation takes
	entries, err := v.JournalOf(f.Subject, most)
	for _, e := range entries {
		if e.At.Before(f.Opened) {
			break // newest first
		}
		if policy.Acknowledges(e) {
			return true, err
		}
	}
	return false, err
}

// fill reads what is told of it.
func (l *Escalate) fill(v *store.View, c *outcry, now time.Time) error {
	key := c.finding.Resource.Key()
	f := policy.Facts{At: now, Zone: l.Zone, Mode: guard.Enforce, Configured: true, Lease: c.lease}
	if o, ok, err := v.Observed.Get(key); err != nil {
		return err
	} else if ok {
		f.Observed = &o
		c.hourly, _ = o.Resource.BillingRate().Hourly()
	}
	if c.lease != nil && c.lease.Price.Known() {
		c.hourly, _ = c.lease.Price.Hourly()
	}
	if r, ok, err := v.Releases.Get(key); err != nil {
		return err
	} else if ok {
		c.release, f.Release = &r, &r
	}
	if f.Observed != nil || f.Lease != nil {
		c.offers = slices.DeleteFunc(policy.Offers(l.Rules, f, []guard.Rule{guard.RuleReleaseBlocked}), func(o guard.Offer) bool { return o.Click != guard.ClickAck })
	}
	if c.finding.Rule != guard.RuleBudgetExceeded {
		return nil
	}
	family := []string{key}
	if plan, ok, err := v.Plans.Get(c.lease.ID); err != nil {
		return err
	} else if ok {
		family = append(family, plan.Family...)
	}
	slices.Sort(family)
	var segs []guard.Segment
	for _, key := range slices.Compact(family) {
		m, _, err := v.Metered.Get(key)
		if err != nil {
			return err
		}
		segs = append(segs, spend.Of(c.lease.ID, m)...)
	}
	c.spent = spend.Spent(segs, now).Known
	return nil
}

// unheard puts it into words.
func (l *Escalate) unheard(c outcry, lang guard.Lang) policy.Unheard {
	u := policy.Unheard{Finding: c.finding, First: c.finding.Opened, Offers: c.offers, What: policy.Stage{Title: c.finding.TitleIn(lang)}}
	scene := release.Scene{Zone: l.Zone, Lang: lang, Hourly: c.hourly}
	if c.lease != nil {
		u.Owner, scene.Purpose = c.lease.Owner, c.lease.Purpose
	}
	said := func(s release.Said) policy.Unheard {
		u.What.Title, u.What.Lines = s.Title, s.Lines
		return u
	}
	switch r := c.release; {
	case c.finding.Rule == guard.RuleBudgetExceeded && c.lease != nil:
		u.What = policy.OverCap(*c.lease, c.spent, c.hourly, c.limit, l.Zone, lang)
	case r == nil:
	case c.finding.Rule == guard.RuleReleaseStalled:
		return said(release.Stalled(*r, scene))
	case r.State == guard.ReleaseBlocked:
		return said(release.Blocked(*r, scene))
	default:
		return said(release.Failing(*r, scene))
	}
	return u
}

// write queues what is due, and keeps how far each has got.
func (l *Escalate) write(ctx context.Context, at guard.Instant, calls []outcry, reached map[string]policy.Circle) error {
	var jobs []job
	for circle := policy.CircleChannel; circle <= policy.CircleFallback; circle++ {
		var due []outcry
		for _, c := range calls {
			if l.hears(c, circle) {
				due = append(due, c)
			}
		}
		slices.SortFunc(due, func(a, b outcry) int { return strings.Compare(a.finding.ID, b.finding.ID) })
		if len(due) > few {
			jobs = append(jobs, job{circle, due})
			continue
		}
		for _, c := range due {
			jobs = append(jobs, job{circle, []outcry{c}})
		}
	}
	// The last one forgets what is over.
	return l.Ledger.UpdateEach(ctx, len(jobs)+1, func(tx *store.Tx, i int) error {
		if i == len(jobs) {
			return tx.SetValue(escalatedName, reached)
		}
		return l.call(tx, at.Wall, jobs[i])
	})
}

// hears reports whether a circle is told of it now. The channel and the admins read in
// the same place, so of the two only the wider one is.
func (l *Escalate) hears(c outcry, circle policy.Circle) bool {
	if circle <= c.from || circle > c.circle {
		return false
	}
	return circle == policy.CircleFallback || circle == min(c.circle, policy.CircleAdmins)
}

// job is one message.
type job struct {
	circle policy.Circle
	about  []outcry
}

func (l *Escalate) call(tx *store.Tx, now time.Time, j job) error {
	to := l.Audience
	if j.circle == policy.CircleFallback && len(l.Fallback) > 0 {
		to = l.Fallback
	}
	first, stage := j.about[0], fmt.Sprintf("escalated %d", j.circle)
	in := func(lang guard.Lang) guard.Message {
		return policy.Escalated(l.unheard(first, lang), j.circle, l.Admins, now, l.Zone, lang)
	}
	if n := len(j.about); n > 1 {
		stage += fmt.Sprintf(" with %d more", n-1)
		in = func(lang guard.Lang) guard.Message {
			us := make([]policy.Unheard, n)
			for i, c := range j.about {
				us[i] = l.unheard(c, lang)
			}
			return policy.EscalatedAll(us, j.circle, l.Admins, now, lang)
		}
	}
	if err := tell(tx, to, first.finding.ID, stage, in); err != nil {
		return err
	}
	was := map[string]policy.Circle{}
	if _, err := tx.Value(escalatedName, &was); err != nil {
		return err
	}
	for _, c := range j.about {
		was[c.finding.ID] = max(was[c.finding.ID], j.circle)
	}
	if err := tx.SetValue(escalatedName, was); err != nil {
		return err
	}
	text := in(guard.English).Title
	e := guard.JournalEntry{At: now, Who: "guard", Verb: "escalated", Subject: first.finding.Subject, Lease: first.finding.Lease, Text: text,
		Data: map[string]string{"circle": fmt.Sprint(int(j.circle)), "count": fmt.Sprint(len(j.about))}}
	if len(j.about) > 1 {
		e.Subject, e.Lease = "", ""
	}
	return tx.Journal(e)
}
