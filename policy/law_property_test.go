package policy_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/policy"
)

// TestLaw7NoMoreThanTheBound: however releases are asked for, through whatever
// hours and accounts, no hour has more unforeseen ones than the bound, and one that
// was let through once stays let through.
func TestLaw7NoMoreThanTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := policy.Limits{UnforeseenPerHour: rapid.IntRange(1, 8).Draw(t, "an hour"), UnforeseenPercent: rapid.IntRange(0, 100).Draw(t, "percent")}
		live := rapid.IntRange(1, 30).Draw(t, "live")
		type let struct {
			account string
			at      time.Time
		}
		var through []let
		var past []policy.Unforeseen
		now := zero
		for range rapid.IntRange(1, 60).Draw(t, "asked") {
			now = now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "minutes")) * time.Minute)
			account := rapid.SampledFrom([]string{"lab", "pods"}).Draw(t, "account")
			id := account + rapid.StringMatching("[a-z]").Draw(t, "release")
			s := policy.Surprise{Live: live, Past: past}
			counted := slices.ContainsFunc(past, func(u policy.Unforeseen) bool { return u.Release == id })
			if !s.Allows(limits, id, account, now) {
				if counted {
					t.Fatalf("law 7 broken: %s was let through and is held back", id)
				}
				continue
			}
			if past = s.Count(id, account, now); !counted {
				through = append(through, let{account, now})
			}
			own, all := 0, 0
			for _, l := range through {
				if l.at.After(now.Add(-time.Hour)) {
					all++
					if l.account == account {
						own++
					}
				}
			}
			if most := max(2, (live*limits.UnforeseenPercent+99)/100); own > most || all > limits.UnforeseenPerHour {
				t.Fatalf("law 7 broken: %d in account %s and %d in all within an hour; %d and %d are allowed", own, account, all, most, limits.UnforeseenPerHour)
			}
		}
	})
}

// anyLease draws the facts of a leased box near one of its limits.
func anyLease(t *rapid.T) policy.Facts {
	minutes := func(label string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute
	}
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	l := guard.Lease{ID: "l-1", Resource: id, Status: guard.LeaseActive, OnLimit: guard.ActRelease, Owner: "ana", RegisteredAt: zero.Add(-time.Hour),
		UpdatedAt: zero.Add(-time.Hour), UpdatedBy: rapid.SampledFrom([]string{"ana", "guard"}).Draw(t, "updated by"), Grace: minutes("grace", 1, 90), ExpiresAt: zero.Add(minutes("expires", -120, 240)), NoGPUOK: rapid.Bool().Draw(t, "no gpu ok")}
	o := guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, GPUs: 1, HasGPU: guard.Yes, Created: zero.Add(-3 * time.Hour)},
		Identity: "acct-1", FirstSeen: zero.Add(-2 * time.Hour), Seen: zero}
	f := policy.Facts{At: zero, Deployment: "own", Configured: true, Mode: guard.Enforce, May: policy.May{GPU: true}, Observed: &o, Lease: &l,
		Account: guard.AccountStatus{Name: "lab", Identity: guard.Identity{ID: "acct-1"}}}
	if rapid.Bool().Draw(t, "held") {
		l.Holds = []guard.Hold{{Until: zero.Add(minutes("held", -60, 300)), Since: zero.Add(-time.Hour)}}
	}
	if rapid.Bool().Draw(t, "capped") {
		l.Budget = guard.MustMoney("10 USD")
		at := zero.Add(minutes("crossing", -120, 240))
		f.Plan = guard.Plan{Lease: l.ID, SolvedAt: zero, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: at, Due: at, Basis: l.BudgetBasis(), Stood: zero.Add(-time.Hour)}}}
	}
	if rapid.IntRange(0, 2).Draw(t, "noticed") == 0 {
		f.Release = &guard.Release{ID: "r", State: guard.ReleaseNoticed, NoticedAt: zero.Add(-minutes("noticed", 0, 120))}
	}
	if rapid.IntRange(0, 2).Draw(t, "fresh") == 0 {
		f.Account.FreshFrom = zero.Add(-minutes("fresh from", 0, 90))
	}
	return f
}

