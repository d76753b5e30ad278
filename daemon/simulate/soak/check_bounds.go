package soak

import (
	"slices"
	"time"

	"guard"
	"guard/providers/fake"
)

// adoptAfter is how old a box is before guard registers it.
const adoptAfter = 10 * time.Minute

// second is when a veto was last said of a box, by a moment; 0 where none was.
func (b *life) second(at time.Duration) time.Duration {
	last := time.Duration(0)
	for _, v := range b.vetoes {
		if v.at <= at {
			last = v.at
		}
	}
	return last
}

// adopted reports whether what guard registers by itself can be the cause of a call:
// an admin said that it shall end, and its life is over.
func (j *judge) adopted(b *life, at time.Duration) bool {
	a := j.week.Adopt
	return a != nil && a.OnLimit == guard.ActRelease && b.adoptable() && at+j.slack() >= max(b.born, 0)+a.TTL
}

// adoptable reports a box that guard may act on, by what the script says of it.
func (b *life) adoptable() bool {
	return b.spec.GPUs != fake.NoGPU && b.spec.Tags[guard.TagDeployment] == "" && b.spec.Tags["guard:keep"] == "" && b.account.Script.Self != b.spec.ID
}

// adoptions holds what guard registers by itself: in good weather every box that
// nobody does and that it may act on; instances only, with the life that was said, and
// nothing that is protected, another's, or without a GPU.
func (j *judge) adoptions() {
	kept := map[string]guard.Lease{}
	for _, l := range j.book.leases {
		if b := j.byID[l.Resource.String()]; l.Adopted && b != nil {
			kept[b.id] = l
			if j.week.Adopt == nil || l.Resource.Kind != guard.Instance || !b.adoptable() {
				j.wrong(11, "ledger", j.latest(l.RegisteredAt), b.id, "guard has registered what it must not: %+v", l)
			}
		}
	}
	if j.week.Adopt == nil {
		return
	}
	for _, b := range j.boxes {
		if len(b.claims) > 0 || b.born == never || !b.adoptable() || len(b.events()) > 0 || len(b.orders) > 0 {
			continue
		}
		by := max(b.born, 0) + adoptAfter + b.account.Script.Lag.Appears + 3*j.poll() + reactionTime
		if by >= min(b.gone, j.h.Length) || !calm(j.storms(b), 0, by) || j.steps() {
			continue
		}
		l, ok := kept[b.id]
		if !ok || j.latest(l.RegisteredAt) > by || l.ExpiresAt.Sub(l.RegisteredAt) != j.week.Adopt.TTL {
			j.wrong(0, "ledger", by, b.id, "nobody registered it, and guard had to by now; it has %+v", l)
			continue
		}
		gone := by + j.week.Adopt.TTL + takes(b.account) + max(reactionTime, retryAtLeast)
		if _, must := j.acts(b.account, gone); j.week.Adopt.OnLimit == guard.ActRelease && must && gone < min(b.gone, j.h.Length) &&
			calm(j.storms(b), 0, gone) && !slices.Contains(protections(b, gone), "release") && len(j.week.Hits) == 0 {
			j.wrong(9, "missed limit", gone, b.id, "it was adopted until %s, and lives until %s", l.ExpiresAt, b.gone)
		}
	}
}
