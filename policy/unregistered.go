package policy

import (
	"fmt"
	"time"

	"guard"
)

// unregistered tells of instances that nobody claims. What another guard keeps,
// and the machine guard runs on, are shown by the API and never told of here.
func unregistered(r Rules, f Facts) Outcome {
	o := f.Observed
	if r.Unregistered.Off || !f.live() || o.Resource.ID.Kind != guard.Instance || o.Resource.State == guard.StateReleasing ||
		f.Lease != nil && f.Lease.Status.Open() || Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	since := o.Resource.Created
	if since.IsZero() {
		since = o.FirstSeen
	}
	if f.Lease != nil && f.Lease.EndedAt.After(since) {
		since = f.Lease.EndedAt
	}
	if tell := since.Add(r.Unregistered.After); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	if counted := o.FirstSeen.Add(solving); len(f.Spend.Totals) == 0 && f.At.Before(counted) {
		return Outcome{Next: counted} // what it has cost is moments away
	}
	v := f.verdict(guard.RuleUnregistered, since)
	price := "at an unknown price"
	if h, ok := f.hourly(); ok {
		price = fmt.Sprintf("for %s per hour", h.Round())
	}
	age := f.At.Sub(since)
	if age >= time.Minute {
		age = age.Truncate(time.Minute)
	}
	lines := []string{fmt.Sprintf("It is %s, since %s.", stateWord(o.Resource), f.stamp(since))}
	if spent := amounts(f.Spend.Totals); spent != "" {
		if f.Spend.AtLeast {
			spent = "at least " + spent
		}
		lines = append(lines, fmt.Sprintf("Spent since the provider's start: %s.", spent))
	} else {
		lines = append(lines, "What it has cost since the provider's start is not known.")
	}
	id := o.Resource.ID.String()
	lines = append(lines,
		fmt.Sprintf("To claim it: guard register %s --purpose TEXT --ttl 8h", id),
		fmt.Sprintf("To end it: guard release %s", id))
	v.Stages = []Stage{{Name: "found",
		Title: fmt.Sprintf("%s: nobody registered it; %s old, %s", f.name(), span(age.Truncate(time.Second)), price), Lines: lines}}
	v.Facts = append(v.Facts, guard.Fact{Name: "unregistered since", Value: f.stamp(since), Source: "provider", At: o.FirstSeen})
	return Outcome{Verdicts: []Verdict{v}}
}

// stateWord is the state and the size, as far as they are known.
func stateWord(r guard.Resource) string {
	s := string(r.State)
	if r.Type != "" {
		s += ", " + r.Type
	}
	if r.GPUs > 0 {
		s += fmt.Sprintf(", %d × %s", r.GPUs, orGPU(r.GPUModel))
	}
	return s
}

func orGPU(model string) string {
	if model == "" {
		return "GPU"
	}
	return model
}
