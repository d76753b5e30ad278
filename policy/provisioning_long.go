package policy

import (
	"time"

	"guard"
)

// ProvisioningLong is about instances that are paid for and do not come up.
type ProvisioningLong struct {
	// After counts from the provider's start.
	After time.Duration
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
	title := f.say("%s: provisioning for more than %s while billing, at a price that is not known", f.name(), f.span(r.ProvisioningLong.After))
	if h, ok := f.hourly(); ok {
		title = f.say("%s: provisioning for more than %s while billing, at %s per hour", f.name(), f.span(r.ProvisioningLong.After), h.Round())
	}
	lines := []string{f.say("It counts to its budget from the provider's start, whether it comes up or not.")}
	if f.Lease != nil {
		lines = append([]string{f.whose(f.Lease)}, lines...)
	}
	v.Stages = []Stage{{Name: "long", Title: title,
		Lines: append(lines, f.say("It is so since %s. To end it: guard release %s", f.stamp(since), f.Resource()))}}
	return Outcome{Verdicts: []Verdict{v}}
}
