package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/spend"
)

// sighting is one thing as it was just read, alive or not.
type sighting struct {
	fresh guard.Resource
	at    time.Time
	// identity is the account's, under which it was read.
	identity string
	// byID: read by ID, not from a listing. Only that brings back what was proven
	// gone: a listing may lag.
	byID bool
	// last is when its scope was last completely listed before.
	last time.Time
	// claimed: an open lease or release is about the thing first recorded.
	claimed bool
	// parent is the instance that lists it as its child.
	parent guard.ResourceID
}

// news is what a merge has to tell.
type news string

const (
	newsNone     news = ""
	newsChanged  news = "changed" // nothing that people need to read
	newsFound    news = "found"
	newsReplaced news = "replaced" // another thing under an ID that nobody claims
	newsNotSame  news = "not_the_same"
	newsBack     news = "back" // proven gone, and yet alive
	newsStopped  news = "stopped"
	newsStarted  news = "started"
)

// merge brings what is observed up to date with a sighting of a live thing. It
// returns newsNone where nothing changed, and then the record as it was.
func merge(o guard.Observed, known bool, s sighting) (guard.Observed, news) {
	fresh := normal(s.fresh)
	switch {
	case !fresh.Live():
		return o, newsNone
	case known && quiet(o, fresh, s):
		return o, newsNone
	case !known:
		return first(fresh, s), newsFound
	case !presence.Same(o.Resource, fresh):
		if o.Gone == nil && s.claimed {
			if o.NotSame.Equal(fresh.Created) {
				return o, newsNone
			}
			o.NotSame = fresh.Created
			return o, newsNotSame
		}
		return first(fresh, s), newsReplaced
	case o.Gone != nil && !s.byID:
		return o, newsNone
	}
	next := o
	fresh = presence.Known(o.Resource, fresh)
	if !o.Resource.Created.IsZero() {
		fresh.Created = o.Resource.Created // the first telling counts
	}
	next.Resource, next.Identity = fresh, s.identity
	next.LostTags, next.FreedAt = presence.LostTags(o, fresh, s.at), presence.FreedAt(o, fresh, s.at)
	next.Absent, next.NotSame, next.Gone = nil, time.Time{}, nil
	attach(&next, s)
	told := newsChanged
	switch {
	case o.Gone != nil:
		told = newsBack
		next.Pending = append(slices.Clone(o.Pending), spend.ChangeTo(fresh, o.Gone.At))
	case ranUnseen(o, fresh, s):
		// It ran from when nobody looked until it was stopped again, not by us.
		next.Resource.Ended = s.fresh.Ended
		ran := fresh
		ran.State, ran.Bills = guard.StateRunning, guard.Unknown
		next.Pending = add(o.Pending, spend.ChangeTo(ran, later(o.Seen, s.last)))
		next.Pending = add(next.Pending, spend.ChangeTo(fresh, fresh.Changed))
	case billsAlike(o.Resource, fresh):
	default:
		next.Pending = add(o.Pending, spend.ChangeTo(fresh, since(o, fresh, s)))
	}
	if told == newsChanged {
		switch was, is := o.Resource.State, fresh.State; {
		case was != guard.StateStopped && is == guard.StateStopped:
			told = newsStopped
		case was == guard.StateStopped && is != guard.StateStopped:
			told = newsStarted
		}
	}
	next.Seen = o.Seen
	if told == newsChanged && unchanged(o, next) {
		return o, newsNone
	}
	next.Seen = s.at
	return next, told
}

// quiet reports whether a sighting says of a thing what the record says.
func quiet(o guard.Observed, fresh guard.Resource, s sighting) bool {
	if o.Gone != nil || len(o.Absent) > 0 || !o.NotSame.IsZero() || o.Identity != s.identity || !presence.Same(o.Resource, fresh) {
		return false
	}
	if !o.Resource.Created.IsZero() {
		fresh.Created = o.Resource.Created // the first telling counts
	}
	if !resourceEqual(o.Resource, presence.Known(o.Resource, fresh)) {
		return false
	}
	instance, detached := o.Instance, o.DetachedAt
	attach(&o, s)
	return o.Instance == instance && o.DetachedAt.Equal(detached)
}

// unchanged reports whether a merge left everything as it was.
func unchanged(a, b guard.Observed) bool {
	return resourceEqual(a.Resource, b.Resource) && a.Identity == b.Identity && a.Instance == b.Instance &&
		a.DetachedAt.Equal(b.DetachedAt) && a.NotSame.Equal(b.NotSame) &&
		len(a.Absent) == len(b.Absent) && len(a.Pending) == len(b.Pending)
}

// resourceEqual reports whether two normal readings say the same. Money that went
// through the ledger has other digits for the same amount, so rates are compared by
// what they say.
func resourceEqual(a, b guard.Resource) bool {
	return a.ID == b.ID && a.Name == b.Name && a.State == b.State && a.RawState == b.RawState &&
		a.Created.Equal(b.Created) && a.Changed.Equal(b.Changed) && a.Ended == b.Ended &&
		a.Type == b.Type && a.GPUs == b.GPUs && a.HasGPU == b.HasGPU && a.GPUModel == b.GPUModel && a.Spot == b.Spot &&
		maps.Equal(a.Tags, b.Tags) && a.TagsUntold == b.TagsUntold && a.SizeGB == b.SizeGB &&
		rateEqual(a.Rate, b.Rate) && rateEqual(a.StoppedRate, b.StoppedRate) && lumpEqual(a.Lump, b.Lump) && egressEqual(a.Egress, b.Egress) && a.Bills == b.Bills && a.StopSaves == b.StopSaves &&
		a.PlatformEnds.At.Equal(b.PlatformEnds.At) && a.PlatformEnds.Why == b.PlatformEnds.Why &&
		a.Parent == b.Parent && slices.Equal(a.Children, b.Children) && slices.Equal(a.Nodes, b.Nodes) && a.Source == b.Source && slices.Equal(a.UsedBy, b.UsedBy) && a.UsesUntold == b.UsesUntold && a.Group == b.Group &&
		a.ReleaseProtected == b.ReleaseProtected && a.StopProtected == b.StopProtected
}

