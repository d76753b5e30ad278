package policy_test

import (
	"testing"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/activity"
)

// TestStaleSamplesEndNothing: what worked in between and is idle again is over, but not
// because its samples stop coming.
func TestStaleSamplesEndNothing(t *testing.T) {
	at := zero.Add(3 * time.Hour)
	f := policy.Facts{Configured: true, Observed: &guard.Observed{FirstSeen: zero, Resource: guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.StateRunning}},
		Activity: &activity.State{At: at, Heard: at, Interval: time.Minute, Source: "agent", Sort: activity.Empty, Worked: zero.Add(time.Hour), Work: "gpu 93 %",
			Idle: activity.Span{Since: zero.Add(time.Hour), End: at, Seen: 2 * time.Hour}}}
	open := guard.Finding{Rule: guard.RuleIdleEmpty, Subject: "lab/i-1", Resource: f.Observed.Resource.ID, Since: zero}
	for _, c := range []struct {
		after time.Duration
		stays bool
	}{{time.Minute, false}, {10 * time.Minute, true}} {
		f.At = at.Add(c.after)
		if end := policy.Ends(policy.DefaultRules(), f, open); end.Stays != c.stays {
			t.Errorf("%s after the newest sample: %+v", c.after, end)
		}
	}
}
