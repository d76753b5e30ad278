package policy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy"
)

// clicks are what is offered, in words: "extend 2h".
func clicks(offers []guard.Offer) string {
	var out []string
	for _, o := range offers {
		word := string(o.Click)
		if o.For > 0 {
			word += " " + strings.TrimSuffix(o.For.String(), "0m0s")
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// TestOffers: what makes sense now is offered, the likeliest first.
func TestOffers(t *testing.T) {
	noticed, blocked := guard.ReleaseNoticed, guard.ReleaseBlocked
	because := func(b guard.BlockReason) func(*guard.Release) { return func(r *guard.Release) { r.Reason = b } }
	far := func(f *policy.Facts) { f.Lease.ExpiresAt = zero.Add(72 * time.Hour) }
	left := func(f *policy.Facts) {
		f.Observed.Resource.ID = guard.ResourceID{Account: "lab", Kind: guard.Volume, ID: "v-1"}
		f.Observed.Resource.GPUs, f.Lease = 0, nil
	}
	for name, c := range map[string]struct {
		facts policy.Facts
		open  []guard.Rule
		rules policy.Rules
		want  string
	}{
		"far from any limit":            {boxed(far), nil, policy.DefaultRules(), "why"},
		"near its end, in 3h":           {boxed(), []guard.Rule{guard.RuleExpired}, policy.DefaultRules(), "extend 2h, extend, release, snooze 4h, why"},
		"noticed, above a ceiling":      {boxed(ceilinged(time.Hour), releasing(noticed, guard.CauseExpiry)), nil, underCeiling(time.Hour), "release, why"},
		"noticed":                       {boxed(releasing(noticed, guard.CauseExpiry)), []guard.Rule{guard.RuleExpired}, policy.DefaultRules(), "extend 2h, extend, hold 2h, release, snooze 4h, why"},
		"near its cap":                  {boxed(far, capped(time.Hour)), []guard.Rule{guard.RuleBudgetWarning}, policy.DefaultRules(), "extend, hold 2h, release, snooze 4h, why"},
		"half of a cap is spent":        {boxed(capped(48*time.Hour), far), []guard.Rule{guard.RuleBudgetWarning}, policy.DefaultRules(), "extend, release, snooze 4h, why"},
		"near its cap, below a ceiling": {boxed(far, capped(time.Hour)), nil, dear, "extend, hold 2h, release, why"},
		"near its cap, which is the ceiling": {boxed(far, capped(time.Hour), func(f *policy.Facts) {
			f.Lease.Budget = guard.MustMoney("50 USD")
			f.Plan.Deadlines[0].Basis = f.Lease.BudgetBasis()
		}), nil, dear, "hold 2h, release, why"},
		"near its cap, in another currency": {boxed(far, capped(time.Hour), func(f *policy.Facts) {
			f.Lease.Budget = guard.MustMoney("20 CNY")
			f.Plan.Deadlines[0].Basis = f.Lease.BudgetBasis()
		}), nil, dear, "hold 2h, release, why"},
		"its cap is passed, it tells":                    {boxed(far, alerting, func(f *policy.Facts) { f.Lease.Budget = guard.MustMoney("20 USD") }), []guard.Rule{guard.RuleBudgetExceeded}, policy.DefaultRules(), "ack, extend, release, snooze 4h, why"},
		"over its cap":                                   {boxed(far, alerting), []guard.Rule{guard.RuleBudgetExceeded}, policy.DefaultRules(), "ack, release, snooze 4h, why"},
		"its time is up, it tells":                       {boxed(alerting, func(f *policy.Facts) { f.Lease.ExpiresAt = zero.Add(-time.Hour) }), []guard.Rule{guard.RuleExpired}, policy.DefaultRules(), "extend 2h, extend, release, snooze 4h, why"},
		"near its ceiling":                               {boxed(ceilinged(time.Hour)), []guard.Rule{guard.RuleCeilingReached}, underCeiling(time.Hour), "release, snooze 4h, why"},
		"its end below a ceiling that is not solved for": {boxed(), nil, underCeiling(4 * time.Hour), "extend, release, why"},
		"its end below a ceiling in money":               {boxed(pricedOut(4 * time.Hour)), nil, dear, "extend, release, why"},
		"its end below a ceiling":                        {boxed(ceilinged(4 * time.Hour)), nil, underCeiling(4 * time.Hour), "extend, release, why"},
		"its end at the ceiling":                         {boxed(ceilinged(3 * time.Hour)), nil, underCeiling(3 * time.Hour), "release, why"},
		"observe mode":                                   {boxed(observing), []guard.Rule{guard.RuleExpired}, policy.DefaultRules(), "extend 2h, extend, snooze 4h, why"},
		"idle":                                           {boxed(far), []guard.Rule{guard.RuleIdleEmpty}, policy.DefaultRules(), "release, snooze 4h, why"},
		"about to be, and observed":                      {boxed(far, observing, releasing(noticed, guard.CauseIdle)), []guard.Rule{guard.RuleIdleEmpty}, policy.DefaultRules(), "snooze 4h, why"},
		"about to be stopped":                            {boxed(far, releasing(noticed, guard.CauseIdle)), []guard.Rule{guard.RuleIdleEmpty}, policy.DefaultRules(), "veto 2h, hold 2h, release, snooze 4h, why"},
		"nobody's":                                       {boxed(unleased), []guard.Rule{guard.RuleUnregistered}, policy.DefaultRules(), "register, release, snooze 4h, why"},
		"nobody's, and not ours":                         {boxed(unleased, func(f *policy.Facts) { f.May.GPU = false }), []guard.Rule{guard.RuleUnregistered}, policy.DefaultRules(), "register, snooze 4h, why"},
		"nobody's, observed":                             {boxed(unleased, observing), []guard.Rule{guard.RuleUnregistered}, policy.DefaultRules(), "register, snooze 4h, why"},
		"adopted":                                        {boxed(func(f *policy.Facts) { f.Lease.Adopted = true }), []guard.Rule{guard.RuleUnregistered}, policy.DefaultRules(), "register, release, snooze 4h, why"},
		"blocked":                                        {boxed(releasing(blocked, guard.CauseExpiry, because(guard.BlockPermission))), []guard.Rule{guard.RuleReleaseBlocked}, policy.DefaultRules(), "ack, extend 2h, extend, hold 2h, why"},
		"too many at once":                               {boxed(releasing(blocked, guard.CauseExpiry, because(guard.BlockSurprise))), []guard.Rule{guard.RuleReleaseBlocked}, policy.DefaultRules(), "ack, extend 2h, extend, hold 2h, release, why"},
		"six at most":                                    {boxed(releasing(noticed, guard.CauseExpiry)), []guard.Rule{guard.RuleExpired, guard.RuleBudgetExceeded}, policy.DefaultRules(), "ack, extend 2h, extend, hold 2h, release, why"},
		"the call is out":                                {boxed(releasing(guard.ReleaseIssued, guard.CauseExpiry)), []guard.Rule{guard.RuleReleaseStalled}, policy.DefaultRules(), "why"},
		"ordered":                                        {boxed(releasing(noticed, guard.CausePerson)), nil, policy.DefaultRules(), "why"},
		"snoozed": {boxed(far, func(f *policy.Facts) {
			f.Mutes = []guard.Mute{{Kind: guard.Snooze, Until: zero.Add(5 * time.Hour)}}
		}), []guard.Rule{guard.RuleUnderused}, policy.DefaultRules(), "release, why"},
		"held for longer":           {boxed(far, releasing(noticed, guard.CauseIdle), func(f *policy.Facts) { f.Lease.Holds = []guard.Hold{{Until: zero.Add(3 * time.Hour)}} }), nil, policy.DefaultRules(), "veto 2h, release, why"},
		"protected":                 {boxed(func(f *policy.Facts) { f.Lease.Protected = true }), nil, policy.DefaultRules(), "extend 2h, extend, why"},
		"a disk left behind":        {boxed(left), []guard.Rule{guard.RuleOrphanVolume}, policy.DefaultRules(), "snooze 4h, why"},
		"a disk about to be erased": {boxed(left, releasing(noticed, guard.CauseOrphan)), []guard.Rule{guard.RuleOrphanVolume}, policy.DefaultRules(), "veto 2h, snooze 4h, why"},
		"gone":                      {boxed(gone), nil, policy.DefaultRules(), "why"},
		"an account":                {policy.Facts{At: zero, Account: guard.AccountStatus{Name: "lab"}}, []guard.Rule{guard.RuleScopeBlind}, policy.DefaultRules(), ""},
	} {
		if got := clicks(policy.Offers(c.rules, c.facts, c.open)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// anyPresent draws the facts of a box in any state, and what is open about it.
func anyPresent(t *rapid.T) (policy.Facts, []guard.Rule) {
	f := anyLease(t)
	f.Mode = rapid.SampledFrom([]guard.Mode{guard.Enforce, guard.Observe}).Draw(t, "mode")
	f.Lease.OnLimit = rapid.SampledFrom([]guard.Action{guard.ActRelease, guard.ActStop, guard.ActAlert}).Draw(t, "on limit")
	f.Lease.Adopted = rapid.Bool().Draw(t, "adopted")
	if f.Release != nil {
		f.Release.Action = guard.ActRelease
		f.Release.Cause = rapid.SampledFrom([]guard.Cause{guard.CauseExpiry, guard.CauseBudget, guard.CauseIdle, guard.CausePerson, guard.CauseCeiling}).Draw(t, "cause")
		f.Release.State = rapid.SampledFrom([]guard.ReleaseState{guard.ReleasePlanned, guard.ReleaseNoticed, guard.ReleaseIntended, guard.ReleaseBlocked}).Draw(t, "state")
		f.Release.Due = zero.Add(time.Duration(rapid.IntRange(-60*24*3, 60*24*30).Draw(t, "due")) * time.Minute)
	}
	if rapid.IntRange(0, 3).Draw(t, "stray") == 0 {
		f.Lease, f.Plan = nil, guard.Plan{}
	}
	if rapid.Bool().Draw(t, "snoozed") {
		f.Mutes = []guard.Mute{{Kind: guard.Snooze, Subject: "lab/i-1", Until: zero.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "snooze")) * time.Minute)}}
	}
	open := rapid.SliceOfNDistinct(rapid.SampledFrom([]guard.Rule{guard.RuleExpired, guard.RuleBudgetExceeded, guard.RuleBudgetWarning, guard.RuleIdleEmpty, guard.RuleUnregistered, guard.RuleReleaseBlocked}), 0, 3, rapid.ID).Draw(t, "open")
	return f, open
}

// clicked are the facts once somebody has done what a click says. An acknowledgement and
// the question why change nothing.
func clicked(f policy.Facts, o guard.Offer) policy.Facts {
	var l guard.Lease
	if f.Lease != nil {
		l = *f.Lease
		l.Holds = slices.Clone(l.Holds)
		f.Lease = &l
	}
	switch o.Click {
	case guard.ClickExtend:
		l.ExpiresAt = l.ExpiresAt.Add(2 * time.Hour)
	case guard.ClickHold:
		l.Holds = append(l.Holds, guard.Hold{Until: f.At.Add(o.For), By: "ana", Since: f.At})
	case guard.ClickRelease:
		f.Release = &guard.Release{ID: "person", State: guard.ReleasePlanned, Cause: guard.CausePerson, Target: f.Resource()}
	case guard.ClickVeto:
		f.Mutes = append(slices.Clone(f.Mutes), guard.Mute{Kind: guard.Veto, Rule: guard.RuleIdleEmpty, Until: f.At.Add(o.For)})
	case guard.ClickSnooze:
		f.Mutes = append(slices.Clone(f.Mutes), guard.Mute{Kind: guard.Snooze, Until: f.At.Add(o.For)})
	case guard.ClickRegister:
		f.Lease = &guard.Lease{ID: "l-1", Resource: f.Resource(), Status: guard.LeaseActive}
	}
	return f
}

var hexKey = regexp.MustCompile(`^[0-9a-f]{16,64}$`)

// TestOfferKeys: an offer counts as long as nothing changes that it would change, and not
// once it was taken; it counts for a while and not for ever; each is another.
func TestOfferKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, open := anyPresent(t)
		offers := policy.Offers(policy.DefaultRules(), f, open)
		if n := len(offers); n == 0 || n > 6 || offers[n-1].Click != guard.ClickWhy {
			t.Fatalf("offers: %s", clicks(offers))
		}
		for i, o := range offers {
			if !hexKey.MatchString(o.Key) || !policy.Good(f, o.Click, o.Key) {
				t.Fatalf("%s has the key %q, which does not count", o.Click, o.Key)
			}
			if !o.Until.After(f.At) || o.Until.Sub(f.At) > 7*24*time.Hour {
				t.Fatalf("%s counts until %s", o.Click, o.Until)
			}
			for _, other := range offers[:i] {
				if other.Click != o.Click && policy.Good(f, other.Click, o.Key) || other.Click == o.Click && other.For == o.For {
					t.Fatalf("%s passes for %s", o.Click, other.Click)
				}
			}
			later := f
			later.At = f.At.Add(time.Second)
			later.Observed = &guard.Observed{Resource: f.Observed.Resource, Seen: later.At}
			later.Account.Polled, later.Plan, later.Spend = later.At, guard.Plan{}, nil
			if len(f.Mutes) == 0 && !policy.Good(later, o.Click, o.Key) {
				t.Fatalf("%s counts no more though nothing has changed", o.Click)
			}
			after := clicked(f, o)
			if reads := o.Click == guard.ClickWhy || o.Click == guard.ClickAck; policy.Good(after, o.Click, o.Key) != reads {
				t.Fatalf("after %s its key counts: %t", o.Click, !reads)
			}
			moved := f
			moved.Observed = &guard.Observed{Resource: f.Observed.Resource}
			moved.Observed.Resource.ID.ID = "i-2"
			if policy.Good(moved, o.Click, o.Key) {
				t.Fatalf("%s counts for another box", o.Click)
			}
		}
		if policy.Good(f, guard.ClickWhy, "") {
			t.Fatal("no key counts")
		}
	})
}