// acts are all that an evaluation wants done.
func acts(f policy.Facts) []policy.Act {
	var out []policy.Act
	for _, v := range policy.Evaluate(policy.DefaultRules(), f).Verdicts {
		if v.Act != nil {
			out = append(out, *v.Act)
		}
	}
	return out
}

// limitOf is the moment that a person set for an act's cause.
func limitOf(f policy.Facts, a policy.Act) time.Time {
	if a.Cause == guard.CauseExpiry {
		return f.Lease.ExpiresAt
	}
	d, _ := f.Plan.Deadline(guard.DeadlineBudget)
	return d.Due
}

// TestLaw9NoticeComesFirst: what acts is never due before its limit, its notice
// stands at least a grace before it is due, and an expiry that nobody was told of
// in time waits for its grace. After a long absence everything overdue has ten
// minutes more (law 8).
func TestLaw9NoticeComesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		for _, a := range acts(f) {
			limit, grace := limitOf(f, a), f.Lease.Grace
			if a.Due.Before(limit) || a.Due.Sub(a.Notice) < grace {
				t.Fatalf("law 9 broken: due %s, notice %s, for a limit at %s with a grace of %s", a.Due, a.Notice, limit, grace)
			}
			told := f.Release != nil && a.Due.Sub(f.Release.NoticedAt) > 0
			if a.Cause == guard.CauseExpiry && !told && a.Due.Before(f.At) {
				t.Fatalf("law 9 broken: an expiry that nobody was told of is due at %s", a.Due)
			}
			fresh := f.Account.FreshFrom
			if !fresh.IsZero() && limit.Before(fresh) && (f.Lease.UpdatedBy == "guard" || f.Lease.UpdatedAt.Before(fresh)) && a.Due.Before(fresh.Add(max(grace, 10*time.Minute))) {
				t.Fatalf("law 8 broken: overdue since %s, back since %s, due at %s", limit, fresh, a.Due)
			}
		}
	})
}

// TestLaw10HoldsHaveAnEnd: nothing is due inside a hold, nothing waits for one that
// is over, and what an admin protects is not acted on: told for an expiry, blocked
// for a cap.
func TestLaw10HoldsHaveAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		held := f.Lease.HeldUntil(f.At)
		for _, a := range acts(f) {
			if a.Due.Before(held) {
				t.Fatalf("law 10 broken: due at %s inside a hold until %s", a.Due, held)
			}
			latest := limitOf(f, a)
			for _, at := range []time.Time{held, f.At.Add(f.Lease.Grace), f.Account.FreshFrom.Add(max(f.Lease.Grace, 10*time.Minute))} {
				if at.After(latest) {
					latest = at
				}
			}
			if a.Due.After(latest) {
				t.Fatalf("law 10 broken: due at %s, and nothing puts it off beyond %s", a.Due, latest)
			}
		}
		f.Lease.Protected = true
		for _, a := range acts(f) {
			if a.Cause != guard.CauseBudget || a.Block != guard.BlockProtected {
				t.Fatalf("law 10 broken: what is protected is acted on: %+v", a)
			}
		}
	})
}

// TestLaw11WatchingOnlyWatches: in observe mode, and on what is not guard's to
// touch, nothing is ever to be done, whatever the limits.
func TestLaw11WatchingOnlyWatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		r := &f.Observed.Resource
		why := rapid.SampledFrom([]string{"observe mode", "another guard's", "guard runs on it", "no GPU", "tags not told", "may_release"}).Draw(t, "why")
		switch why {
		case "observe mode":
			f.Mode = guard.Observe
		case "another guard's":
			r.Tags = map[string]string{guard.TagDeployment: "other"}
		case "guard runs on it":
			f.Account.Identity.Self = r.ID.ID
		case "no GPU":
			r.GPUs, r.HasGPU, f.Lease.NoGPUOK = 0, rapid.SampledFrom([]guard.Tri{guard.No, guard.Unknown}).Draw(t, "has gpu"), false
		case "tags not told":
			r.TagsUntold = true
		case "may_release":
			f.May = policy.May{GPU: true, Tags: map[string]string{"team": "nlp"}}
		}
		if all := acts(f); len(all) > 0 {
			t.Fatalf("law 11 broken: %s, and it is acted on: %+v", why, all)
		}
	})
}

