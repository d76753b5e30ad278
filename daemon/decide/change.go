package decide

import (
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/release"
	"guard/store"
)

// change is everything that one subject's judgement writes, in one transaction.
type change struct {
	put     []guard.Finding
	closed  []guard.Finding
	release *guard.Release
	lease   *guard.Lease
	told    []told
	entries []guard.JournalEntry
}

// told is one thing that is said: to every channel, once.
type told struct {
	cause, stage string
	message      guard.Message
	shares       bool // it may share a message: it is all that is said of a finding that is new, or still true
	// others are the message in other languages than English.
	others map[guard.Lang]guard.Message
}

// in is the message in a language.
func (t told) in(lang guard.Lang) guard.Message {
	if m, ok := t.others[lang]; ok {
		return m
	}
	return t.message
}

func (c change) empty() bool {
	return len(c.put) == 0 && len(c.closed) == 0 && c.release == nil && c.lease == nil && len(c.told) == 0 && len(c.entries) == 0
}

// grouped returns the rule, where the change is one newly opened finding that
// may share a message with others of its kind.
func (c change) grouped() (guard.Rule, bool) {
	if len(c.put) != 1 || len(c.closed) != 0 || c.release != nil || len(c.told) != 1 || !c.told[0].shares {
		return "", false
	}
	switch rule := c.put[0].Rule; rule {
	case guard.RuleUnregistered, guard.RuleReclaimed, guard.RuleOrphanVolume, guard.RuleOrphanSnapshot, guard.RuleOrphanImage,
		guard.RuleOrphanAddress, guard.RuleOrphanFilesystem, guard.RuleStoppedBilling, guard.RuleSignalsLost,
		guard.RuleProviderReclaim, guard.RuleRenewsSoon, guard.RuleChargeMismatch:
		return rule, true
	}
	return "", false
}

// change compares a judgement with what is open. It is pure but for the
// configuration: the same facts give the same writes.
func (l *Loop) change(f policy.Facts, open []guard.Finding, out policy.Outcome) change {
	var c change
	stages := map[guard.Rule]string{} // what was said now, by rule
	for _, v := range out.Verdicts {
		i := slices.IndexFunc(open, func(o guard.Finding) bool { return o.Rule == v.Rule })
		if i < 0 {
			l.opened(f, v, &c, stages)
			continue
		}
		l.still(f, v, open[i], &c, stages)
	}
	for _, o := range open {
		if policy.Owned(o.Rule) && !out.Leaves(o.Rule) && !slices.ContainsFunc(out.Verdicts, func(v policy.Verdict) bool { return v.Rule == o.Rule }) {
			if end := policy.Ends(l.Rules, f, o); !end.Stays {
				l.over(f, o, end, &c)
			}
		}
	}
	if !f.Resource().IsZero() {
		l.plan(f, out, open, stages, &c)
		l.barred(f, out, open, &c)
		l.outlived(f, open, &c)
	}
	return c
}

// outlived closes the findings of a release that is over: whoever ended it, a
// stuck release is not stuck any more.
func (l *Loop) outlived(f policy.Facts, open []guard.Finding, c *change) {
	r := f.Release
	if c.release != nil {
		r = c.release
	}
	if r != nil && r.State.Open() {
		return
	}
	for _, o := range open {
		if o.Rule == guard.RuleReleaseBlocked || o.Rule == guard.RuleReleaseStalled {
			o.Closed = f.At
			c.closed = append(c.closed, o)
			c.entries = append(c.entries, entry(f, "over", o.Rule, o.Title))
		}
	}
}

// muted reports whether nothing is said of a verdict, because a person has snoozed
// its subject, or because people were told of its like a moment ago. What is urgent is said, and so is the notice of a release (law 9).
func muted(f policy.Facts, v policy.Verdict) bool {
	notice := v.Act != nil && (f.Release == nil || f.Release.NoticedAt.IsZero())
	return (f.At.Before(v.Held) || f.Snoozed()) && !v.Urgent && !notice
}

