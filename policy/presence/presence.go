package presence

import (
	"maps"
	"slices"
	"time"

	"guard"
)

// Case is what must be known beside the readings.
type Case struct {
	// Registered is when a person registered the thing; zero where nobody did.
	Registered time.Time
	// Issued: a release of ours was sent, so that the end is our doing unless the
	// provider says otherwise.
	Issued bool
	// With is how the instance ended that takes the thing along; "" where none
	// does or it has not ended.
	With guard.How
	// HasGet: the provider reads single things of this kind by ID. Where it does, a
	// listing alone never proves absence; where it does not, nothing else does.
	HasGet bool
	// UsedUp: the account's balance is used up, and at that its provider deletes what runs.
	UsedUp bool
}

// Judgement is what the readings so far amount to.
type Judgement struct {
	Verdict Verdict
	// NextAt is when the next reading can tell more; zero where only the usual
	// polls can.
	NextAt time.Time
	// Gone is the proof, with VerdictGone.
	Gone *guard.Gone
}

// Look folds one read by ID, made under the account identity `identity`, into
// what is observed. Where there is no such read, the answer is from a complete listing, and
// proves what that does. It returns the observation with its Absent readings and, when
// proven, Gone brought up to date; Resource is left as it was, which is how the
// thing was last seen alive. A record that is gone already stays gone.
func Look(o guard.Observed, l guard.Lookup, identity string, at guard.Instant, c Case) (guard.Observed, Judgement) {
	if o.Gone != nil {
		return o, Judgement{Verdict: VerdictGone, Gone: o.Gone}
	}
	if v, ok := dismiss(o, l, identity); ok {
		return o, Judgement{Verdict: v, NextAt: next(o, at.Wall, c)}
	}
	r := guard.Reading{At: at.Wall, Elapsed: at.Elapsed, Verdict: l.Verdict, Identity: identity, ByID: c.HasGet}
	if l.Verdict == guard.VerdictFound {
		r.State = l.Resource.State
		if l.Resource.Live() {
			o.Absent, o.Seen, o.NotSame = nil, at.Wall, time.Time{}
			return o, Judgement{Verdict: VerdictPresent}
		}
		r.Changed, r.Ended = l.Resource.Changed, l.Resource.Ended
	}
	return fold(o, r, c)
}

// Unlisted folds a complete listing of the thing's scope and kind that leaves it
// out. Never call it for a listing that failed, was cut short, or was made under
// an identity that is in doubt.
func Unlisted(o guard.Observed, identity string, at guard.Instant, c Case) (guard.Observed, Judgement) {
	if o.Gone != nil {
		return o, Judgement{Verdict: VerdictGone, Gone: o.Gone}
	}
	if !sameIdentity(o, identity) {
		return o, Judgement{Verdict: VerdictOtherIdentity, NextAt: next(o, at.Wall, c)}
	}
	return fold(o, guard.Reading{At: at.Wall, Elapsed: at.Elapsed, Verdict: guard.VerdictAbsent, Identity: identity}, c)
}

// Shown folds a complete listing that shows the thing in a terminal state. That
// proves nothing, since listings are not what ends are proven with, but it tells of
// the time: a proof that comes later takes it. Never call it for a listing that
// failed, was cut short, or was made under an identity that is in doubt.
func Shown(o guard.Observed, fresh guard.Resource, identity string, at guard.Instant, c Case) (guard.Observed, Judgement) {
	if o.Gone != nil {
		return o, Judgement{Verdict: VerdictGone, Gone: o.Gone}
	}
	l := guard.Lookup{ID: fresh.ID, Verdict: guard.VerdictFound, Resource: fresh}
	if v, ok := dismiss(o, l, identity); ok {
		return o, Judgement{Verdict: v, NextAt: next(o, at.Wall, c)}
	}
	r := guard.Reading{At: at.Wall, Elapsed: at.Elapsed, Verdict: guard.VerdictFound, State: fresh.State, Identity: identity,
		Changed: fresh.Changed, Ended: fresh.Ended}
	for _, old := range o.Absent {
		if !old.ByID && old.Verdict == r.Verdict && old.Changed.Equal(r.Changed) && old.Identity == identity {
			return o, Judgement{Verdict: VerdictShown, NextAt: next(o, at.Wall, c)} // the first tells the most
		}
	}
	return fold(o, r, c)
}

