package policy

import (
	"time"

	"guard"
)

// settled is how old a snapshot or an image that is not ours must be to be told of, and
// what clusters and backup tools keep: nearly all younger ones go by themselves.
const settled = 30 * 24 * time.Hour

// unseenFor is how long guard waits to see a thing again before people hear of it as it
// was last known: a place that is listed no more may never be again.
const unseenFor = 24 * time.Hour

// left is a thing that outlived what it was for.
type left struct {
	// since is when that began; from is what the rule's time counts from, and patience
	// the least that it takes.
	since, from time.Time
	patience    time.Duration
	why         string // what it was for, and what became of that
	survived    string // why it is still there; "" where nobody tells
	ours        bool   // it was on a leased instance, or guard has tagged it
	unseen      bool   // all that is known of it is from before that
	made        string // who else keeps it: a cluster, a backup tool; "" where nobody does
	kept        string // why it is never deleted; "" where nothing speaks against it
}

// left judges whether a thing is left behind; false where it is in use, and where what it
// is for is there.
func (f Facts) left() (left, bool) {
	l, ok := f.unneeded()
	if !ok {
		return left{}, false
	}
	if l.from.IsZero() {
		l.from = l.since
	}
	l.ours = f.ours()
	l.made, l.kept = f.keeper()
	if !l.ours && l.made != "" {
		l.patience = max(l.patience, settled)
	}
	return l, true
}

func (f Facts) unneeded() (left, bool) {
	o := f.Observed
	if f.Needed() != "" {
		return left{}, false
	}
	switch o.Resource.ID.Kind {
	case guard.Snapshot, guard.Image:
		if f.Instance == nil {
			return f.strayCopy()
		}
		if f.Instance.Gone == nil {
			return left{}, false
		}
		return left{since: latest(f.Instance.Gone.At, o.Resource.Created, f.sourceFreed()), why: f.say("It was made from a disk of %s, which is gone since %s (%s).", o.Instance, f.stamp(f.Instance.Gone.At), f.howWord(f.Instance.Gone.How)),
			survived: f.say("no provider deletes %s with its instance", f.aKind())}, true
	case guard.Filesystem:
		if o.Instance.IsZero() {
			return left{}, false // nobody tells what mounts it
		}
	}
	return f.strayDisk()
}

// strayDisk is a disk, an address or a file system that hangs on nothing.
func (f Facts) strayDisk() (left, bool) {
	o := f.Observed
	var gone *guard.Gone
	if f.Instance != nil {
		gone = f.Instance.Gone
	}
	switch {
	case o.Instance.IsZero() && !o.FreedAt.IsZero():
		return left{since: o.FreedAt, why: f.say("Nothing uses it since %s.", f.stamp(o.FreedAt))}, true
	case o.Instance.IsZero():
		return left{since: o.FirstSeen, why: f.say("It has hung on nothing since guard first saw it at %s.", f.stamp(o.FirstSeen))}, true
	case gone != nil && (o.DetachedAt.IsZero() || !o.DetachedAt.Before(gone.At)):
		return left{since: latest(gone.At, o.FreedAt), survived: f.survived(),
			why: f.say("It was on %s, which is gone since %s (%s).", o.Instance, f.stamp(gone.At), f.howWord(gone.How))}, true
	case !o.DetachedAt.IsZero():
		l := left{since: latest(o.DetachedAt, o.FreedAt), why: f.say("It was on %s and was detached at %s.", o.Instance, f.stamp(o.DetachedAt))}
		if gone != nil {
			l.survived = f.say("it was detached before the instance went")
		}
		return l, true
	}
	return left{}, false
}

// strayCopy is a snapshot or an image of a disk that guard has never seen on an
// instance.
func (f Facts) strayCopy() (left, bool) {
	o := f.Observed
	r := o.Resource
	if !o.Instance.IsZero() {
		return left{}, false // its instance is known by name only: wait
	}
	since := r.Created
	if since.IsZero() {
		since = f.Observed.FirstSeen
	}
	l := left{since: since, from: latest(since, o.FreedAt)}
	switch {
	case r.ID.Kind == guard.Image:
		l.why = f.say("No instance that guard sees was started from it.")
	case r.Source == "":
		l.why = f.say("The provider does not tell which disk it was made from.")
	case f.Source != nil && f.Source.Gone != nil:
		l.why = f.say("It was made from the disk %s, which is gone since %s.", r.Source, f.stamp(f.Source.Gone.At))
		l.from = latest(l.from, f.Source.Gone.At)
	default:
		l.why = f.say("It was made from the disk %s, which is not there.", r.Source)
	}
	l.patience = max(0, since.Add(settled).Sub(l.from))
	return l, true
}