func (l *Loop) opened(f policy.Facts, v policy.Verdict, c *change, stages map[guard.Rule]string) {
	last := v.Stages[len(v.Stages)-1]
	n := guard.Finding{Rule: v.Rule, Subject: v.Subject, Resource: v.Resource,
		Lease: v.Lease, Since: v.Since, Opened: f.At, Title: last.Title, Facts: v.Facts, Wastes: v.Wastes, Urgent: v.Urgent,
		Said: said(v)}
	n.ID = policy.FindingID(n)
	c.entries = append(c.entries, entry(f, "found", n.Rule, last.Title))
	if muted(f, v) {
		n.Said = nil // it is said when the snooze ends, if it is still true
		c.put = append(c.put, n)
		return
	}
	n.Told = f.At
	c.put = append(c.put, n)
	c.told = append(c.told, told{cause: n.ID, stage: last.Name, message: policy.Told(n, last, f.At), shares: true})
	stages[v.Rule] = last.Name
}

// remindAt is when an open finding is told again; zero: never.
func remindAt(v policy.Verdict, o guard.Finding) time.Time {
	switch {
	case v.Remind <= 0:
		return time.Time{}
	case o.Told.IsZero():
		return o.Opened.Add(v.Remind)
	}
	return o.Told.Add(v.Remind)
}