// Same reports whether a fresh reading is of the very thing that was observed:
// the ID and, where both know it, the creation time.
func Same(observed, fresh guard.Resource) bool {
	a, b := observed.ID, fresh.ID
	if a.ID != b.ID || a.Kind != b.Kind || a.Account != b.Account {
		return false
	}
	return SameCreation(observed.Created, fresh.Created)
}

// Known is a fresh reading in which what the provider does not tell this time is as
// it was known: a field that is missing once takes nothing away. It is for two
// readings of the same thing.
func Known(known, fresh guard.Resource) guard.Resource {
	if fresh.TagsUntold {
		fresh.Tags, fresh.TagsUntold = known.Tags, known.TagsUntold
	}
	if fresh.HasGPU == guard.Unknown && fresh.GPUs == 0 {
		fresh.HasGPU, fresh.GPUs = known.HasGPU, known.GPUs
	}
	if fresh.GPUModel == "" {
		fresh.GPUModel = known.GPUModel
	}
	if fresh.StopSaves == guard.StopUnknown {
		fresh.StopSaves = known.StopSaves
	}
	if fresh.UsesUntold && len(fresh.UsedBy) == 0 {
		fresh.UsedBy = known.UsedBy
	}
	if fresh.State == guard.StateStopped && fresh.Ended != guard.ByPlatform && known.Ended == guard.ByRelease {
		fresh.Ended = guard.ByRelease // a provider may not tell our stop from its own
	}
	return fresh
}

// FreedAt is since when nothing needs what is observed, as of a fresh reading at a time
// (UTC), itself brought up to date by [Known]; zero where something does, or nothing
// ever did.
func FreedAt(o guard.Observed, fresh guard.Resource, at time.Time) time.Time {
	switch {
	case len(fresh.UsedBy) > 0:
		return time.Time{}
	case len(o.Resource.UsedBy) > 0:
		return at
	}
	return o.FreedAt
}

// Refresh brings what is known of a thing up to date with a fresh reading of it, in
// all that says whether guard may touch it and how. What it costs stays: only the
// loop that observes turns that into changes for the meter.
func Refresh(known, fresh guard.Resource) guard.Resource {
	fresh = Known(known, fresh)
	known.Tags, known.TagsUntold = fresh.Tags, fresh.TagsUntold
	known.HasGPU, known.GPUs, known.GPUModel = fresh.HasGPU, fresh.GPUs, fresh.GPUModel
	known.Parent, known.UsedBy, known.UsesUntold = fresh.Parent, fresh.UsedBy, fresh.UsesUntold
	known.ReleaseProtected, known.StopProtected, known.StopSaves = fresh.ReleaseProtected, fresh.StopProtected, fresh.StopSaves
	return known
}

// lostFor is how long a lost tag is remembered.
const lostFor = time.Hour

// LostTags are the tags of what is observed that are lost as of a fresh reading at a
// time (UTC), itself brought up to date by [Known]: those it leaves out or changes, and
// those lost before that are not back. Each is there with its first such reading.
func LostTags(o guard.Observed, fresh guard.Resource, at time.Time) []guard.LostTag {
	var lost []guard.LostTag
	back := func(key, value string) bool {
		v, ok := fresh.Tags[key]
		return ok && v == value
	}
	for _, t := range o.LostTags {
		if !back(t.Key, t.Value) && at.Sub(t.Since) < lostFor {
			lost = append(lost, t)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Resource.Tags)) {
		value := o.Resource.Tags[key]
		if back(key, value) || slices.ContainsFunc(lost, func(t guard.LostTag) bool { return t.Key == key && t.Value == value }) {
			continue
		}
		lost = append(lost, guard.LostTag{Key: key, Value: value, Since: at})
	}
	return lost
}

// SameCreation reports whether two creation times can be of one thing. One that
// is not known contradicts nothing.
func SameCreation(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Sub(b).Abs() <= CreationTolerance
}

