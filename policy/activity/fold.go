package activity

import (
	"fmt"
	"slices"
	"time"

	"guard"
)

const (
	// Hole is how long nothing may be known before a span begins anew (or three
	// intervals, where that is longer).
	Hole = 15 * time.Minute
	// early is how far ahead of guard's clock a sample's own may be.
	early = time.Minute
	// maxInterval is the longest interval one sample may stand for: a mean over more
	// than that hides whatever happened.
	maxInterval = time.Hour
	// maxGPUs is how many GPUs one machine is believed to have.
	maxGPUs = 64
)

// fold is what the next sample is folded with, beside what judgements rest on.
type fold struct {
	// From is when the first sample began.
	From time.Time `json:"from,omitzero"`
	// Told is when each of the signals was last told.
	Told [signals]time.Time `json:"told,omitzero"`
	GPUs []gpu              `json:"gpu,omitzero"`
	// Base is how many cores are busy when the box does nothing.
	Base guard.Gauge `json:"base,omitzero"`
	// Minutes are the newest ten, for what counts only where it goes on.
	Minutes []minute `json:"minutes,omitzero"`
	// Someone: in the newest sample people are logged in, and nobody tells whether they
	// type.
	Someone bool `json:"someone,omitzero"`
	// Was is what the CPU, the network and the disk did in the newest sample.
	Was [4]guard.Gauge `json:"was,omitzero"`
	// Pause is the longest that the GPUs were quiet before a piece of work that a single
	// sample shows. Run is in how many the newest work is (2: or more), and Before how
	// long the GPUs were quiet before it.
	Pause  time.Duration `json:"pause,omitzero"`
	Run    int           `json:"run,omitzero"`
	Before time.Duration `json:"before,omitzero"`
	Ring   []bucket      `json:"ring,omitzero"`
}

// Admit says why a sample cannot be taken in at a time; nil where it can. One that is
// not newer than the newest, or than the boot, is guard.ErrConflict; one that cannot be
// believed at all guard.ErrInvalid.
func (s State) Admit(x guard.Sample, at time.Time) error {
	switch {
	case x.At.Year() < 2000:
		return fmt.Errorf("%w: a sample does not say when it was taken", guard.ErrInvalid)
	case x.At.After(at.Add(early)):
		return fmt.Errorf("%w: a sample is of %s, which is %s from now: the clock of its source is ahead",
			guard.ErrInvalid, x.At.UTC().Format(time.RFC3339), x.At.Sub(at).Round(time.Second))
	case x.Interval < time.Second || x.Interval > maxInterval:
		return fmt.Errorf("%w: a sample of %s stands for %s: it must be between 1s and %s",
			guard.ErrInvalid, x.At.UTC().Format(time.RFC3339), x.Interval, maxInterval)
	case len(x.GPUs) > maxGPUs:
		return fmt.Errorf("%w: a sample tells of %d GPUs: more than %d are not believed", guard.ErrInvalid, len(x.GPUs), maxGPUs)
	case !x.At.After(s.Heard):
		return fmt.Errorf("%w: a sample of %s is not newer than the newest, of %s",
			guard.ErrConflict, x.At.UTC().Format(time.RFC3339), s.Heard.Format(time.RFC3339))
	case !x.At.After(s.BootAt):
		return fmt.Errorf("%w: a sample of %s is of before the box was stopped or booted, at %s",
			guard.ErrConflict, x.At.UTC().Format(time.RFC3339), s.BootAt.Format(time.RFC3339))
	}
	return nil
}

// Fold takes in the next sample. One that is not newer than the state's, or that lies
// more than a minute ahead of at, changes nothing (see Admit). A box that does not run
// has no activity, whatever samples say.
func (s State) Fold(b Busy, box Box, x guard.Sample, at time.Time) State {
	return s.take(b, box, x, at, false)
}

// Recall takes in a sample of a time in which its source did not answer, told only now:
// work that it shows was work, and rest that it shows was seen by nobody, so that it does
// not count.
func (s State) Recall(b Busy, box Box, x guard.Sample, at time.Time) State {
	return s.take(b, box, x, at, true)
}

func (s State) take(b Busy, box Box, x guard.Sample, at time.Time, recalled bool) State {
	if !box.Running || s.Admit(x, at) != nil {
		return s.Look(b, box, at)
	}
	x.At, x.Boot, x.Source = x.At.UTC().Round(0), name(x.Boot), name(x.Source)
	s = s.begin(x, box)
	r := s.read(b, box, x)
	r.recalled = recalled
	s.learn(b, &r)
	s.spans(&r)
	s.remember(&r)
	s.Heard, s.Interval, s.Basis, s.Source = x.At, x.Interval, x.Basis, x.Source
	s.Doubts = r.doubts
	return s.Look(b, box, at)
}

// begin gives the state that the sample is folded into: its own slices, so that the
// state before stays what it was, and nothing of an earlier boot.
func (s State) begin(x guard.Sample, box Box) State {
	start := x.At.Add(-x.Interval)
	if x.Boot != "" && s.Boot != "" && x.Boot != s.Boot {
		s = State{Boot: x.Boot, BootAt: later(start, s.Heard), Worked: s.Worked, Work: s.Work,
			fold: fold{From: s.From, Ring: s.Ring, Base: s.Base}}
	}
	if x.Boot != "" {
		s.Boot = x.Boot
	}
	if x.Source != s.Source {
		s.Told = [signals]time.Time{}
	}
	if s.From.IsZero() {
		s.From = start
	}
	s.Minutes, s.Ring, s.Unused = slices.Clone(s.Minutes), slices.Clone(s.Ring), slices.Clone(s.Unused)
	if n := max(len(x.GPUs), min(box.GPUs, maxGPUs)); n != len(s.GPUs) {
		s.GPUs = make([]gpu, n)
	} else {
		s.GPUs = slices.Clone(s.GPUs)
	}
	return s
}

// Look takes in that time has passed without a sample: at is now.
func (s State) Look(_ Busy, box Box, at time.Time) State {
	if !box.Running {
		// The moment it is next seen to run is when it booted.
		return State{Boot: s.Boot, BootAt: at.UTC().Round(0)}
	}
	if s.Heard.IsZero() {
		s.Lost = Span{}
		return s
	}
	since, why := s.At, "no sample came since"
	if since.IsZero() {
		since = s.From
	}
	turns := s.Lost.Turns
	if at.Sub(since) <= 3*s.Interval {
		if s.Lost.On() {
			turns = turns.over(s.Lost.Lasts(at), at.UTC().Round(0))
		}
		s.Lost = Span{Turns: turns}
		return s
	}
	if s.Heard.After(since) && len(s.Doubts) > 0 {
		why = s.Doubts[0]
	}
	s.Lost = Span{Since: since, Why: why, Turns: turns.again(since, at.Sub(since))}
	return s
}

// name is a source's or a boot's, as it can be kept: the box itself tells it.
func name(s string) string {
	const longest = 64
	if len(s) > longest {
		s = s[:longest]
	}
	return guard.Plain(s)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
