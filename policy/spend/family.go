package spend

import (
	"time"

	"guard"
)

// Since is from when on what hangs on an instance, or last hung there, counts to
// that one's lease; zero: from its own beginning, which is for what was made no
// earlier than the instance and never seen elsewhere. Anything else counts from when
// it was first seen there, or from the instance's beginning where it may have hung
// there before guard knew of the instance.
func Since(child, instance guard.Observed) time.Time {
	own, _ := Start(child)
	start, _ := Start(instance)
	switch {
	case child.AttachedAt.IsZero() && !own.Before(start):
		return time.Time{}
	case child.AttachedAfter.IsZero() || child.AttachedAfter.Before(instance.FirstSeen):
		return later(start, child.AttachedAfter)
	case child.AttachedAt.IsZero():
		return child.FirstSeen
	}
	return child.AttachedAt
}

// Taken is from when on it counts so although it was another lease's: since both
// stood, the lease and what Since tells.
func Taken(since time.Time, lease guard.Lease) time.Time { return later(since, lease.RegisteredAt) }

// Of is the part of the records that counts to a lease.
func Of(lease string, records ...guard.Metered) []guard.Segment {
	var out []guard.Segment
	for _, m := range records {
		for _, s := range Segments(m) {
			if s.Lease == lease {
				out = append(out, s)
			}
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