// TestLaw10NothingTakesALeasePastACeiling: whatever people say about a lease, hour
// after hour, it is released at the ceiling of its life or of its money, whichever
// comes first, and nothing but protection holds that up.
func TestLaw10NothingTakesALeasePastACeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		rules := policy.DefaultRules()
		rules.Ceilings.TTL = time.Duration(rapid.IntRange(1, 12).Draw(t, "life")) * time.Hour
		if rapid.Bool().Draw(t, "in money") {
			rules.Ceilings.Budget = []guard.Money{guard.MustMoney("100 USD")}
		}
		price := rapid.SampledFrom([]string{"5USD/h", "20USD/h", "90USD/h"}).Draw(t, "price")
		rate, err := guard.ParseRate(price)
		if err != nil {
			t.Fatal(err)
		}
		f.Account.FreshFrom, f.Release = time.Time{}, nil
		segs := []guard.Segment{{Resource: f.Observed.Resource.ID, Lease: f.Lease.ID, State: guard.StateRunning, Rate: rate, From: f.Lease.RegisteredAt}}
		lead := time.Minute
		hard, ok := rules.Ceiling(*f.Lease, segs, lead, f.At)
		if !ok || hard.Due.After(f.Lease.RegisteredAt.Add(rules.Ceilings.TTL)) {
			t.Fatalf("a ceiling of %s, and its deadline is %v", rules.Ceilings.TTL, hard.Due)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			until := f.At.Add(time.Duration(rapid.IntRange(1, 48).Draw(t, "hours")) * time.Hour)
			switch rapid.SampledFrom([]string{"extend", "hold", "veto", "snooze", "reassign", "on limit", "beat", "register again"}).Draw(t, "word") {
			case "extend":
				f.Lease.ExpiresAt, f.Lease.Budget = until, guard.MustMoney("1000000 USD")
			case "hold":
				f.Lease.Holds = append(f.Lease.Holds, guard.Hold{Until: until, Since: f.At})
			case "veto":
				rule := rapid.SampledFrom(append(policy.Vetoable(), guard.RuleCeilingReached)).Draw(t, "rule")
				f.Mutes = append(f.Mutes, guard.Mute{Subject: f.Subject(), Kind: guard.Veto, Rule: rule, Until: until, Since: f.At})
			case "snooze":
				f.Mutes = append(f.Mutes, guard.Mute{Subject: f.Subject(), Kind: guard.Snooze, Until: until, Since: f.At})
			case "reassign":
				f.Lease.Owner, f.Lease.UpdatedBy = "bo", "bo"
			case "on limit":
				f.Lease.OnLimit = rapid.SampledFrom([]guard.Action{guard.ActAlert, guard.ActStop, guard.ActRelease}).Draw(t, "action")
			case "register again":
				again := *f.Lease
				again.ID, again.RegisteredAt, again.FirstRegistered, again.ResourceCreated = "l-2", f.At, time.Time{}, f.Observed.Resource.Created
				f.Lease.ResourceCreated = again.ResourceCreated
				again = policy.Follow(again, *f.Lease)
				f.Lease = &again
			case "beat":
			}
			f.Lease.UpdatedAt = f.At
			f.At = f.At.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "minutes")) * time.Minute)
			d, _ := rules.Ceiling(*f.Lease, segs, lead, f.At)
			if !d.Due.Equal(hard.Due) {
				t.Fatalf("law 10 broken: its ceiling was due at %s and is now due at %s", hard.Due, d.Due)
			}
			d.Stood = f.Lease.RegisteredAt
			f.Plan = guard.Plan{Lease: f.Lease.ID, SolvedAt: f.At, Deadlines: []guard.Deadline{d}}
			act := policy.Evaluate(rules, f).Act()
			if f.At.Before(hard.Due) {
				continue
			}
			if act == nil || act.Due.After(hard.Due) || act.Block != "" || act.Cause == guard.CauseCeiling && act.Action != guard.ActRelease {
				t.Fatalf("law 10 broken: at %s, past the ceiling of %s, guard wants %+v", f.At, hard.Due, act)
			}
		}
	})
}

