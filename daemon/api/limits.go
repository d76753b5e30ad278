package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/spend"
	"guard/providers"
	"guard/store"
)

// solve gives the deadlines that the meter will find for a lease, with the
// meter's own arithmetic: the answer to a registration must not wait for a loop.
func (s *server) solve(b *book, o guard.Observed, l guard.Lease, acct *providers.Account, lead time.Duration, at guard.Instant) ([]member, guard.Plan) {
	family := s.metered(b, o, l, acct, at)
	plan := guard.Plan{Lease: l.ID, SolvedAt: at.Wall}
	if !l.ExpiresAt.IsZero() {
		plan.Deadlines = append(plan.Deadlines, guard.Deadline{Reason: guard.DeadlineExpiry, Limit: l.ExpiresAt, Due: l.ExpiresAt})
	}
	if l.Budget.IsSet() {
		segs := segments(family, l.ID)
		if d, ok := spend.Landing(segs, l.Budget, lead, at.Wall); ok {
			plan.Deadlines = append(plan.Deadlines, d)
		}
		plan.Unknown = spend.Lines(spend.Lacks(segs, l.Budget.Currency()))
	}
	if d, ok := s.Rules().Ceiling(l, segments(family, l.ID), lead, at.Wall); ok {
		plan.Deadlines = append(plan.Deadlines, d)
	}
	return family, plan
}

// metered is the family with everything folded in that is known now.
func (s *server) metered(b *book, o guard.Observed, l guard.Lease, acct *providers.Account, at guard.Instant) []member {
	family := b.family(o, l.ID)
	for i, m := range family {
		in := spend.Input{Observed: m.observed, Metered: m.metered, Truths: acct.Provider.Truths(),
			Poll: acct.Poll, Read: at.Wall, At: at.Wall, Over: s.Rules().PriceChanged.Over}
		switch {
		case m.own:
			in.Lease, in.Price, in.Taken = l.ID, l.Price, spend.Taken(time.Time{}, l)
		case m.observed.Instance.Key() == o.Resource.ID.Key():
			in.Since = spend.Since(m.observed, o)
			in.Lease, in.Taken = l.ID, spend.Taken(in.Since, l)
		}
		family[i].metered, _ = spend.Fold(in)
	}
	return family
}

// lead is how long before the crossing of a cap the call is due in an account.
func lead(v *store.View, acct *providers.Account) (time.Duration, error) {
	var ended []guard.Release
	for r, err := range v.EndedReleases.All("") {
		if err != nil {
			return 0, err
		}
		if r.Target.Account == acct.Name {
			ended = append(ended, r)
		}
	}
	return spend.Lead(acct.Provider.Truths(), spend.Longest(ended)), nil
}

// limits says of each limit when it is reached, when guard acts and what it does;
// mutes are those in force, and soon tells that a person has just set them.
func (s *server) limits(l guard.Lease, p guard.Plan, mutes []guard.Mute, mode guard.Mode, protection policy.Protection, now time.Time, soon bool) []wire.Limit {
	out := []wire.Limit{}
	rules := s.Rules()
	mine := s.doing(l, mode, protection)
	l.OnLimit = guard.ActRelease
	ceiling := s.doing(l, mode, protection) // it always releases
	for _, d := range deadlines(l, p) {
		doing := mine
		held, word := waits(l, mutes, d.Reason, now)
		if d.Reason == guard.DeadlineCeiling {
			doing = ceiling
			doing.text += ", whatever it is extended, held or vetoed to"
		}
		w := wire.Limit{Reason: string(d.Reason), Reached: s.local(d.Limit), Acts: s.local(d.Due), Does: doing.does}
		var notes []string
		if doing.acts && held.After(d.Due) {
			w.Text = doing.text + ", with fresh notice, once the " + word + " ends at " + s.stamp(held)
			out = append(out, w)
			continue
		}
		if d.Lead > 0 && doing.acts {
			notes = append(notes, fmt.Sprintf("%s at %s, %s ahead, so that spend lands under the cap", doing.text, clockOf(*w.Acts), d.Lead))
		} else {
			notes = append(notes, doing.text)
		}
		if d.Reason == guard.DeadlineExpiry && doing.acts && d.Due.After(now) {
			notice := max(l.Grace, slices.Max(append(slices.Clone(rules.Expiry.Warn), 0)))
			if d.Due.Add(-notice).After(now) {
				notes = append(notes, "people are told "+span(notice)+" before")
			} else if soon {
				notes = append(notes, "people are told at once")
			}
		}
		w.Text = strings.Join(notes, "; ")
		out = append(out, w)
	}
	if _, solved := p.Deadline(guard.DeadlineBudget); l.Budget.IsSet() && l.Status.Open() && !solved {
		out = append(out, wire.Limit{Reason: string(guard.DeadlineBudget), Does: mine.does,
			Text: "at the present price it is not reached in a hundred years, or no price is known"})
	}
	return out
}

// guessed is when a judgement stops an instance, where one is about to: from its notice
// on, as long as it stays as it is.
func (s *server) guessed(b *book, id guard.ResourceID) []wire.Limit {
	r, ok := b.releases[id.Key()]
	if !ok || !r.Cause.Stops() {
		return nil
	}
	return []wire.Limit{{Reason: string(r.Cause), Reached: s.local(r.Due), Acts: s.local(r.Due), Does: string(r.Action),
		Text: "guard stops it if it stays as it is: " + r.Why}}
}

