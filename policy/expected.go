package policy

import (
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/policy/presence"
)

// Awaiting is what stands beside the lease of an instance that nobody has seen yet.
type Awaiting struct {
	// Name is what the lease is known by until then: ACCOUNT/LEASE.
	Name string
	// Seen are the live instances of its account that nobody has registered.
	Seen []Stray
	// Others are the account's other leases of that kind.
	Others []guard.Lease
}

// Stray is an instance that nobody has registered.
type Stray struct {
	Observed guard.Observed
	// Was is its lease that has ended; nil where it never had one.
	Was *guard.Lease
}

// expected looks for the instance that a lease was registered for. It is found by
// the tag with the lease's ID, at any time, or by its name where it was created in
// the time that was given; one that could be another lease's is nobody's. Once that
// time is over it is missing, and when the lease runs out there is nothing to wait
// for.
func expected(r Rules, f Facts) Outcome {
	if f.Awaiting == nil || f.Lease == nil || f.Lease.Status != guard.LeaseExpected || f.Lease.Expect == nil {
		return Outcome{}
	}
	strays, how := f.candidates()
	why := f.unsure(strays, how)
	if len(strays) == 1 && why == "" {
		return Outcome{Booking: f.seen(strays[0], how)}
	}
	l := *f.Lease
	if end := l.ExpiresAt; !end.IsZero() && !f.At.Before(end) {
		return Outcome{Booking: f.neverCame(end)}
	}
	if why == "" && f.At.Before(l.Expect.Until) {
		return Outcome{Next: earliest(f.after(l.ExpiresAt), l.Expect.Until)}
	}
	v := f.verdict(guard.RuleExpectedMissing, l.Expect.Until)
	v.Stages = []Stage{{Name: "missing", Title: f.say("%s: it was expected until %s and was not seen", f.name(), f.stamp(l.Expect.Until))}}
	if why != "" {
		v.Since = f.At
		v.Stages = []Stage{{Name: "unsure: " + f.in(guard.English).unsure(strays, how), Title: f.say("%s: guard does not know it yet: %s", f.name(), why)}}
	}
	v.Stages[0].Lines = []string{
		f.say("%s Registered at %s.", f.whose(&l), f.stamp(l.RegisteredAt)),
		f.say("guard knows it for sure by the tag %s=%s.", guard.TagLease, l.ID),
		f.say("If it is there: guard register ACCOUNT/ID claims it."),
	}
	next := f.after(l.ExpiresAt)
	if f.At.Before(l.Expect.Until) {
		next = earliest(next, l.Expect.Until)
	}
	return Outcome{Verdicts: []Verdict{v}, Next: next}
}

// The two ways in which an instance is known to be what a lease expects.
const (
	byTag  = "its tag " + guard.TagLease
	byName = "its name, and when it was created"
)

// knownBy is one of them in words.
func (f Facts) knownBy(how string) string {
	if how == byTag {
		return f.say("its tag %s", guard.TagLease)
	}
	return f.say("its name, and when it was created")
}

// candidates are the instances that the lease may be of, and how they are known.
func (f Facts) candidates() (out []Stray, how string) {
	for _, s := range f.Awaiting.Seen {
		if s.Observed.Resource.Tags[guard.TagLease] == f.Lease.ID {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		return out, byTag
	}
	for _, s := range f.Awaiting.Seen {
		if named(*f.Lease, s.Observed.Resource) {
			out = append(out, s)
		}
	}
	return out, byName
}

// unsure is why guard does not take what looks like the instance for it; "" where it
// does, or nothing looks like it.
func (f Facts) unsure(strays []Stray, how string) string {
	if len(strays) == 0 {
		return ""
	}
	first := strays[0].Observed.Resource
	also := func(l guard.Lease) bool { return named(l, first) }
	switch why := f.refused(strays[0].Observed); {
	case len(strays) > 1:
		names := make([]string, len(strays))
		for i, s := range strays {
			names[i] = s.Observed.Resource.ID.String()
		}
		return f.say("more than one could be it: %s", f.list(names))
	case how == byName && slices.ContainsFunc(f.Awaiting.Others, also):
		return f.say("%s could be what another registration expects, too", first.ID)
	case why != "":
		return f.say("%s looks like it, and guard may not act on that: %s", first.ID, why)
	}
	return ""
}

// named reports whether an instance is what a lease expects by its name and by when
// it was created. A provider that does not tell that tells too little.
func named(l guard.Lease, r guard.Resource) bool {
	e := l.Expect
	if e == nil || e.Name == "" || r.Name != e.Name || r.Created.IsZero() || r.Tags[guard.TagLease] != "" {
		return false
	}
	return !r.Created.Before(e.From.Add(-presence.CreationTolerance)) && !r.Created.After(e.Until)
}

// refused is why an instance cannot be registered; "" where it can.
func (f Facts) refused(o guard.Observed) string {
	f.Observed = &o
	return f.Untouchable()
}

// seen turns the lease into that of the instance.
func (f Facts) seen(s Stray, how string) *Booking {
	r := s.Observed.Resource
	l := *f.Lease
	l.Resource, l.ResourceCreated, l.Identity = r.ID, r.Created, s.Observed.Identity
	l.Expect, l.Status, l.UpdatedAt, l.UpdatedBy = nil, status(r), f.At, "guard"
	if s.Was != nil {
		l = Follow(l, *s.Was)
	}
	title := f.say("%s (%s): it is here; registered without an end", r.ID, f.orNone(l.Purpose))
	if !l.ExpiresAt.IsZero() {
		title = f.say("%s (%s): it is here; registered until %s", r.ID, f.orNone(l.Purpose), f.stamp(l.ExpiresAt))
	}
	return &Booking{Lease: l, Verb: "seen", Text: fmt.Sprintf("%s is what %s registered ahead, by %s", r.ID, f.orNone(l.Owner), how),
		Say: &Stage{Name: "seen", Title: title,
			Lines: []string{f.say("It is known by %s. Owner: %s.", f.knownBy(how), f.orNone(l.Owner))}}}
}

// neverCame ends a lease of what nobody ever saw.
func (f Facts) neverCame(end time.Time) *Booking {
	l := *f.Lease
	l.Status, l.EndedAt, l.UpdatedAt, l.UpdatedBy = guard.LeaseGone, end, f.At, "guard"
	title := f.say("%s: its time is up, and it was never seen", f.name())
	return &Booking{Lease: l, Verb: "ended", Text: "its time is up, and it was never seen",
		Say: &Stage{Name: "ended", Title: title, Lines: []string{
			f.say("%s Registered at %s; its time ended at %s.", f.whose(&l), f.stamp(l.RegisteredAt), f.stamp(end)),
			f.say("guard waits for it no longer."),
		}}}
}