// Born is the moment before which nobody could have seen the thing, for the
// purpose of patience: its creation where that is believable, else when it was
// first seen, or its registration where that is later.
func Born(o guard.Observed, registered time.Time) time.Time {
	born := o.Resource.Created
	if born.IsZero() || born.After(o.FirstSeen.Add(Skew)) {
		born = o.FirstSeen
	}
	if registered.After(born) {
		born = registered
	}
	return born
}

// dismiss names the reading that says nothing of this thing.
func dismiss(o guard.Observed, l guard.Lookup, identity string) (Verdict, bool) {
	switch {
	case !sameIdentity(o, identity):
		return VerdictOtherIdentity, true
	case l.Verdict != guard.VerdictFound && l.Verdict != guard.VerdictAbsent:
		return VerdictUnread, true
	case l.Verdict == guard.VerdictAbsent:
		return "", false
	case l.Resource.ID.Key() != o.Resource.ID.Key():
		return VerdictNullObject, true
	case !Same(o.Resource, l.Resource):
		return VerdictNotSame, true
	}
	return "", false
}

// sameIdentity: an identity that nobody recorded vouches for nothing.
func sameIdentity(o guard.Observed, identity string) bool {
	return identity != "" && identity == o.Identity
}

// class sorts readings by what two of them prove together. Readings of
// different classes never prove anything together.
type class int

const (
	listed   class = iota // left out of a listing
	young                 // not found by ID, too soon to mean it
	absent                // not found by ID
	terminal              // found by ID in a terminal state
	shown                 // listed in a terminal state, which proves nothing
	classes
)

func classOf(r guard.Reading, born time.Time) class {
	switch {
	case r.Verdict == guard.VerdictFound && !r.ByID:
		return shown
	case r.Verdict == guard.VerdictFound:
		return terminal
	case !r.ByID:
		return listed
	case r.At.Before(born.Add(Settled)):
		return young
	}
	return absent
}

// fold adds a reading that speaks against the thing and looks for a proof.
func fold(o guard.Observed, r guard.Reading, c Case) (guard.Observed, Judgement) {
	born := Born(o, c.Registered)
	o.Absent = compact(append(before(o.Absent, r), r), born)
	if first, last, ok := proof(o.Absent, born, c); ok {
		o.Gone = gone(o, first, last, c)
		return o, Judgement{Verdict: VerdictGone, Gone: o.Gone}
	}
	j := Judgement{NextAt: next(o, r.At, c)}
	switch classOf(r, born) {
	case terminal:
		j.Verdict = VerdictEnding
	case absent:
		j.Verdict = VerdictMissing
	case young:
		j.Verdict = VerdictTooYoung
	case shown:
		j.Verdict = VerdictShown
	default:
		j.Verdict = VerdictUnlisted
	}
	return o, j
}

// before copies the readings that are not later than r: where the wall clock was
// set back, what seems to lie in the future cannot be measured against.
func before(rs []guard.Reading, r guard.Reading) []guard.Reading {
	kept := make([]guard.Reading, 0, len(rs)+1)
	for _, old := range rs {
		if !old.At.After(r.At) && old.Identity == r.Identity {
			kept = append(kept, old)
		}
	}
	return kept
}

// compact keeps the first and the last reading of each class, which prove as
// much as all of them, so that an outage of days does not grow the ledger.
func compact(rs []guard.Reading, born time.Time) []guard.Reading {
	var first, last [classes]int
	for i := range first {
		first[i], last[i] = -1, -1
	}
	for i, r := range rs {
		k := classOf(r, born)
		if first[k] < 0 {
			first[k] = i
		}
		last[k] = i
	}
	kept := rs[:0:0]
	for i, r := range rs {
		if k := classOf(r, born); first[k] == i || last[k] == i {
			kept = append(kept, r)
		}
	}
	return kept
}

// proof returns the two readings that prove the end, if there are.
func proof(rs []guard.Reading, born time.Time, c Case) (first, last guard.Reading, ok bool) {
	for _, want := range []class{terminal, absent, listed} {
		apart := Apart
		if want == listed {
			if c.HasGet {
				continue
			}
			apart = ListApart
		}
		f, l, n := ends(rs, want, born)
		if n > 1 && distance(f, l) >= apart && (want == terminal || !l.At.Before(born.Add(Settled))) {
			return f, l, true
		}
	}
	return first, last, false
}

