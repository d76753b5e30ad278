package policy_test

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// TestWhatComesAndGoesDoesNotFlap: an account, or a scope of one, that fails again and
// again is told twice, and from the third time on as one finding.
func TestWhatComesAndGoesDoesNotFlap(t *testing.T) {
	type span struct{ from, until int } // minutes
	every := func(period int) (out []span) {
		for m := period; m < 20*60; m += period {
			out = append(out, span{m, m + 12})
		}
		return out
	}
	for _, c := range []struct {
		name                  string
		outages               []span
		opened, closed, lasts int // findings, and times that an outage is told by itself
	}{
		{"once", []span{{60, 72}}, 1, 1, 1},
		{"twice", []span{{60, 72}, {100, 400}}, 2, 2, 2},
		{"too short to be told", []span{{60, 63}, {100, 104}, {140, 144}, {180, 184}}, 0, 0, 0},
		{"every 40 minutes", every(40), 3, 3, 2},
		{"by pauses that differ", []span{{60, 70}, {80, 90}, {140, 150}, {160, 170}, {220, 230}, {240, 250}, {300, 310}, {320, 330}}, 3, 3, 2},
		{"with pauses nearly long enough", []span{{60, 72}, {100, 112}, {140, 152}, {193, 205}, {206, 208}, {240, 252}}, 3, 3, 2},
		{"and then for long", []span{{60, 72}, {100, 112}, {140, 152}, {180, 500}}, 3, 3, 3},
		{"nine hours apart", []span{{60, 72}, {612, 624}, {1164, 1176}}, 3, 3, 3},
	} {
		for _, rule := range []guard.Rule{guard.RuleAccountUnreachable, guard.RuleScopeBlind} {
			var open *guard.Finding
			var opened, closed, lasts int
			var past []guard.Outage
			var failing time.Time
			for m := range 24 * 60 {
				at := zero.Add(time.Duration(m) * time.Minute)
				switch out := slices.ContainsFunc(c.outages, func(s span) bool { return s.from <= m && m < s.until }); {
				case out && failing.IsZero():
					failing = at
				case !out:
					past, failing = policy.Recovered(past, failing, at), time.Time{}
				}
				f := policy.Facts{At: at, Configured: true, Account: guard.AccountStatus{Name: "lab"}}
				if rule == guard.RuleScopeBlind {
					f.Scopes = []guard.ScopeStatus{{Account: "lab", Scope: "zone-b", Outages: past, Failing: failing}}
				} else {
					f.Account.Outages, f.Account.Failing = past, failing
				}
				var said []string
				for _, v := range policy.Evaluate(policy.DefaultRules(), f).Verdicts {
					for _, s := range v.Stages {
						said = append(said, s.Name)
					}
				}
				switch {
				case len(said) > 0:
					if open == nil {
						opened++
						open = &guard.Finding{Rule: rule, Subject: "lab"}
					}
					if last := said[len(said)-1]; (last == "unreachable" || last == "blind") && !slices.Contains(open.Said, last) {
						lasts++
					}
					open.Said = said
				case open != nil && !policy.Ends(policy.DefaultRules(), f, *open).Stays:
					closed++
					open = nil
				}
			}
			if opened != c.opened || closed != c.closed || lasts != c.lasts {
				t.Errorf("%s, %s: opened %d times, closed %d, lasting %d; want %d, %d, %d", c.name, rule, opened, closed, lasts, c.opened, c.closed, c.lasts)
			}
		}
	}
}

// TestABlindScopeOutlastsItsAccount: an account that fails for a moment does not tell that
// its scopes are seen again.
func TestABlindScopeOutlastsItsAccount(t *testing.T) {
	f := policy.Facts{At: zero.Add(time.Hour), Configured: true, Account: guard.AccountStatus{Name: "lab", Failing: zero.Add(time.Hour)},
		Scopes: []guard.ScopeStatus{{Account: "lab", Scope: "zone-b", Failing: zero}}}
	open := guard.Finding{Rule: guard.RuleScopeBlind, Subject: "lab", Since: zero, Said: []string{"blind"}}
	if end := policy.Ends(policy.DefaultRules(), f, open); !end.Stays {
		t.Errorf("the account fails: %+v", end)
	}
	f.Account.Failing, f.Scopes[0].Failing = time.Time{}, time.Time{}
	if end := policy.Ends(policy.DefaultRules(), f, open); end.Stays {
		t.Errorf("all is seen: %+v", end)
	}
}
