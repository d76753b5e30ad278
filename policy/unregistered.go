package policy

import (
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/policy/presence"
)

// unregistered tells of instances that nobody claims, and has guard register them
// where the configuration says so. What another guard keeps, and the machine guard
// runs on, are shown by the API and never told of here.
func unregistered(r Rules, f Facts) Outcome {
	o := f.Observed
	since, is := f.stray()
	if !is {
		return Outcome{}
	}
	if tell := since.Add(r.Unregistered.After); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	if counted := o.FirstSeen.Add(solving); len(f.spent().Totals) == 0 && f.At.Before(counted) {
		return Outcome{Next: counted} // what it has cost is moments away
	}
	v := f.verdict(guard.RuleUnregistered, since)
	age := f.At.Sub(since)
	if age >= time.Minute {
		age = age.Truncate(time.Minute)
	}
	lines := []string{f.say("It is %s, since %s.", f.stateWord(), f.stamp(since))}
	if spent := f.spentWord(); spent != "" {
		lines = append(lines, f.say("Spent since the provider's start: %s.", spent))
	} else {
		lines = append(lines, f.say("What it has cost since the provider's start is not known."))
	}
	id := o.Resource.ID.String()
	lines = append(lines,
		f.say("To claim it: guard register %s --purpose TEXT --ttl 8h", id),
		f.say("To end it: guard release %s", id))
	old := f.span(age.Truncate(time.Second))
	title := f.say("%s: nobody registered it; %s old, at an unknown price", f.strayName(), old)
	if h, ok := f.hourly(); ok {
		title = f.say("%s: nobody registered it; %s old, for %s per hour", f.strayName(), old, h.Round())
	}
	v.Stages = []Stage{{Name: "found", Title: title, Lines: lines}}
	v.Facts = append(v.Facts, guard.Fact{Name: "unregistered since", Value: f.stamp(since), Source: "provider", At: o.FirstSeen})
	out := Outcome{}
	lease, why := f.adopted(r)
	switch {
	case lease != nil:
		v.Stages = append(v.Stages, Stage{Name: "adopted", Title: f.say("%s; guard registers it until %s", title, f.stamp(lease.ExpiresAt)), Lines: append(lines, f.adoptLine(*lease))})
		if f.Lease == nil || f.Lease.ID != lease.ID {
			out.Booking = &Booking{Lease: *lease, Verb: "adopted", Text: fmt.Sprintf("nobody registered it, so guard does until %s; then: %s", f.stamp(lease.ExpiresAt), lease.OnLimit)}
		}
	case why != "":
		v.Stages[0].Lines = append(lines, f.say("guard does not register it by itself: %s.", why))
	}
	if act := since.Add(r.Unregistered.Act); r.Unregistered.Act > 0 {
		out.Next = f.after(act)
		// An adoption that came later is what people hear of last.
		if out.Next.IsZero() && (lease == nil || !lease.RegisteredAt.After(act)) {
			last := v.Stages[len(v.Stages)-1]
			v.Stages = append(v.Stages, Stage{Name: "act", Title: last.Title, Lines: last.Lines})
		}
	}
	out.Verdicts = []Verdict{v}
	return out
}

// stray reports an instance that nobody claims, or that only guard has registered, and
// since when.
func (f Facts) stray() (since time.Time, is bool) {
	o := f.Observed
	if !f.live() || o.Resource.ID.Kind != guard.Instance || o.Resource.State == guard.StateReleasing ||
		f.Lease != nil && f.Lease.Status.Open() && !f.Lease.Adopted || Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return time.Time{}, false
	}
	if since = o.Resource.Created; since.IsZero() {
		since = o.FirstSeen
	}
	if f.Lease != nil && f.Lease.EndedAt.After(since) {
		since = f.Lease.EndedAt
	}
	return since, true
}

// strayName is the name without the purpose that guard itself gave it, or that something
// else had which the ID named before.
func (f Facts) strayName() string {
	if l := f.Lease; l != nil && (l.Adopted || !presence.SameCreation(l.ResourceCreated, f.Observed.Resource.Created)) {
		f.Lease = nil
	}
	return f.name()
}

// adopted is the lease that guard makes of what nobody registered, or has made; nil,
// and why, where it must not.
func (f Facts) adopted(r Rules) (l *guard.Lease, why string) {
	adopt := r.Unregistered.Adopt
	switch p := f.Protection(r); {
	case f.Lease != nil && f.Lease.Status.Open():
		return f.Lease, ""
	case adopt == nil || !f.Configured:
		return nil, ""
	case f.Untouchable() != "":
		return nil, f.Untouchable()
	case p.On:
		return nil, p.Why
	case f.vetoed(guard.RuleUnregistered) != nil:
		return nil, f.vetoWord(*f.vetoed(guard.RuleUnregistered))
	case f.Release != nil:
		return nil, f.say("its release is under way")
	}
	o := f.Observed
	n := guard.Lease{ID: LeaseID(f.Deployment, o.Resource.ID, f.At), Resource: o.Resource.ID, ResourceCreated: o.Resource.Created, Identity: o.Identity,
		Purpose: "adopted: nobody registered it", Owner: ownerTag(o.Resource.Tags), RegisteredAt: f.At, ExpiresAt: f.At.Add(adopt.TTL),
		OnLimit: adopt.OnLimit, Grace: r.Defaults.Grace, Status: status(o.Resource), Adopted: true, UpdatedAt: f.At, UpdatedBy: "guard"}
	if f.Lease != nil {
		n = Follow(n, *f.Lease)
	}
	return &n, ""
}

// longestOwner bounds what a tag says of who owns a thing, in characters.
const longestOwner = 100

// ownerTag is who owns a thing by its own tags; "" where none tells.
func ownerTag(tags map[string]string) string {
	for _, key := range []string{"owner", "Owner"} {
		if v := []rune(guard.Plain(tags[key])); len(v) > 0 {
			return string(v[:min(len(v), longestOwner)])
		}
	}
	return ""
}

func (f Facts) adoptLine(l guard.Lease) string {
	if l.OnLimit != guard.ActAlert {
		return f.say("Until somebody claims it, guard keeps it registered until %s; then it will %s it.", f.stamp(l.ExpiresAt), f.todo(l.OnLimit))
	}
	return f.say("Until somebody claims it, guard keeps it registered until %s; then it only tells.", f.stamp(l.ExpiresAt))
}

// stateWord is the state and the size, as far as they are known.
func (f Facts) stateWord() string {
	r := f.Observed.Resource
	parts := []string{f.kept(string(r.State))}
	if r.Type != "" {
		parts = append(parts, r.Type)
	}
	if r.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d × %s", r.GPUs, orGPU(r.GPUModel)))
	}
	return strings.Join(parts, f.say(", "))
}

func orGPU(model string) string {
	if model == "" {
		return "GPU"
	}
	return model
}
