package policy_test

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// TestWorkersAreNoPrice: an endpoint that has more workers, or fewer, has no other price;
// what one worker costs is one, and is told for all that comes and goes since.
func TestWorkersAreNoPrice(t *testing.T) {
	at := func(h int) time.Time { return zero.Add(time.Duration(h) * time.Hour) }
	of := func(n, each string, from, to int) guard.Segment {
		s := guard.Segment{State: guard.StateRunning, From: at(from),
			Rate: guard.Rate{Amount: guard.MustMoney(each + " USD"), Per: time.Hour, Units: n, Unit: guard.UnitWorker}}
		if to > 0 {
			s.To = at(to)
		}
		return s
	}
	for name, c := range map[string]struct {
		segments []guard.Segment
		since    time.Time
	}{
		"more of them":                {[]guard.Segment{of("1", "2", 0, 3), of("40", "2", 3, 0)}, time.Time{}},
		"another price":               {[]guard.Segment{of("1", "2", 0, 3), of("1", "3", 3, 0)}, at(3)},
		"another price, and more":     {[]guard.Segment{of("1", "2", 0, 3), of("40", "3", 3, 0)}, at(3)},
		"another price, then more":    {[]guard.Segment{of("1", "2", 0, 3), of("1", "3", 3, 5), of("9", "3", 5, 0)}, at(3)},
		"more, then another price":    {[]guard.Segment{of("1", "2", 0, 3), of("9", "2", 3, 5), of("9", "3", 5, 0)}, at(5)},
		"as many at the same again":   {[]guard.Segment{of("1", "2", 0, 3), of("9", "2", 3, 5), of("1", "2", 5, 0)}, time.Time{}},
		"the half of them, at double": {[]guard.Segment{of("2", "2", 0, 3), of("1", "4", 3, 0)}, at(3)},
	} {
		id := guard.ResourceID{Account: "pods", Kind: guard.Instance, ID: "serverless/e1"}
		f := policy.Facts{At: at(8), Configured: true, Account: guard.AccountStatus{Name: "pods"},
			Observed: &guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, Bills: guard.Yes}, FirstSeen: zero, Seen: at(8)},
			Lease:    &guard.Lease{ID: "l-1", Resource: id, Status: guard.LeaseActive, RegisteredAt: zero},
			Metered:  guard.Metered{Resource: id, Segments: c.segments}}
		verdicts := policy.Evaluate(policy.DefaultRules(), f).Verdicts
		i := slices.IndexFunc(verdicts, func(v policy.Verdict) bool { return v.Rule == guard.RulePriceChanged })
		switch {
		case c.since.IsZero() != (i < 0):
			t.Errorf("%s: %+v", name, verdicts)
		case i >= 0 && !verdicts[i].Since.Equal(c.since):
			t.Errorf("%s: since %v", name, verdicts[i].Since)
		}
	}
}