// TestOffersAnew: once it is extended, in time or in money, each offer to extend it counts
// anew, and none of before.
func TestOffersAnew(t *testing.T) {
	near := func(f *policy.Facts) {
		f.Lease.Budget, f.Lease.ExpiresAt = guard.MustMoney("20 USD"), zero.Add(72*time.Hour)
	}
	for name, c := range map[string]struct {
		was, extended func(*policy.Facts)
		open          guard.Rule
		n             int
	}{
		"in time":  {func(*policy.Facts) {}, func(f *policy.Facts) { f.Lease.ExpiresAt = f.Lease.ExpiresAt.Add(2 * time.Hour) }, guard.RuleExpired, 2},
		"in money": {near, func(f *policy.Facts) { f.Lease.Budget = guard.MustMoney("21 USD") }, guard.RuleBudgetWarning, 1},
	} {
		was, is := boxed(c.was), boxed(c.was, c.extended)
		keys := func(f policy.Facts) (out []string) {
			for _, o := range policy.Offers(policy.DefaultRules(), f, []guard.Rule{c.open}) {
				if o.Click == guard.ClickExtend {
					out = append(out, o.Key)
				}
			}
			return out
		}
		before, after := keys(was), keys(is)
		if len(before) != c.n || len(after) != c.n {
			t.Errorf("%s: %d offers, then %d; want %d", name, len(before), len(after), c.n)
		}
		for _, key := range before {
			if slices.Contains(after, key) || policy.Good(is, guard.ClickExtend, key) {
				t.Errorf("%s: an offer of before counts", name)
			}
		}
	}
}

