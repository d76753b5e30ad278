// Package activity folds the samples of one instance into what judgements of idleness
// rest on: since when nothing has worked there, how well that is known, what is loaded,
// and what else than the GPUs works. It is pure and incremental: each sample is folded
// once, and nothing is scanned again.
//
// A sample shows work, rest, or neither. Any GPU that works, power or memory that moves,
// a core, the network or the disk that goes on, a person or a job is work, and ends what
// was idle. Rest is only what is told of every GPU and of every signal that was told
// within the day before, in this boot and by this source. All else (garbage, a frozen exporter, numbers that contradict
// each other, a GPU that is missing) is not known, and what is not known is not idle: it
// neither ends a quiet window nor counts in it, but for a power that only work draws,
// which ends it.
//
// How well that does on real traces, beside the rules of others, is printed by
//
//	go test -run Trace -v ./policy/activity
//
// where the traces stand beside the repository.
package activity

import (
	"time"

	"guard"
)

// Busy is what resets the quiet clock; the defaults and their reasons are in [Defaults].
type Busy struct {
	GPU      float64       // percent, of any one GPU
	CPUCores float64       // cores above the box's own baseline
	Net      float64       // bytes a second, in or out
	Disk     float64       // bytes a second
	Boot     time.Duration // after a boot nothing is idle for that long
	Coverage float64       // 0 to 1: how much of a quiet window must have been seen
}

// Defaults are the documented ones.
func Defaults() Busy {
	return Busy{GPU: 2, CPUCores: 0.4, Net: 200_000, Disk: 2_000_000, Boot: 20 * time.Minute, Coverage: 0.8}
}

// Box is what is known of the machine that samples are of.
type Box struct {
	GPUs     int
	GPUModel string
	Created  time.Time // zero: not told
	Running  bool      // in any other state there is nothing to judge
}

// Quiet is what sort of quiet it is.
type Quiet string

// The sorts.
const (
	// Empty: no GPU process, and next to no memory of any GPU in use.
	Empty Quiet = "empty"
	// Resident: something is loaded.
	Resident Quiet = "resident"
	// Blind: nobody tells the processes, so that it cannot be told from Empty or Resident.
	Blind Quiet = "blind"
)

// Span is a condition that holds, where Since is set.
type Span struct {
	// Since is when it began: the beginning of the first interval that had it.
	Since time.Time `json:"since,omitzero"`
	// Seen is how much of the time since then samples stand for; what lies in a hole
	// counts for nothing.
	Seen time.Duration `json:"seen,omitzero"`
	// End is the end of the newest sample that had it: what came after told nothing, or
	// nothing came. Of a condition that does not hold, it is that of the newest sample
	// that said so.
	End time.Time `json:"end,omitzero"`
	// Why is what makes it so, in a few words for people.
	Why string `json:"why,omitzero"`
	// Turns is what is known of how it comes and goes, whether it holds or not.
	Turns `json:"turns,omitzero"`
}

// On reports whether it holds.
func (s Span) On() bool { return !s.Since.IsZero() }

// Lasts is how long it has held at a time.
func (s Span) Lasts(at time.Time) time.Duration {
	if !s.On() {
		return 0
	}
	return at.Sub(s.Since)
}

// State is what the samples of one instance have told so far. The zero value has seen
// none. The spans are judged by package policy; a span of an earlier boot is over.
//
// A sample that does not tell whether something works changes no span: it is not seen,
// so that Span.Seen falls behind the clock. After more than [Hole] (or three intervals)
// without one that tells, a span begins anew.
type State struct {
	// At is the end of the newest sample that told whether something works, and Heard
	// the end of the newest one, whatever it told. Interval, Basis and Source are that
	// one's own.
	At       time.Time     `json:"at,omitzero"`
	Heard    time.Time     `json:"heard,omitzero"`
	Interval time.Duration `json:"interval,omitzero"`
	Basis    guard.Basis   `json:"basis,omitzero"`
	Source   string        `json:"source,omitzero"`
	// Boot is the machine's boot and BootAt about when it began, as far as samples tell.
	// Of a box that does not run nothing else is kept.
	Boot   string    `json:"boot,omitzero"`
	BootAt time.Time `json:"boot_at,omitzero"`

	// Idle: nothing of what counts as work. Sort is what sort of idle; a change of sort
	// does not begin Idle anew, but Sorted tells since when it is this one.
	Idle   Span      `json:"idle,omitzero"`
	Sort   Quiet     `json:"sort,omitzero"`
	Sorted time.Time `json:"sorted,omitzero"`
	// GPUsQuiet: no GPU works, whatever else does. Parked: they are quiet, and something
	// else works (Why says what).
	GPUsQuiet Span `json:"gpus_quiet,omitzero"`
	Parked    Span `json:"parked,omitzero"`
	// Came is how many bytes came in since the box is parked.
	Came float64 `json:"came,omitzero"`
	// Hung: half of the GPUs or more are pinned at next to no power, without disk or
	// network. Phantom: utilisation, and no process alive.
	Hung    Span `json:"hung,omitzero"`
	Phantom Span `json:"phantom,omitzero"`
	// Underused: over busy time, Unused of the GPUs (by index) did nothing and hold nothing.
	Underused Span  `json:"underused,omitzero"`
	Unused    []int `json:"unused,omitzero"`
	// Lost: the samples stopped, or tell nothing that can be believed (Why says what).
	Lost Span `json:"lost,omitzero"`

	// Worked is when work was last seen (the end of its interval), and Work what it was:
	// "gpu 93 %", "cpu 6.0 cores".
	Worked time.Time `json:"worked,omitzero"`
	Work   string    `json:"work,omitzero"`
	// Doubts are what the newest sample tells and is not believed, or does not tell and
	// should, each naming its metric: "util 37100 % of gpu 0".
	Doubts []string `json:"doubts,omitzero"`
	// Held: memory is held by processes of which none is alive.
	Held bool `json:"held,omitzero"`

	fold
}
