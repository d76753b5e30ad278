package policy

import (
	"time"

	"guard"
)

// ProvisioningLong is about instances that are paid for and do not come up.
type ProvisioningLong struct {
	// After counts from the provider's start.
	After time.Duration
	// Act, counted alike, is when people are told once more; 0: they are not.
	Act time.Duration
}

// provisioningLong tells of an instance that bills and is not there to work on yet.
func provisioningLong(r Rules, f Facts) Outcome {
	o := f.Observed
	if !f.live() || o.Resource.ID.Kind != guard.Instance || o.Resource.State != guard.StateProvisioning || o.Resource.Bills == guard.No ||
		Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	since := o.Resource.Changed
	if since.IsZero() {
		since = o.Resource.Created
	}
	if since.IsZero() {
		since = o.FirstSeen
	}
	if tell := since.Add(r.ProvisioningLong.After); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RuleProvisioningLong, since)
	lines := []string{f.say("It counts to its budget from the provider's start, whether it comes up or not.")}
	if f.Lease != nil {
		lines = append([]string{f.whose(f.Lease)}, lines...)
	}
	lines = append(lines, f.say("It is so since %s. To end it: guard release %s", f.stamp(since), f.Resource()))
	v.Stages = []Stage{{Name: "long", Title: f.provisioningFor(r.ProvisioningLong.After), Lines: lines}}
	var next time.Time
	if act := r.ProvisioningLong.Act; act > 0 {
		next = f.after(since.Add(act))
		if next.IsZero() {
			v.Stages = append(v.Stages, Stage{Name: "act", Title: f.provisioningFor(act), Lines: lines})
		}
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

func (f Facts) provisioningFor(d time.Duration) string {
	if h, ok := f.hourly(); ok {
		return f.say("%s: provisioning for more than %s while billing, at %s per hour", f.name(), f.span(d), h.Round())
	}
	return f.say("%s: provisioning for more than %s while billing, at a price that is not known", f.name(), f.span(d))
}
