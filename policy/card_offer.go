package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy/release"
)

// How long what is offered lasts, and how long an offer counts: until a day after what is
// coming, and never for more than a week.
const (
	offeredFor = 2 * time.Hour
	snoozeFor  = 4 * time.Hour
	offerPast  = 24 * time.Hour
	offerMost  = 7 * 24 * time.Hour
	// near is how far ahead a limit may be for which clicks are offered.
	near = 24 * time.Hour
	// mostOffers is how many buttons people read.
	mostOffers = 6
)

// Offers are the clicks that make sense about a resource at f.At, the likeliest first; none
// where the facts are about no resource. What a ceiling, observe mode or a protection would
// keep from happening is not among them. Open are the rules of its open findings.
func Offers(r Rules, f Facts, open []guard.Rule) []guard.Offer {
	if f.Resource().IsZero() {
		return nil
	}
	o := offering{r: r, f: f, open: open}
	o.at, o.does, o.by = f.coming(r)
	if f.live() {
		o.alive()
	}
	if len(o.out) >= mostOffers {
		o.out = o.out[:mostOffers-1]
	}
	o.add(guard.ClickWhy, 0)
	return o.out
}

// OffersAt are those of a subject's offers that its message of a stage makes. What is over
// wants nothing of anybody: it can only be asked about.
func OffersAt(stage string, offers []guard.Offer) []guard.Offer {
	if stage != StageOver {
		return offers
	}
	return slices.DeleteFunc(slices.Clone(offers), func(o guard.Offer) bool { return o.Click != guard.ClickWhy })
}

// Good reports whether an offer of a click still counts, as far as its state goes: nothing
// that the click would change has changed since the key was made. It goes by f.At, and by
// the resource, the lease, the release and the mutes alone.
func Good(f Facts, click guard.Click, key string) bool { return key == offerKey(f, click) }

// offering collects offers about one resource.
type offering struct {
	r    Rules
	f    Facts
	open []guard.Rule
	at   time.Time // when guard acts next, what it does, and by what
	does guard.Action
	by   guard.Cause
	out  []guard.Offer
}

func (o *offering) add(click guard.Click, d time.Duration) {
	from := o.f.At
	if o.at.After(from) {
		from = o.at
	}
	until := earliest(from.Add(offerPast), o.f.At.Add(offerMost))
	o.out = append(o.out, guard.Offer{Click: click, For: d, Key: offerKey(o.f, click), Until: until})
}

func (o *offering) is(rules ...guard.Rule) bool {
	return slices.ContainsFunc(o.open, func(r guard.Rule) bool { return slices.Contains(rules, r) })
}

// alive offers what can be done about what is not gone.
func (o *offering) alive() {
	f, x := o.f, o.f.Release
	if o.is(guard.RuleReleaseBlocked, guard.RuleBudgetExceeded) {
		o.add(guard.ClickAck, 0)
	}
	_, stray := f.stray()
	coming := o.coming()
	switch {
	case stray:
		o.add(guard.ClickRegister, 0)
	case coming && x != nil && o.by.Judgement() && f.Mode == guard.Enforce:
		o.add(guard.ClickVeto, offeredFor)
	case coming && f.leased():
		o.extend()
	}
	if coming && !stray && o.holds() {
		o.add(guard.ClickHold, offeredFor)
	}
	if (stray || coming || o.is(needless...)) && o.releases() {
		o.add(guard.ClickRelease, 0)
	}
	if o.snoozes() {
		o.add(guard.ClickSnooze, snoozeFor)
	}
}

// needless are the findings about what it may be that nobody needs.
var needless = append([]guard.Rule{guard.RuleStoppedBilling, guard.RulePhantom}, judgements...)

// coming reports that people may want to change what guard does next: it is near, or they
// were told of it, and nothing of it is done yet.
func (o *offering) coming() bool {
	if x := o.f.Release; x != nil && x.State.Open() {
		return release.Withdrawable(*x)
	}
	switch {
	case !o.at.IsZero() && o.at.Sub(o.f.At) <= near:
	case o.is(guard.RuleExpired):
		o.by = guard.CauseExpiry
	case o.is(guard.RuleBudgetExceeded, guard.RuleBudgetWarning):
		o.by = guard.CauseBudget
	default:
		return false
	}
	return true
}