// sourceFreed is since when the disk of a snapshot, which went on with another instance,
// is on that no more; zero where it did not, or is still there.
func (f Facts) sourceFreed() time.Time {
	disk := f.Source
	if disk == nil || disk.Instance.Key() == f.Observed.Instance.Key() {
		return time.Time{}
	}
	if disk.DetachedAt.IsZero() && disk.Gone != nil {
		return disk.Gone.At
	}
	return disk.DetachedAt
}

// lists reports whether the things of a kind in the subject's scope were listed
// completely at the last look.
func (f Facts) lists(kind guard.Kind) bool {
	for _, s := range f.Scopes {
		if s.Kind == kind && s.Scope == f.Resource().Scope {
			return !s.Complete.IsZero() && s.Failing.IsZero()
		}
	}
	return false
}

// diskUntold reports a snapshot that nothing else needs and of which it is not known
// whether its disk is there.
func (f Facts) diskUntold() bool {
	o := f.Observed
	return o.Resource.ID.Kind == guard.Snapshot && o.Instance.IsZero() && f.Source == nil && o.Resource.Source != "" &&
		f.Needed() == "" && !f.lists(guard.Volume)
}

// unseenSince reports whether all that is known of the subject is from before a time: its
// scope has not been listed since, or it was missing there. What hung on an instance is
// read anew when that goes, for it hangs there no more; a copy shows no such change, but
// none goes with an instance either.
func (f Facts) unseenSince(t time.Time) bool {
	o := f.Observed
	kind := f.Resource().Kind
	switch {
	case !o.Seen.Before(t):
		return false
	case len(o.Absent) > 0 && kind != guard.Snapshot && kind != guard.Image:
		return true
	}
	for _, s := range f.Scopes {
		if s.Kind == kind && s.Scope == f.Resource().Scope {
			return s.Complete.Before(t)
		}
	}
	return false
}

// neededLines say why a thing is not left behind, for people.
func (f Facts) neededLines() []string {
	if f.Observed == nil || !f.live() || orphanRules[f.Resource().Kind] == "" || f.Needed() == "" {
		return nil
	}
	return []string{f.say("It is not left behind: %s.", f.Needed())}
}

// Needed is what needs a thing that may outlive its instance, in words; "" where nothing
// that guard can see does.
func (f Facts) Needed() string {
	r := f.Observed.Resource
	on := r.Parent
	stale := f.Instance != nil && f.Instance.Gone != nil && on.Key() == f.Observed.Instance.Key() // a list that lags behind
	switch {
	case len(r.UsedBy) > 0:
		return f.say("it is used by %s", f.list(r.UsedBy))
	case !on.IsZero() && !stale:
		return f.say("it is on %s", on)
	case f.Source != nil && f.Source.Gone == nil && (r.ID.Kind == guard.Snapshot) && (f.Instance == nil || !f.Source.Resource.Parent.IsZero() &&
		f.Source.Resource.Parent.Key() != f.Observed.Instance.Key()):
		return f.say("its disk %s is there", r.Source)
	}
	return ""
}

// ours reports whether guard knows the thing from a leased instance: it was there while
// somebody had a lease on it, or guard has tagged it.
func (f Facts) ours() bool {
	o := f.Observed
	if f.Deployment != "" && o.Resource.Tags[guard.TagDeployment] == f.Deployment {
		return true
	}
	if o.Instance.IsZero() || f.InstanceLease == nil {
		return false
	}
	until := o.DetachedAt
	if f.Instance != nil && f.Instance.Gone != nil {
		until = earliest(until, f.Instance.Gone.At)
	}
	return until.IsZero() || f.InstanceLease.Since().Before(until)
}

// survived is why a child did not go with its instance.
func (f Facts) survived() string {
	for _, c := range f.Instance.Resource.Children {
		if c.ID.Key() != f.Observed.Resource.ID.Key() {
			continue
		}
		switch c.GoesWithInstance {
		case guard.No:
			return f.say("it was not set to go with its instance")
		case guard.Yes:
			return f.say("it was to go with its instance, and did not")
		}
	}
	return f.say("whether it goes with its instance was not told")
}

// howWord says by whose hand, in words.
func (f Facts) howWord(h guard.How) string {
	switch h {
	case guard.ByRelease:
		return f.say("released by guard")
	case guard.ByReclaim:
		return f.say("taken back by the provider")
	case guard.ByPlatform:
		return f.say("ended by the platform")
	}
	return f.say("ended by somebody else")
}

// Wanted is why nothing calls for the release of what was left behind any more.
func (f Facts) Wanted() string {
	if why := f.Vetoed(guard.CauseOrphan); why != "" {
		return why
	}
	if f.Observed != nil {
		if why := f.Needed(); why != "" {
			return why
		}
		if why := f.Untouchable(); why != "" {
			return f.say("guard never touches it: %s", why)
		}
		if _, kept := f.keeper(); kept != "" {
			return kept
		}
	}
	return f.say("no rule calls for it any more")
}
