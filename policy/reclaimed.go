package policy

import (
	"time"

	"guard"
)

// reclaimedFor is how long the finding of an ended instance stays open: it is an
// event, and nothing that anybody does makes it untrue.
const reclaimedFor = 24 * time.Hour

// Messages about an account's reclaims are reclaimsApart at least: one is told at once,
// those that follow together. After the third within a day, of a group that flaps, they
// are flapsApart.
const (
	reclaimsApart = 15 * time.Minute
	flapsApart    = 3 * time.Hour
	flaps         = 3
)

// ReclaimsKept is how many of the last times that people were told tell how far apart the
// next are.
const ReclaimsKept = flaps

// reclaimsHeld is until when nothing is said of another reclaim; zero where nothing holds
// it. A time ahead, told before the clock was put back, holds nothing.
func (f Facts) reclaimsHeld() time.Time {
	n := len(f.ReclaimsTold)
	if n == 0 || f.ReclaimsTold[n-1].After(f.At) {
		return time.Time{}
	}
	apart := reclaimsApart
	if n >= flaps && f.At.Sub(f.ReclaimsTold[n-flaps]) < 24*time.Hour {
		apart = flapsApart
	}
	return f.after(f.ReclaimsTold[n-1].Add(apart))
}

// reclaimed tells that the provider took back a spot instance that the ledger
// knew. A thing that was gone before guard first saw it is history, not news. One that
// stops while guard stops it was not taken back, whatever the provider tells.
func reclaimed(_ Rules, f Facts) Outcome {
	o := f.Observed
	if o == nil || o.Resource.ID.Kind != guard.Instance || Foreign(o.Resource, f.Deployment) != "" {
		return Outcome{}
	}
	var at time.Time
	title := f.say("the provider took it back")
	var lines []string
	switch {
	case o.Gone != nil && o.Gone.How == guard.ByReclaim && o.FirstSeen.Before(o.Gone.ProvenAt):
		at = o.Gone.At
		if end := o.Gone.ProvenAt.Add(reclaimedFor); !f.At.Before(end) {
			return Outcome{}
		}
		if o.Gone.Estimated {
			lines = append(lines, f.say("It ended at %s at the latest.", f.stamp(at)))
		} else {
			lines = append(lines, f.say("It ended at %s.", f.stamp(at)))
		}
		lines = append(lines, f.say("What was only on it is lost."))
	case o.Gone == nil && o.Resource.State == guard.StateStopped && o.Resource.Ended == guard.ByReclaim && !f.stops():
		if at = o.Resource.Changed; at.IsZero() {
			at = o.Seen
		}
		title = f.say("the provider took it back and stopped it")
		lines = append(lines, f.say("Its disks are kept and go on billing."))
	default:
		return Outcome{}
	}
	v := f.verdict(guard.RuleReclaimed, at)
	v.Held = f.reclaimsHeld()
	if stays := staying(o.Resource); len(stays) > 0 {
		lines = append(lines, f.say("Left behind, as far as is known: %s.", f.list(stays)))
	}
	if spent := amounts(f.spent().Totals); spent != "" {
		lines = append(lines, f.say("Spent until then: %s.", spent))
	}
	v.Stages = []Stage{{Name: "reclaimed", Title: f.entitled(title), Lines: lines}}
	next := v.Held
	if o.Gone == nil {
		return Outcome{Verdicts: []Verdict{v}, Next: next}
	}
	v.Facts = append(v.Facts, guard.Fact{Name: "proof", Value: o.Gone.Proof, Source: "provider", At: o.Gone.ProvenAt})
	return Outcome{Verdicts: []Verdict{v}, Next: earliest(next, o.Gone.ProvenAt.Add(reclaimedFor))}
}

// stops reports whether guard is stopping it: the call may have been made.
func (f Facts) stops() bool {
	return f.Release != nil && f.Release.Action == guard.ActStop && !f.Release.IntendedAt.IsZero()
}

// staying is what may outlive the instance.
func staying(r guard.Resource) []string {
	var ids []string
	for _, c := range r.Children {
		if c.GoesWithInstance != guard.Yes {
			ids = append(ids, c.ID.ID)
		}
	}
	return ids
}