// wakes is when a subject is judged again by itself, to remind people of what is open
// too; zero: never.
func wakes(open []guard.Finding, out policy.Outcome) time.Time {
	next := out.Next
	for _, v := range out.Verdicts {
		i := slices.IndexFunc(open, func(o guard.Finding) bool { return o.Rule == v.Rule })
		if i < 0 {
			continue
		}
		// One that is due and yet open was kept back by a snooze, whose end is waited for.
		if at := remindAt(v, open[i]); at.After(out.At) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// still brings an open finding up to date: a stage that is new is said, and an old one
// again where that is long ago.
func (l *Loop) still(f policy.Facts, v policy.Verdict, o guard.Finding, c *change, stages map[guard.Rule]string) {
	last := v.Stages[len(v.Stages)-1]
	said := said(v)
	fresh := !slices.Contains(o.Said, last.Name)
	due := remindAt(v, o)
	again := !fresh && len(o.Said) > 0 && !due.IsZero() && !f.At.Before(due)
	if (fresh || again) && muted(f, v) {
		fresh, again = false, false
		said = slices.DeleteFunc(said, func(name string) bool { return !slices.Contains(o.Said, name) })
	}
	if !fresh && !again && slices.Equal(said, o.Said) && v.Urgent == o.Urgent && v.Lease == o.Lease && !shifted(o.Wastes, v.Wastes) {
		return
	}
	before := o.Said
	// What is not reached any more may be said again when it is.
	o.Said, o.Urgent, o.Lease, o.Wastes = said, v.Urgent, v.Lease, v.Wastes
	o.Title, o.Titles, o.Facts = last.Title, nil, v.Facts
	if fresh {
		unsaid := len(before) == 0 // it may share a message as if it were new
		o.Told = f.At
		stages[v.Rule] = since(last.Name, f.At)
		c.told = append(c.told, told{cause: o.ID, stage: stages[v.Rule], message: policy.Told(o, last, f.At), shares: unsaid})
		c.entries = append(c.entries, entry(f, "told", o.Rule, last.Title))
	}
	if again {
		o.Told = f.At
		stages[v.Rule] = since("again", f.At)
		c.told = append(c.told, told{cause: o.ID, stage: stages[v.Rule], message: policy.Again(o, last, f.At, l.Zone, f.Lang), shares: true})
		c.entries = append(c.entries, entry(f, "told again", o.Rule, last.Title))
	}
	c.put = append(c.put, o)
}

// shifted reports whether what something wastes is so far from what was kept of it that
// the finding is to show it: by more than a quarter, or known where it was not.
func shifted(was, is guard.Money) bool {
	diff, err := is.Sub(was)
	if err != nil {
		return was.IsSet() || is.IsSet()
	}
	if diff.IsNegative() {
		diff, err = was.Sub(is)
	}
	n, cmp := diff.Cmp(was.Percent(25))
	return err == nil && cmp == nil && n > 0
}

func (l *Loop) over(f policy.Facts, o guard.Finding, end policy.Ending, c *change) {
	o.Closed = f.At
	c.closed = append(c.closed, o)
	text := o.Title
	var why []string
	if end.Why != "" {
		text, why = text+". "+end.Why, []string{end.Why}
	}
	c.entries = append(c.entries, entry(f, "over", o.Rule, text))
	if !end.Quiet && len(o.Said) > 0 && (o.Urgent || !f.Snoozed()) {
		c.told = append(c.told, told{cause: o.ID, stage: policy.StageOver, message: policy.Over(o, f.At, l.Zone, f.Lang, why...)})
	}
}

// booked is what guard does to a lease by itself. What was open about the wait for
// its instance is over with it.
func (l *Loop) booked(f policy.Facts, b *policy.Booking, open []guard.Finding) change {
	var c change
	if b == nil {
		return c
	}
	about := f.Subject()
	if !b.Lease.Resource.IsZero() {
		about = b.Lease.Resource.String()
	}
	c.lease = &b.Lease
	c.entries = []guard.JournalEntry{{At: f.At, Who: "guard", Verb: b.Verb, Subject: about, Lease: b.Lease.ID, Text: b.Text}}
	if s := b.Say; s != nil {
		c.told = []told{{cause: b.Lease.ID, stage: s.Name, message: policy.Told(guard.Finding{Resource: b.Lease.Resource}, *s, f.At)}}
	}
	if f.Awaiting != nil {
		for _, o := range open {
			l.over(f, o, policy.Ends(l.Rules, f, o), &c)
		}
	}
	return c
}

// vetoed stands among what is said of a finding while a veto is in force, so that
// what is shown of it changes with that. Nobody is told: who withdraws a release is.
const vetoed = "vetoed"

// said is what has been said of a finding once the last of its stages is.
func said(v policy.Verdict) []string {
	out := make([]string, len(v.Stages), len(v.Stages)+1)
	for i, s := range v.Stages {
		out[i] = s.Name
	}
	if v.Vetoed {
		out = append(out, vetoed)
	}
	return out
}

func entry(f policy.Facts, verb string, rule guard.Rule, text string) guard.JournalEntry {
	e := guard.JournalEntry{At: f.At, Who: "guard", Verb: verb, Subject: f.Subject(), Text: text, Data: map[string]string{"rule": string(rule)}}
	if f.Lease != nil {
		e.Lease = f.Lease.ID
	}
	return e
}

// moves journals the transitions of a release.
func moves(f policy.Facts, o release.Outcome, c *change) {
	for _, m := range o.Moves {
		c.entries = append(c.entries, guard.JournalEntry{At: f.At, Who: o.Release.By, Verb: string(m.To), Subject: o.Release.Target.String(),
			Lease: o.Release.Lease, Text: m.Why, Data: map[string]string{"release": o.Release.ID, "from": string(m.From), "cause": string(o.Release.Cause)}})
	}
}

// write puts a change into the ledger.
func (l *Loop) write(tx *store.Tx, c change) error {
	for _, f := range c.put {
		if err := tx.Findings.Put(f); err != nil {
			return err
		}
	}
	for _, f := range c.closed {
		if err := tx.CloseFinding(f); err != nil {
			return err
		}
	}
	if r := c.release; r != nil {
		put := tx.Releases.Put
		if !r.State.Open() {
			put = tx.EndRelease
		}
		if err := put(*r); err != nil {
			return err
		}
	}
	if c.lease != nil {
		if err := tx.Leases.Put(*c.lease); err != nil {
			return err
		}
	}
	for _, t := range c.told {
		if t.message.Rule == guard.RuleReclaimed {
			if err := reclaimTold(tx, t.message); err != nil {
				return err
			}
		}
		if err := l.queue(tx, t.cause, t.stage, t.in); err != nil {
			return err
		}
	}
	for _, e := range c.entries {
		if err := tx.Journal(e); err != nil {
			return err
		}
	}
	return nil
}

// since is a stage's name for something that may be said more than once.
func since(stage string, at time.Time) string { return fmt.Sprintf("%s %d", stage, at.Unix()) }
