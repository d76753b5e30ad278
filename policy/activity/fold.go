package activity

import (
	"time"

	"guard"
)

// fold is what the next sample is folded with, beside what judgements rest on.
type fold struct{}

// Fold takes in the next sample. One that is not newer than the state's, or that lies
// more than a minute ahead of at, changes nothing (see Admit).
func (s State) Fold(b Busy, box Box, x guard.Sample, at time.Time) State { return s }

// Look takes in that time has passed without a sample: at is now.
func (s State) Look(b Busy, box Box, at time.Time) State { return s }

// Admit says why a sample cannot be taken in at a time; nil where it can.
func (s State) Admit(x guard.Sample, at time.Time) error { return nil }

// Same reports whether judgements rest on the same in both: what only grows older (At,
// Seen, and the like) is no difference.
func (s State) Same(o State) bool { return false }

// Covered is how much of a span was seen, 0 to 1, at the end of the newest sample.
func (s State) Covered(x Span) float64 { return 0 }

// Fresh reports whether the newest sample is no older than three of its intervals.
func (s State) Fresh(at time.Time) bool { return false }

// Lines are the window's numbers for people, with a small sparkline of the busiest GPU.
func (s State) Lines(at time.Time, zone *time.Location) []string { return nil }