// waits is until when what a limit would do is put off, and by what: a hold or a
// veto. A ceiling heeds neither.
func waits(l guard.Lease, mutes []guard.Mute, reason guard.DeadlineReason, now time.Time) (until time.Time, word string) {
	if reason == guard.DeadlineCeiling {
		return time.Time{}, ""
	}
	until, word = l.HeldUntil(now), "hold"
	rule := map[guard.DeadlineReason]guard.Rule{guard.DeadlineExpiry: guard.RuleExpired, guard.DeadlineBudget: guard.RuleBudgetExceeded}[reason]
	for _, m := range mutes {
		if m.Kind == guard.Veto && m.Rule == rule && m.Until.After(until) {
			until, word = m.Until, "veto"
		}
	}
	return until, word
}

// doing is what a limit does, in a word and in a sentence.
type doing struct {
	does string
	text string
	acts bool
}

func (s *server) doing(l guard.Lease, mode guard.Mode, p policy.Protection) doing {
	action := map[guard.Action]string{guard.ActRelease: "releases it", guard.ActStop: "stops it"}[l.OnLimit]
	switch {
	case action == "":
		return doing{does: string(guard.ActAlert), text: "guard tells people and does nothing else (on_limit alert)"}
	case p.On:
		return doing{does: "nothing", text: "guard does not touch it (" + p.Why + "), and tells people"}
	case mode != guard.Enforce:
		return doing{does: "nothing", text: fmt.Sprintf("guard only tells that it would %s it: account %s is in observe mode", l.OnLimit, l.Resource.Account)}
	}
	if a, ok := s.Account(l.Resource.Account); ok && a.Provider.Truths().ByHand {
		return doing{does: string(l.OnLimit), text: "guard asks people to end it, until one of them says that it is gone", acts: true}
	}
	return doing{does: string(l.OnLimit), text: "guard " + action, acts: true}
}

// losses are what acting at a limit erases and what then goes on billing.
func (s *server) losses(b *book, o guard.Observed, acct *providers.Account, action guard.Action) (erases, survives []string) {
	erases, survives = []string{}, []string{}
	r := o.Resource
	if action == guard.ActStop {
		survives = append(survives, "the stopped machine and its disks: nothing is erased")
		if h, ok := r.StoppedRate.Hourly(); ok && r.StopSaves == guard.StopSavesCompute && h.IsPositive() {
			survives = append(survives, "stopped it goes on billing "+readable(h)+" per hour")
		}
	} else {
		erases = append(erases, "the "+string(r.ID.Kind)+" itself and everything on disks of its own")
	}
	for _, c := range r.Children {
		text := s.child(b, c.ID)
		switch {
		case action == guard.ActStop || c.GoesWithInstance == guard.No:
			survives = append(survives, text+goesOn(b, c.ID))
		case c.GoesWithInstance == guard.Yes:
			erases = append(erases, text+" goes with it")
		default:
			erases = append(erases, text+" may go with it: the provider does not say")
		}
	}
	if len(r.Children) == 0 && action == guard.ActRelease {
		if leaves := acct.Provider.Truths().DeleteLeaves; len(leaves) > 0 {
			var kinds []string
			for _, k := range leaves {
				kinds = append(kinds, k.Plural())
			}
			survives = append(survives, "nothing that guard knows of ("+strings.Join(kinds, ", ")+" can be left behind here; guard looks for them afterwards)")
		}
	}
	return erases, survives
}

func (s *server) child(b *book, id guard.ResourceID) string {
	text := string(id.Kind) + " " + id.ID
	if o, ok := b.observed[id.Key()]; ok && o.Resource.SizeGB > 0 {
		text += fmt.Sprintf(" (%d GB)", o.Resource.SizeGB)
	}
	return text
}

func goesOn(b *book, id guard.ResourceID) string {
	if o, ok := b.observed[id.Key()]; ok {
		if h, ok := rateOf(o, b.metered[id.Key()], nil).Hourly(); ok {
			return " stays and goes on billing " + readable(h) + " per hour"
		}
	}
	return " stays and goes on billing, at a price guard does not know"
}

// facts is what policy needs to say whether guard may touch a resource.
func (s *server) facts(b *book, o guard.Observed, l *guard.Lease, acct *providers.Account, at guard.Instant) policy.Facts {
	f := policy.Facts{At: at.Wall, Zone: s.Location(), Deployment: s.Ledger.Deployment(), Account: b.accounts[o.Resource.ID.Account],
		Observed: &o, Lease: l, Configured: acct != nil, Mode: guard.Observe}
	if acct != nil {
		f.Mode, f.May, f.Stop = acct.Mode, policy.May(acct.MayRelease), acct.Provider.Truths().Stop
	}
	return f
}

// span is a length of time without the zeros that time.Duration prints.
func span(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// stamp is a moment in the zone of the people.
func (s *server) stamp(t time.Time) string { return t.In(s.Location()).Format(time.RFC3339) }

// stampOr is stamp, and "" where there is no moment.
func (s *server) stampOr(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return s.stamp(t)
}

func clockOf(t time.Time) string { return t.Format("15:04:05") }