// TestLaw10AVetoHasAnEnd: while one is in force its rule does nothing that is due
// before its end, what is due then was told a grace ahead, and afterwards the rule acts
// as if there had been none.
func TestLaw10AVetoHasAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		until := f.At.Add(time.Duration(rapid.IntRange(-60, 240).Draw(t, "until")) * time.Minute)
		plain := acts(f)
		f.Mutes = []guard.Mute{{Subject: f.Subject(), Kind: guard.Veto, Rule: guard.RuleExpired, Until: until, By: "ana", Since: f.At.Add(-2 * time.Hour)}}
		vetoed := acts(f)
		if !until.After(f.At) {
			if !slices.Equal(plain, vetoed) {
				t.Fatalf("law 10 broken: a veto that is over changes %+v to %+v", plain, vetoed)
			}
			return
		}
		for _, a := range vetoed {
			if a.Cause == guard.CauseExpiry && (a.Due.Before(until) || f.At.Before(until.Add(-f.Lease.Grace))) {
				t.Fatalf("law 10 broken: vetoed until %s, and at %s guard wants %+v", until, f.At, a)
			}
			if a.Cause == guard.CauseBudget && !slices.Contains(plain, a) {
				t.Fatalf("law 10 broken: a veto against another rule changes %+v", a)
			}
		}
	})
}

// TestLaw11AdoptsOnlyWhatItMayTouch: guard registers by itself nothing that it could
// never act on, nor what is protected, nor data.
func TestLaw11AdoptsOnlyWhatItMayTouch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyLease(t)
		f.Lease, f.Release, f.Plan = nil, nil, guard.Plan{}
		f.Spend = func() policy.Spend { return policy.Spend{Totals: []guard.Money{guard.MustMoney("1 USD")}} }
		r := &f.Observed.Resource
		why := rapid.SampledFrom([]string{"", "another guard's", "guard runs on it", "no GPU", "tags not told", "may_release", "protected", "a disk", "going"}).Draw(t, "why")
		switch why {
		case "another guard's":
			r.Tags = map[string]string{guard.TagDeployment: "other"}
		case "guard runs on it":
			f.Account.Identity.Self = r.ID.ID
		case "no GPU":
			r.GPUs, r.HasGPU = 0, rapid.SampledFrom([]guard.Tri{guard.No, guard.Unknown}).Draw(t, "has gpu")
		case "tags not told":
			r.TagsUntold = true
		case "may_release":
			f.May = policy.May{GPU: true, Tags: map[string]string{"team": "nlp"}}
		case "protected":
			r.Tags = map[string]string{rapid.SampledFrom([]string{"guard:keep", "Keep"}).Draw(t, "tag"): "true"}
		case "a disk":
			r.ID.Kind = guard.Volume
		case "going":
			r.State = guard.StateReleasing
		}
		rules := policy.DefaultRules()
		rules.Unregistered.Adopt = &policy.Adopt{TTL: time.Hour, OnLimit: rapid.SampledFrom([]guard.Action{guard.ActAlert, guard.ActRelease}).Draw(t, "on limit")}
		b := policy.Evaluate(rules, f).Booking
		if (b == nil) != (why != "") {
			t.Fatalf("law 11 broken: %q, and guard registers %+v", why, b)
		}
	})
}
