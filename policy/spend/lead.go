package spend

import (
	"cmp"
	"slices"
	"time"

	"guard"
)

const (
	// LastReleases is how many of an account's last releases are measured.
	LastReleases = 100
	// onTheWay is what passes between a deadline and the provider's accepting: the
	// intent's way to the disk, and the call's own.
	onTheWay = 10 * time.Second
)

// Lead is how long before the crossing of a cap the call is due: what the adapter
// declares or the longest measured, whichever is more, and the call's own way.
func Lead(t guard.Truths, longest time.Duration) time.Duration {
	return max(t.ReleaseLead, longest) + onTheWay
}

// Longest is how long the slowest of one account's last releases took, from the
// accepted call until billing ended; zero where none was measured. ended may be in
// any order.
func Longest(ended []guard.Release) time.Duration {
	var longest time.Duration
	for _, r := range Latest(ended) {
		longest = max(longest, r.Receipt.Took)
	}
	return longest
}

// Latest is as many of one account's ended releases as are measured, the last
// first. Those that released nothing are left out.
func Latest(ended []guard.Release) []guard.Release {
	took := slices.DeleteFunc(slices.Clone(ended), func(r guard.Release) bool {
		return r.State != guard.ReleaseDone || r.Action != guard.ActRelease || r.Receipt == nil
	})
	slices.SortFunc(took, func(a, b guard.Release) int {
		return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(a.ID, b.ID))
	})
	return took[:min(len(took), LastReleases)]
}
