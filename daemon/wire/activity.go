package wire

import "time"

// Activity is how hard an instance works, as far as samples tell.
type Activity struct {
	// State is busy, empty (nothing loaded), resident (something loaded, nothing runs),
	// blind (idle, and nobody tells what is loaded), parked (the GPUs wait for something
	// else), hung, phantom (utilisation without a process), lost (no samples come) or
	// unknown. Since is when that began; null where it is not told.
	State string     `json:"state"`
	Since *time.Time `json:"since"`
	// Why says more, where there is more to say.
	Why string `json:"why,omitempty"`
	// Work is the last that was seen, and WorkedAt when it ended.
	Work     string     `json:"work,omitempty"`
	WorkedAt *time.Time `json:"worked_at"`
	// Source is who told the newest sample, SampledAt its end, Interval what it stands
	// for in seconds, and Basis what its numbers are: instant, average or summary.
	Source    string     `json:"source,omitempty"`
	SampledAt *time.Time `json:"sampled_at"`
	Interval  float64    `json:"interval_s,omitempty"`
	Basis     string     `json:"basis,omitempty"`
	// Coverage is how much of an idle window was seen, 0 to 1; null where it is not idle.
	Coverage *float64 `json:"coverage"`
	// Lines are the numbers of the window for people, the last one a sparkline of the
	// busiest GPU; Failing are sources that tell nothing. Only show has them.
	Lines   []string `json:"lines,omitempty"`
	Failing []string `json:"failing,omitempty"`
}
