package policy_test

import (
	"testing"
	"time"

	"guard"
	"guard/policy"
)

// TestTimer: the provider's timer is later than whatever guard itself does for a limit,
// and is there only where guard would release.
func TestTimer(t *testing.T) {
	const slack = policy.TimerSlack
	at := func(d time.Duration) time.Time { return zero.Add(d) }
	lease := guard.Lease{ID: "L", Status: guard.LeaseActive, OnLimit: guard.ActRelease, Grace: 20 * time.Minute, RegisteredAt: zero, ExpiresAt: at(2 * time.Hour)}
	for name, c := range map[string]struct {
		change func(*policy.Facts, *policy.Rules)
		want   time.Duration // 0: none
	}{
		"its expiry":            {func(*policy.Facts, *policy.Rules) {}, 2*time.Hour + 20*time.Minute + slack},
		"the default's grace":   {func(f *policy.Facts, r *policy.Rules) { f.Lease.Grace, r.Defaults.Grace = 0, time.Hour }, 3*time.Hour + slack},
		"stopped":               {func(f *policy.Facts, _ *policy.Rules) { f.Lease.Status = guard.LeaseStopped }, 2*time.Hour + 20*time.Minute + slack},
		"a ceiling comes first": {func(_ *policy.Facts, r *policy.Rules) { r.Ceilings.TTL = time.Hour }, time.Hour + slack},
		"a ceiling alone":       {func(f *policy.Facts, r *policy.Rules) { f.Lease.ExpiresAt, r.Ceilings.TTL = time.Time{}, time.Hour }, time.Hour + slack},
		"a later ceiling":       {func(_ *policy.Facts, r *policy.Rules) { r.Ceilings.TTL = 5 * time.Hour }, 2*time.Hour + 20*time.Minute + slack},
		"a hold": {func(f *policy.Facts, _ *policy.Rules) {
			f.Lease.Holds = []guard.Hold{{Until: at(3 * time.Hour)}, {Until: at(time.Hour)}}
		}, 3*time.Hour + 20*time.Minute + slack},
		"a hold that is over": {func(f *policy.Facts, _ *policy.Rules) {
			f.At, f.Lease.Holds = at(4*time.Hour), []guard.Hold{{Until: at(3 * time.Hour)}}
		}, 3*time.Hour + 20*time.Minute + slack},
		"a hold at a ceiling": {func(f *policy.Facts, r *policy.Rules) {
			f.Lease.Holds, r.Ceilings.TTL = []guard.Hold{{Until: at(9 * time.Hour)}}, 4*time.Hour
		}, 4*time.Hour + slack},
		"a veto": {func(f *policy.Facts, _ *policy.Rules) {
			f.Mutes = []guard.Mute{{Kind: guard.Veto, Rule: guard.RuleExpired, Until: at(4 * time.Hour)}}
		}, 4*time.Hour + 20*time.Minute + slack},
		"another rule's veto": {func(f *policy.Facts, _ *policy.Rules) {
			f.Mutes = []guard.Mute{{Kind: guard.Veto, Rule: guard.RuleHung, Until: at(4 * time.Hour)}, {Kind: guard.Snooze, Until: at(4 * time.Hour)}}
		}, 2*time.Hour + 20*time.Minute + slack},
		"fresh notice": {func(f *policy.Facts, _ *policy.Rules) { f.Account.FreshFrom = at(2 * time.Hour) }, 2*time.Hour + 40*time.Minute + slack},
		"planned for later": {func(f *policy.Facts, _ *policy.Rules) {
			f.Release = &guard.Release{State: guard.ReleaseNoticed, Cause: guard.CauseExpiry, Due: at(6 * time.Hour)}
		}, 6*time.Hour + 20*time.Minute + slack},
		"planned for something else": {func(f *policy.Facts, _ *policy.Rules) {
			f.Release = &guard.Release{State: guard.ReleaseNoticed, Cause: guard.CauseBudget, Due: at(6 * time.Hour)}
		}, 2*time.Hour + 20*time.Minute + slack},
		"blocked, not permitted": {func(f *policy.Facts, _ *policy.Rules) {
			f.Release = &guard.Release{State: guard.ReleaseBlocked, Reason: guard.BlockPermission, Cause: guard.CauseExpiry, Due: at(2 * time.Hour)}
		}, 2*time.Hour + 20*time.Minute + slack},
		"waits for a person": {func(f *policy.Facts, _ *policy.Rules) {
			f.Release = &guard.Release{State: guard.ReleaseBlocked, Reason: guard.BlockSurprise, Cause: guard.CauseExpiry}
		}, 0},
		"not the same": {func(f *policy.Facts, _ *policy.Rules) {
			f.Release = &guard.Release{State: guard.ReleaseBlocked, Reason: guard.BlockNotSame, Cause: guard.CauseExpiry}
		}, 0},
		"the provider protects it": {func(f *policy.Facts, _ *policy.Rules) { f.Observed.Resource.ReleaseProtected = guard.Yes }, 0},
		"protected":                {func(f *policy.Facts, _ *policy.Rules) { f.Lease.Protected = true }, 0},
		"protected by a tag": {func(f *policy.Facts, r *policy.Rules) {
			r.Protect.Tags, f.Observed.Resource.Tags = map[string]string{"keep": "yes"}, map[string]string{"keep": "yes"}
		}, 0},
		"only observed": {func(f *policy.Facts, _ *policy.Rules) { f.Mode = guard.Observe }, 0},
		"it only tells": {func(f *policy.Facts, _ *policy.Rules) { f.Lease.OnLimit = guard.ActAlert }, 0},
		"it stops":      {func(f *policy.Facts, _ *policy.Rules) { f.Lease.OnLimit = guard.ActStop }, 0},
		"the rule is off": {func(_ *policy.Facts, r *policy.Rules) {
			r.Per = map[guard.Rule]policy.Per{guard.RuleExpired: {Off: true}}
		}, 0},
		"the rule is off, and a ceiling": {func(_ *policy.Facts, r *policy.Rules) {
			r.Per, r.Ceilings.TTL = map[guard.Rule]policy.Per{guard.RuleExpired: {Off: true}}, 5*time.Hour
		}, 5*time.Hour + slack},
		"the rule is for others": {func(_ *policy.Facts, r *policy.Rules) {
			r.Per = map[guard.Rule]policy.Per{guard.RuleExpired: {Match: policy.Match{Account: []string{"elsewhere"}}}}
		}, 0},
		"no expiry":   {func(f *policy.Facts, _ *policy.Rules) { f.Lease.ExpiresAt = time.Time{} }, 0},
		"expected":    {func(f *policy.Facts, _ *policy.Rules) { f.Lease.Status = guard.LeaseExpected }, 0},
		"ended":       {func(f *policy.Facts, _ *policy.Rules) { f.Lease.Status = guard.LeaseGone }, 0},
		"nobody's":    {func(f *policy.Facts, _ *policy.Rules) { f.Lease = nil }, 0},
		"no GPU":      {func(f *policy.Facts, _ *policy.Rules) { f.Observed.Resource.GPUs = 0 }, 0},
		"guard's own": {func(f *policy.Facts, _ *policy.Rules) { f.Account.Identity.Self = "i-1" }, 0},
		"another guard's": {func(f *policy.Facts, _ *policy.Rules) {
			f.Observed.Resource.Tags = map[string]string{guard.TagDeployment: "other"}
		}, 0},
		"it is gone already": {func(f *policy.Facts, _ *policy.Rules) { f.Observed.Gone = &guard.Gone{} }, 0},
	} {
		l := lease
		f := policy.Facts{At: zero, Deployment: "ours", Mode: guard.Enforce, May: policy.May{GPU: true}, Lease: &l, Observed: &guard.Observed{
			Resource: guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.StateRunning, GPUs: 1}}}
		var r policy.Rules
		c.change(&f, &r)
		var want time.Time
		if c.want > 0 {
			want = at(c.want)
		}
		if got := f.Timer(r); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSameTimer(t *testing.T) {
	for _, c := range []struct {
		off  time.Duration
		same bool
	}{{0, true}, {time.Minute, true}, {-time.Minute, true}, {61 * time.Second, false}, {-61 * time.Second, false}} {
		if got := policy.SameTimer(zero.Add(c.off), zero); got != c.same {
			t.Errorf("%s off: %v", c.off, got)
		}
	}
	if policy.SameTimer(time.Time{}, zero) || policy.SameTimer(zero, time.Time{}) || !policy.SameTimer(time.Time{}, time.Time{}) {
		t.Error("none is taken for one")
	}
}

// TestTimerOfTheNext: a lease that goes on with another instance has no timer there yet.
func TestTimerOfTheNext(t *testing.T) {
	id := func(kind guard.Kind, id string) guard.ResourceID {
		return guard.ResourceID{Account: "lab", Kind: kind, ID: id}
	}
	first := guard.Observed{Resource: guard.Resource{ID: id(guard.Instance, "i-1"), Parent: id(guard.SpotRequest, "sir-1"), Created: zero, GPUs: 1},
		FirstSeen: zero, Gone: &guard.Gone{At: zero.Add(time.Hour), How: guard.ByReclaim, ProvenAt: zero.Add(time.Hour)}}
	next := guard.Observed{Resource: guard.Resource{ID: id(guard.Instance, "i-2"), Parent: id(guard.SpotRequest, "sir-1"), Created: zero.Add(time.Hour + time.Minute),
		State: guard.StateRunning, GPUs: 1}, FirstSeen: zero.Add(time.Hour + time.Minute)}
	lease := guard.Lease{ID: "L", Resource: first.Resource.ID, ResourceCreated: zero, Status: guard.LeaseGone, EndedAt: zero.Add(time.Hour), EndedHow: guard.ByReclaim,
		OnLimit: guard.ActRelease, RegisteredAt: zero, ExpiresAt: zero.Add(9 * time.Hour), Timer: guard.Timer{Asked: zero, At: zero, Read: zero}}
	out := policy.Evaluate(policy.DefaultRules(), policy.Facts{At: zero.Add(62 * time.Minute), Deployment: "ours", Configured: true, Mode: guard.Enforce,
		May: policy.May{GPU: true}, Observed: &next, Ended: []policy.Ended{{Observed: first, Lease: lease}}})
	if out.Booking == nil || out.Booking.Lease.Resource.ID != "i-2" {
		t.Fatalf("it is not taken for the next: %+v", out.Booking)
	}
	if out.Booking.Lease.Timer != (guard.Timer{}) {
		t.Errorf("it is said to have the timer %+v", out.Booking.Lease.Timer)
	}
}
