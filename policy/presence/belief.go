package presence

import (
	"time"

	"guard"
)

const (
	// grain is how far apart two tellings of one time lie anyhow: providers tell
	// seconds, and an answer takes its time.
	grain = 2 * time.Second
	// farStart is how long after the last run a start may be before the wall clock
	// alone does not say how long it was.
	farStart = time.Hour
)

// BeliefName is the name of the last Belief among the ledger's values.
const BeliefName = "decide/last"

// Belief is the time that guard goes by, and what is known of it. Within a boot the
// time that has elapsed carries it on, whatever happens to the machine's wall clock,
// which it follows only where that is no farther from what the providers tell.
type Belief struct {
	// At is the last instant so told. Boot is the boot that its elapsed time, and all
	// below, counts in; "" where that is not known.
	At   guard.Instant `json:"last"`
	Boot string        `json:"boot,omitzero"`
	// Off is how far the wall clock is ahead of the time that guard goes by, where
	// that is more than Skew, and Since when it came to be, by that time.
	Off   time.Duration `json:"off,omitzero"`
	Since time.Time     `json:"since,omitzero"`
	// Moved is by how much the time that guard goes by was last set, where that is
	// more than Skew, and MovedAt when, by the new time.
	Moved   time.Duration `json:"moved,omitzero"`
	MovedAt time.Time     `json:"moved_at,omitzero"`
	// Doubt: guard started in another boot than it last ran in, and nobody has told
	// yet how long that was. The time is Least at the least.
	Doubt bool          `json:"doubt,omitzero"`
	Least guard.Instant `json:"least,omitzero"`
}

// Begin is the belief of a process that starts, from what the one before it kept;
// zero where there was none. The wall clock is all that tells the time after another
// boot, but time does not go back, and where it says that much time has passed, that
// is in doubt until a provider says so, too.
func Begin(kept Belief, boot string, at guard.Instant) Belief {
	switch {
	case kept.At.IsZero():
		return Belief{At: at, Boot: boot}
	case boot != "" && kept.Boot == boot && !at.Before(kept.At):
		return kept
	}
	b := Belief{At: at, Boot: boot, Least: guard.Instant{Wall: kept.At.Wall, Elapsed: at.Elapsed}}
	if kept.Doubt {
		b.Least.Wall = kept.least(kept.At)
	}
	switch gap := at.Wall.Sub(b.Least.Wall); {
	case gap < -Skew:
		b.At.Wall, b.Doubt = b.Least.Wall, true
	case gap > farStart:
		b.Doubt = true
	}
	return b
}

// Next is the belief at a later instant, as the machine's two clocks tell it. Clocks
// are what providers told, one for each account that ever told the time.
func (b Belief) Next(at guard.Instant, clocks []Clock) Belief {
	going := b.At.Wall.Add(at.Sub(b.At))
	wall := b.wall(going, at, clocks)
	if moved := wall.Sub(going); moved.Abs() > Skew {
		b.Moved, b.MovedAt = moved, wall
	}
	off := at.Wall.Sub(wall)
	if off.Abs() <= Skew {
		off = 0
	}
	if (off - b.Off).Abs() > Skew {
		b.Since = wall
	}
	if b.Off = off; off == 0 {
		b.Since = time.Time{}
	}
	b.Doubt = b.Doubt && b.doubtful(at, clocks)
	b.At = guard.Instant{Wall: wall, Elapsed: at.Elapsed}
	return b
}

// wall is the time to go by, which would be going where nothing tells another one.
func (b Belief) wall(going time.Time, at guard.Instant, clocks []Clock) time.Time {
	// The wall clock is right where it is no farther from what is told than going is.
	right := func(told time.Time) bool {
		off := at.Wall.Sub(told).Abs()
		return off <= Skew && off <= going.Sub(told).Abs()+grain
	}
	if told, ok := agreed(clocks, b.Boot, at); ok {
		switch {
		case right(told):
			return at.Wall
		case going.Sub(told).Abs() > Skew/2:
			return told
		}
		return going // no farther off than a provider may be, and it does not jitter
	}
	guess := going
	for _, c := range clocks {
		told, ok := c.last(b.Boot, at)
		if ok && right(told) {
			return at.Wall
		}
		if ok && b.Doubt && !told.Before(b.least(at).Add(-Skew)) {
			guess = told // one word is better than none
		}
	}
	if at.Wall.Sub(guess).Abs() <= grain {
		return at.Wall // a clock that is slewed, or a leap second
	}
	return guess
}

// doubtful reports whether nobody but the wall clock tells the time yet. Where nobody
// ever does, it must do.
func (b Belief) doubtful(at guard.Instant, clocks []Clock) bool {
	if _, ok := agreed(clocks, b.Boot, at); ok || b.Boot == "" || len(clocks) == 0 {
		return false
	}
	for _, c := range clocks {
		if told, ok := c.last(b.Boot, at); ok && told.Sub(at.Wall).Abs() <= Skew {
			return false
		}
	}
	return true
}

// Passed reports whether a time is certain to have come.
func (b Belief) Passed(t time.Time, at guard.Instant) bool {
	if b.Doubt {
		return !t.After(b.least(at))
	}
	return !t.After(at.Wall)
}

// least is the earliest time that it can be at an instant.
func (b Belief) least(at guard.Instant) time.Time { return b.Least.Wall.Add(at.Sub(b.Least)) }