func rateEqual(a, b guard.Rate) bool {
	return a.Amount.Equal(b.Amount) && a.Per == b.Per && a.Units == b.Units && a.Unit == b.Unit &&
		a.Free == b.Free && a.Source == b.Source
}

func lumpEqual(a, b guard.Lump) bool {
	return a.Amount.Equal(b.Amount) && a.From.Equal(b.From) && a.Until.Equal(b.Until) && a.Renews == b.Renews && a.Source == b.Source
}

func egressEqual(a, b guard.EgressPrice) bool {
	return a.PerGB.Equal(b.PerGB) && a.UpTo.Equal(b.UpTo) && a.FreeGB == b.FreeGB && a.InPerGB.Equal(b.InPerGB) && a.Source == b.Source
}

// first is the record of a thing that is seen for the first time.
func first(fresh guard.Resource, s sighting) guard.Observed {
	o := spend.First(fresh, s.identity, s.at)
	attach(&o, s)
	return o
}

// add appends a change that was learned last. What was to begin at or after its
// time was learned earlier and is superseded.
func add(pending []guard.Change, c guard.Change) []guard.Change {
	kept := slices.Clone(pending)
	for len(kept) > 0 && !kept[len(kept)-1].At.Before(c.At) {
		kept = kept[:len(kept)-1]
	}
	return append(kept, c)
}

// billsAlike reports whether two readings of one thing cost the same.
func billsAlike(a, b guard.Resource) bool {
	stateA, rateA := a.Billing()
	stateB, rateB := b.Billing()
	nothing := a.Bills == guard.No
	if nothing != (b.Bills == guard.No) {
		return false
	}
	return nothing || (stateA == stateB && rateA.Same(rateB))
}

// ranUnseen reports whether a thing that is stopped, as it was, has been started
// and stopped again since it was last looked at.
func ranUnseen(o guard.Observed, fresh guard.Resource, s sighting) bool {
	was, _ := o.Resource.Billing()
	is, _ := fresh.Billing()
	last := later(o.Seen, s.last)
	return was == guard.StateStopped && is == guard.StateStopped && !o.Resource.Changed.Equal(fresh.Changed) &&
		fresh.Changed.After(last) && !fresh.Changed.After(s.at)
}

// since is when a change of billing began: the provider's own time where it can
// be true, else the moment that is dearer: a start since it was last seen not
// running, anything else since now.
func since(o guard.Observed, fresh guard.Resource, s sighting) time.Time {
	last := later(o.Seen, s.last)
	stateA, _ := o.Resource.Billing()
	stateB, _ := fresh.Billing()
	switched := stateA != stateB || (o.Resource.Bills == guard.No) != (fresh.Bills == guard.No)
	if !switched {
		return s.at // only its price
	}
	// A lagging state may show the old one for minutes after the change.
	if c := fresh.Changed; c.After(last.Add(-presence.Settled)) && !c.After(s.at.Add(presence.Skew)) {
		return earlier(c, s.at)
	}
	starts := fresh.Bills != guard.No && (o.Resource.Bills == guard.No || stateB == guard.StateRunning)
	if starts && last.Before(s.at) {
		return last
	}
	return s.at
}

// attach keeps which instance a child hangs on and since when, also after that is
// gone. One that is back where it was last never left. What is only made from a disk,
// a snapshot or an image, is the first instance's for good.
func attach(o *guard.Observed, s sighting) {
	switch o.Resource.ID.Kind {
	case guard.Instance:
		return
	case guard.Snapshot, guard.Image:
		if o.Instance.IsZero() {
			o.Instance = s.parent
		}
		return
	}
	parent := o.Resource.Parent
	if parent.IsZero() || parent.Kind != guard.Instance {
		parent = s.parent
	}
	switch {
	case parent.IsZero():
		if !o.Instance.IsZero() && o.DetachedAt.IsZero() {
			o.DetachedAt = s.at
		}
		return
	case parent != o.Instance && parent.Key() != o.Instance.Key():
		o.AttachedAfter = s.last
		if o.FirstSeen.Before(s.at) {
			o.AttachedAt, o.AttachedAfter = s.at, later(o.Seen, s.last)
		}
	}
	o.Instance, o.DetachedAt = parent, time.Time{}
}

// normal makes two readings of the same thing compare equal, and takes a state
// that was not told for one that is not known.
func normal(r guard.Resource) guard.Resource {
	if r.State == "" {
		r.State = guard.StateUnknown
	}
	r.Created, r.Changed = plain(r.Created), plain(r.Changed)
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	if !slices.IsSortedFunc(r.Children, byID) {
		r.Children = slices.Clone(r.Children)
		slices.SortFunc(r.Children, byID)
	}
	if len(r.Children) == 0 {
		r.Children = nil
	}
	if !slices.IsSorted(r.UsedBy) {
		r.UsedBy = slices.Clone(r.UsedBy)
		slices.Sort(r.UsedBy)
	}
	if len(r.UsedBy) == 0 {
		r.UsedBy = nil
	}
	return r
}

func byID(a, b guard.Child) int {
	return cmp.Or(strings.Compare(string(a.ID.Kind), string(b.ID.Kind)), strings.Compare(a.ID.ID, b.ID.ID))
}

// plain is a time as it comes back from the ledger.
func plain(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
