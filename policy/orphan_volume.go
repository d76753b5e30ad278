package policy

import (
	"fmt"
	"time"

	"guard"
)

// orphanVolume tells of a disk that bills for an instance that the ledger knew
// and that is gone, or that it was detached from. It is only ever an alert: data
// is not deleted on a guess.
func orphanVolume(r Rules, f Facts) Outcome {
	o := f.Observed
	if !f.live() || o.Resource.ID.Kind != guard.Volume || o.Instance.IsZero() ||
		o.Resource.State == guard.StateReleasing || Foreign(o.Resource, f.Deployment) != "" || f.Protection(r).On {
		return Outcome{}
	}
	since, why := f.orphaned()
	if since.IsZero() {
		return Outcome{}
	}
	if tell := since.Add(r.OrphanVolume.After); f.At.Before(tell) {
		return Outcome{Next: tell}
	}
	v := f.verdict(guard.RuleOrphanVolume, since)
	cost := "its price is unknown"
	if m, ok := o.Resource.BillingRate().For(guard.Month); ok {
		cost = fmt.Sprintf("it costs %s a month", m.Round())
	}
	size := ""
	if o.Resource.SizeGB > 0 {
		size = fmt.Sprintf(", %d GB", o.Resource.SizeGB)
	}
	v.Stages = []Stage{{Name: "orphaned",
		Title: fmt.Sprintf("%s: a disk left behind%s; %s", f.name(), size, cost),
		Lines: []string{why, "guard does not delete data. Whoever needs it no more can delete it at the provider."}}}
	v.Facts = append(v.Facts, guard.Fact{Name: "orphaned", Value: why, Source: "ledger", At: since})
	return Outcome{Verdicts: []Verdict{v}}
}

// orphaned is since when a volume has had no instance, and what happened; a zero
// time where it has one.
func (f Facts) orphaned() (since time.Time, why string) {
	o := f.Observed
	if i := f.Instance; i != nil && i.Gone != nil {
		return i.Gone.At, fmt.Sprintf("It was on %s, which is gone since %s (%s).", o.Instance, f.stamp(i.Gone.At), howWord(i.Gone.How))
	}
	if !o.DetachedAt.IsZero() && o.Resource.Parent.IsZero() {
		return o.DetachedAt, fmt.Sprintf("It was on %s and was detached at %s.", o.Instance, f.stamp(o.DetachedAt))
	}
	return time.Time{}, ""
}

// howWord says by whose hand, in words.
func howWord(h guard.How) string {
	switch h {
	case guard.ByRelease:
		return "released by guard"
	case guard.ByReclaim:
		return "taken back by the provider"
	case guard.ByPlatform:
		return "ended by the platform"
	}
	return "ended by somebody else"
}