// ends gives the first and last reading of a class, and how many there are.
func ends(rs []guard.Reading, want class, born time.Time) (first, last guard.Reading, n int) {
	for _, r := range rs {
		if classOf(r, born) != want {
			continue
		}
		if n == 0 {
			first = r
		}
		last = r
		n++
	}
	return first, last, n
}

// distance is how far apart two readings are on the axis that did not step: the
// lesser of the two, where the elapsed one is of the same boot.
func distance(a, b guard.Reading) time.Duration {
	wall := b.At.Sub(a.At)
	if a.Elapsed > 0 && b.Elapsed >= a.Elapsed {
		return min(wall, b.Elapsed-a.Elapsed)
	}
	return wall
}

// next is when another reading could complete a proof.
func next(o guard.Observed, at time.Time, c Case) time.Time {
	born := Born(o, c.Registered)
	var soonest time.Time
	consider := func(t time.Time) {
		if soonest.IsZero() || t.Before(soonest) {
			soonest = t
		}
	}
	if f, _, n := ends(o.Absent, terminal, born); n > 0 {
		consider(f.At.Add(Apart))
	}
	if f, _, n := ends(o.Absent, absent, born); n > 0 {
		consider(f.At.Add(Apart))
	} else if _, _, n := ends(o.Absent, young, born); n > 0 {
		consider(born.Add(Settled))
	}
	if f, _, n := ends(o.Absent, listed, born); n > 0 && !c.HasGet {
		consider(f.At.Add(ListApart))
	}
	if !soonest.IsZero() && !soonest.After(at) {
		// It was due and the reading failed, or was too close on the other axis.
		return at.Add(Apart)
	}
	return soonest
}

// gone writes the proof down. Of an absence the end is the first of the two readings: one
// that came too young may have missed a thing that lived and billed, so it is no earlier end.
func gone(o guard.Observed, first, last guard.Reading, c Case) *guard.Gone {
	g := &guard.Gone{
		At:        first.At,
		Estimated: true,
		How:       how(o, c),
		Proof:     guard.ProofAbsence,
		Readings:  []guard.Reading{first, last},
		ProvenAt:  last.At,
	}
	if first.Verdict == guard.VerdictFound {
		g.Proof = guard.ProofTerminal
	}
	// A tombstone that aged out before it was read twice still told the time.
	for _, r := range o.Absent {
		if r.Verdict != guard.VerdictFound {
			continue
		}
		if r.At.Before(g.At) {
			g.At = r.At
		}
		if believable(r, o) {
			g.At, g.Estimated = r.Changed, false
			break
		}
	}
	return g
}

// believable reports whether the provider's time of an end can be true: not
// after it was read, and not long before the thing was last seen alive.
func believable(r guard.Reading, o guard.Observed) bool {
	if r.Changed.IsZero() || r.Changed.After(r.At.Add(Skew)) {
		return false
	}
	// A lagging state may show it alive for some minutes after it ended.
	return !r.Changed.Before(o.Seen.Add(-Settled))
}

// lapsed reports that it was missed first when the provider had said that it deletes it: a
// cloud that keeps no tombstones tells no more than that.
func lapsed(o guard.Observed) bool {
	end := o.Resource.PlatformEnds.At
	return !end.IsZero() && len(o.Absent) > 0 && !o.Seen.After(end.Add(Skew)) && !o.Absent[0].At.Before(end.Add(-Skew))
}

// how tells by whose hand it ended. The provider's own word about a reclaim or
// its own doing beats a release of ours that came too late to matter.
func how(o guard.Observed, c Case) guard.How {
	var told guard.How
	for _, r := range o.Absent {
		if r.Ended != "" {
			told = r.Ended
		}
	}
	switch {
	case told == guard.ByReclaim || told == guard.ByPlatform:
		return told
	case c.Issued:
		return guard.ByRelease
	case c.With != "":
		return c.With
	case told == guard.ByOutside:
		return told
	case told == "" && (c.UsedUp || lapsed(o)):
		return guard.ByPlatform
	case told == "" && o.Resource.Spot:
		// Where nothing is told, a spot instance that vanished was most likely
		// taken back; the proof says "absence only".
		return guard.ByReclaim
	}
	return guard.ByOutside
}
