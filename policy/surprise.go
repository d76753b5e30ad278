package policy

import (
	"time"

	"guard"
)

// surpriseWindow is the hour in which unforeseen releases are counted.
const surpriseWindow = time.Hour

// Foreseen reports whether people could have known of a release: a person
// ordered it, or for at least the grace the limit that a person set has stood in the
// ledger, or the notice of a judgement has been acknowledged (law 7). Stood is since
// when; zero: not at all.
func Foreseen(cause guard.Cause, stood time.Time, grace time.Duration, at time.Time) bool {
	if cause == guard.CausePerson {
		return true
	}
	return !stood.IsZero() && !stood.After(at.Add(-grace))
}

// Unforeseen is one release that was let through uncounted on by people.
type Unforeseen struct {
	Release string    `json:"release"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Surprise is the count that bounds unforeseen releases.
type Surprise struct {
	// Live is how many live instances the account has.
	Live int
	// Past are the unforeseen releases so far, of all accounts.
	Past []Unforeseen
}

// Allows reports whether one more unforeseen release in an account fits: at most
// max(2, ⌈percent of its live instances⌉) of its own and UnforeseenPerHour of
// all within an hour. A release that was counted once fits for good.
func (s Surprise) Allows(l Limits, release, account string, at time.Time) bool {
	own, all := 0, 0
	for _, u := range s.Past {
		if u.Release == release {
			return true
		}
		if !within(u.At, at) {
			continue
		}
		all++
		if u.Account == account {
			own++
		}
	}
	return own < max(2, ceilPercent(s.Live, l.UnforeseenPercent)) && all < l.UnforeseenPerHour
}

// Count adds a release that was let through, and drops what is too old to count.
func (s Surprise) Count(release, account string, at time.Time) []Unforeseen {
	kept := make([]Unforeseen, 0, len(s.Past)+1)
	for _, u := range s.Past {
		if u.Release == release {
			return s.Past
		}
		if within(u.At, at) {
			kept = append(kept, u)
		}
	}
	return append(kept, Unforeseen{Release: release, Account: account, At: at})
}

// within reports a moment of the last hour. One that lies ahead, after the clock
// was set back, counts as well: the bound never loosens by a stepped clock.
func within(t, at time.Time) bool { return t.After(at.Add(-surpriseWindow)) }

func ceilPercent(n, percent int) int { return (n*percent + 99) / 100 }
