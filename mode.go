package guard

import "time"

// ModeWord is what a person said about the mode of an account. It counts as long as
// the configuration still says what it overrides.
type ModeWord struct {
	Mode Mode      `json:"mode"`
	Over Mode      `json:"over"` // the configured mode that it overrides
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Counts reports whether the word overrides a configured mode.
func (w ModeWord) Counts(configured Mode) bool {
	return w.Mode != "" && w.Over == configured && w.Mode != configured
}

// PauseName is the name of the ledger's value that holds a [Pause].
const PauseName = "guard/pause"

// Pause is why guard acts in no account, whatever their modes are, until an admin
// says `guard resume` (laws 8 and 11). It watches, counts and tells meanwhile.
type Pause struct {
	Cause PauseCause `json:"cause"`
	Why   string     `json:"why"` // what happened, a clause without its full stop
	Since time.Time  `json:"since"`
	Told  bool       `json:"told,omitzero"` // people were
}

// On reports whether guard is paused.
func (p Pause) On() bool { return p.Cause != "" }

// PauseCause is what paused guard.
type PauseCause string

// The causes.
const (
	PauseRestored PauseCause = "restored" // the ledger was put back from a backup
	PauseMoved    PauseCause = "moved"    // the ledger woke up on another machine
	PauseRival    PauseCause = "rival"    // another guard acts with a copy of this ledger
)