// TestOffersInObserveMode: nothing is offered that changes a cloud, or puts off what is not
// done anyway.
func TestOffersInObserveMode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, open := anyPresent(t)
		f.Mode = guard.Observe
		for _, o := range policy.Offers(policy.DefaultRules(), f, open) {
			switch o.Click {
			case guard.ClickRelease, guard.ClickHold, guard.ClickVeto:
				t.Fatalf("observe mode offers %s", o.Click)
			}
		}
		if c := policy.Card(policy.DefaultRules(), f, open); f.Release == nil && c.Does != "" {
			t.Fatalf("observe mode does %s", c.Does)
		}
	})
}

// TestAStaleRelease: a click that releases counts no more once anything was said since that
// may keep the box.
func TestAStaleRelease(t *testing.T) {
	f := boxed(releasing(guard.ReleaseNoticed, guard.CauseExpiry))
	offers := policy.Offers(policy.DefaultRules(), f, nil)
	o := offers[slices.IndexFunc(offers, func(o guard.Offer) bool { return o.Click == guard.ClickRelease })]
	for name, change := range map[string]func(*policy.Facts){
		"extended":     func(f *policy.Facts) { f.Lease.ExpiresAt = f.Lease.ExpiresAt.Add(time.Hour) },
		"held":         func(f *policy.Facts) { f.Lease.Holds = []guard.Hold{{Until: zero.Add(time.Hour)}} },
		"a higher cap": func(f *policy.Facts) { f.Lease.Budget = guard.MustMoney("100 USD") },
		"vetoed": func(f *policy.Facts) {
			f.Mutes = []guard.Mute{{Kind: guard.Veto, Rule: guard.RuleExpired, Until: zero.Add(time.Hour)}}
		},
		"withdrawn":       func(f *policy.Facts) { f.Release = nil },
		"blocked":         func(f *policy.Facts) { f.Release.State = guard.ReleaseBlocked },
		"another release": func(f *policy.Facts) { f.Release.ID = "r-2" },
		"another lease":   func(f *policy.Facts) { f.Lease.ID = "l-2" },
		"no lease":        func(f *policy.Facts) { f.Lease = nil },
	} {
		if policy.Good(boxed(releasing(guard.ReleaseNoticed, guard.CauseExpiry), change), guard.ClickRelease, o.Key) {
			t.Errorf("%s: it counts", name)
		}
	}
}