// extend offers a later end, or a higher cap, where that puts off what is coming.
func (o *offering) extend() {
	end := o.f.Lease.ExpiresAt
	switch {
	case o.by == guard.CauseBudget && o.raisable():
		o.add(guard.ClickExtend, 0)
	case o.by == guard.CauseExpiry && !end.IsZero():
		if o.below(latest(end, o.f.At).Add(offeredFor)) {
			o.add(guard.ClickExtend, offeredFor)
		}
		if o.below(latest(end, o.f.At).Add(time.Minute)) {
			o.add(guard.ClickExtend, 0)
		}
	}
}

// raisable reports whether what is leased may have a higher cap, by its ceilings.
func (o *offering) raisable() bool {
	budget := o.f.Lease.Budget
	if !budget.IsSet() {
		return false
	}
	most, ok, configured := o.r.MoneyCeiling(budget.Currency())
	if !ok {
		return !configured
	}
	n, err := budget.Cmp(most)
	return err == nil && n < 0
}

// below reports whether what is leased may last until a time, by its ceilings.
func (o *offering) below(t time.Time) bool {
	if end, ok := o.r.CeilingOf(*o.f.Lease); ok && t.After(end) {
		return false
	}
	d, ok := o.f.ceilingDeadline(o.r)
	return !ok || !t.After(d.Due)
}

// holds reports whether a hold would put off what is coming, and for as long as it says.
func (o *offering) holds() bool {
	f, until := o.f, o.f.At.Add(offeredFor)
	acts := f.Mode == guard.Enforce && (o.does == guard.ActRelease || o.does == guard.ActStop)
	return f.leased() && acts && o.at.Before(until) && o.by != guard.CauseCeiling && o.by != guard.CausePerson && f.Lease.HeldUntil(f.At).Before(until) && o.below(until)
}

// releases reports whether guard would release it at a person's word: what is blocked is
// no less so by another word, but for the bound on what nobody could foresee.
func (o *offering) releases() bool {
	f := o.f
	if x := f.Release; x != nil && (x.Cause == guard.CausePerson || !release.Withdrawable(*x) || x.State == guard.ReleaseBlocked && x.Reason != guard.BlockSurprise) {
		return false
	}
	return f.Resource().Kind == guard.Instance && f.Observed.Resource.State != guard.StateReleasing && f.Mode == guard.Enforce && f.Configured &&
		f.Untouchable() == "" && !f.Protection(o.r).On
}

// snoozes reports whether there is something that is told of again, and that a snooze
// would keep from it.
func (o *offering) snoozes() bool {
	some := slices.ContainsFunc(o.open, func(r guard.Rule) bool { return r != guard.RuleReleaseBlocked && r != guard.RuleReleaseStalled })
	return some && !slices.ContainsFunc(o.f.Mutes, func(m guard.Mute) bool { return m.Kind == guard.Snooze && m.At(o.f.At.Add(snoozeFor)) })
}

// offerKey tells the states apart that a click would change: 32 characters of [0-9a-f].
// A release goes by everything that may have made it unwanted since.
func offerKey(f Facts, click guard.Click) string {
	h := sha256.New()
	say := func(what ...any) {
		text := fmt.Sprint(what...)
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return fmt.Sprint(t.UnixNano())
	}
	say(f.Resource().Key())
	say(click)
	var l guard.Lease
	if f.Lease != nil && f.Lease.Status.Open() {
		l = *f.Lease
		say(l.ID)
	}
	end := func() { say(instant(l.ExpiresAt)); say(l.Budget.String()) }
	holds := func() {
		for _, x := range l.Holds {
			say(instant(x.Since), " ", instant(x.Until))
		}
	}
	coming := func() {
		if x := f.Release; x != nil {
			say(x.ID)
			say(x.State, " ", x.Reason)
		}
	}
	mutes := func(kind guard.MuteKind) {
		var in []string
		for _, m := range f.Mutes {
			if m.Kind == kind && m.At(f.At) {
				in = append(in, string(m.Rule)+" "+instant(m.Until))
			}
		}
		slices.Sort(in)
		say(in)
	}
	switch click {
	case guard.ClickExtend:
		end()
	case guard.ClickHold:
		holds()
	case guard.ClickRelease:
		end()
		holds()
		coming()
		mutes(guard.Veto)
	case guard.ClickVeto:
		coming()
		mutes(guard.Veto)
	case guard.ClickSnooze:
		mutes(guard.Snooze)
	case guard.ClickRegister:
		say(l.Adopted)
	case guard.ClickAck:
		say(l.Budget.String())
		coming()
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
