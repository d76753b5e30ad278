package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/presence"
)

const (
	// groupFor is how long after the end of a member its group's next one is taken for its
	// successor: later it is started for something else.
	groupFor = 24 * time.Hour
	// takeover is how long after an instance ended one that looks like it is taken for its
	// successor, where nothing but looks connects them.
	takeover = 15 * time.Minute
	// unsureEnd is how much earlier an end may have been of which only the latest time is
	// known.
	unsureEnd = 10 * time.Minute
	// relaunchedFor is how long the finding stays open: it is an event.
	relaunchedFor = 24 * time.Hour
)

// Ended is an instance that is gone, and its lease, which has ended.
type Ended struct {
	Observed guard.Observed
	Lease    guard.Lease
}

// relaunched finds the lease of what started again by itself: a persistent spot request, a
// group, a controller put it in the place of one that ended. It is one family under one
// cap, so that the lease goes on with the newcomer.
func relaunched(_ Rules, f Facts) Outcome {
	o := f.Observed
	if !f.live() || o.Resource.ID.Kind != guard.Instance || Self(o.Resource, f.Account) || Foreign(o.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	if f.Lease != nil && f.Lease.Status.Open() {
		return f.startedAgain()
	}
	if o.Resource.State == guard.StateReleasing {
		return Outcome{}
	}
	before, how, ok := f.predecessor()
	if !ok {
		return Outcome{}
	}
	l := before.Lease
	l.Earlier = append(slices.Clone(l.Earlier), l.Resource)
	l.Resource, l.ResourceCreated, l.Identity = o.Resource.ID, o.Resource.Created, o.Identity
	l.Status, l.EndedAt, l.EndedHow, l.Estimated, l.TagsWritten, l.Timer = status(o.Resource), time.Time{}, "", false, "", guard.Timer{}
	l.UpdatedAt, l.UpdatedBy = f.At, "guard"
	return Outcome{Booking: &Booking{Lease: l, Verb: "relaunched",
		Text: fmt.Sprintf("%s was started in the place of %s, by %s: the lease goes on with it", o.Resource.ID, before.Observed.Resource.ID, how)}}
}

// startedAgain tells that a lease went on with this instance.
func (f Facts) startedAgain() Outcome {
	l, r := f.Lease, f.Observed.Resource
	since := f.Observed.FirstSeen
	end := since.Add(relaunchedFor)
	if len(l.Earlier) == 0 || !f.At.Before(end) {
		return Outcome{}
	}
	v := f.verdict(guard.RuleRelaunched, since)
	last := l.Earlier[len(l.Earlier)-1]
	lines := []string{f.whose(l),
		f.say("It counts to the same lease: the same end and the same cap, with what %s has cost.", last.ID)}
	switch {
	case r.Parent.Kind == guard.SpotRequest:
		lines = append(lines, f.say("The spot request %s started it. A release cancels that first.", r.Parent.ID))
	case r.Group != "":
		lines = append(lines, f.say("The group %s started it. A release goes through the group, which then wants one fewer.", r.Group))
	default:
		lines = append(lines, f.say("What started it is not visible to guard: it has the same tags, name and size. To end it for good, end what starts it."))
	}
	v.Stages = []Stage{{Name: "relaunched", Title: f.say("%s: it was started in the place of %s", f.name(), last.ID), Lines: append(lines, f.costLines()...)}}
	v.Facts = append(v.Facts, guard.Fact{Name: "in the place of", Value: last.String(), Source: "ledger", At: since})
	return Outcome{Verdicts: []Verdict{v}, Next: end}
}

// predecessor is the instance in whose place it was started, and how that is known: of
// several the one that ended last.
func (f Facts) predecessor() (Ended, string, bool) {
	r := f.Observed.Resource
	var fit []Ended
	how := ""
	for _, e := range f.Ended {
		was := e.Observed.Resource
		if e.Observed.Gone == nil || e.Lease.Status.Open() || was.ID.Key() == r.ID.Key() || e.Lease.Resource.Key() != was.ID.Key() || f.started().Before(e.ended()) {
			continue
		}
		by := ""
		switch {
		case r.Parent.Kind == guard.SpotRequest && r.Parent.Key() == was.Parent.Key():
			by = "the spot request " + r.Parent.ID
		case r.Group != "" && r.Group == was.Group && f.started().Before(e.Observed.Gone.At.Add(groupFor)):
			by = "the group " + r.Group
		case f.takesOver(e):
			by = "its tags, its name and its size, soon after"
		default:
			continue
		}
		fit, how = append(fit, e), by
	}
	if len(fit) == 0 {
		return Ended{}, "", false
	}
	return slices.MaxFunc(fit, func(a, b Ended) int {
		return cmp.Or(a.Observed.Gone.At.Compare(b.Observed.Gone.At), strings.Compare(a.Lease.ID, b.Lease.ID))
	}), how, true
}

// takesOver reports whether it looks like one that ended and came soon after: the tags
// of people are the same, and there are some, and so are the name and the size.
func (f Facts) takesOver(e Ended) bool {
	r, was := f.Observed.Resource, e.Observed.Resource
	shape := Shape(r)
	return shape != "" && shape == Shape(was) && f.started().Before(e.Observed.Gone.At.Add(takeover))
}

// started is when an instance came to be, as far as is known.
func (f Facts) started() time.Time {
	if made := f.Observed.Resource.Created; !made.IsZero() {
		return made
	}
	return f.Observed.FirstSeen
}

// ended is the earliest that it can have ended.
func (e Ended) ended() time.Time {
	if e.Observed.Gone.Estimated {
		return e.Observed.Gone.At.Add(-unsureEnd)
	}
	return e.Observed.Gone.At.Add(-presence.CreationTolerance)
}

// Shape is what two instances that a controller starts have alike: people's tags, the
// name, the size. It is "" where there is no tag to know them by.
func Shape(r guard.Resource) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
		if !strings.HasPrefix(k, "guard:") {
			fmt.Fprintf(&b, "%q=%q ", k, r.Tags[k])
		}
	}
	if b.Len() == 0 {
		return ""
	}
	fmt.Fprintf(&b, "%q %q %d %q %t", r.Name, r.Type, r.GPUs, r.GPUModel, r.Spot)
	return b.String()
}
