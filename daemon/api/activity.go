package api

import (
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy/activity"
)

// activity is how hard an instance works; nil where nothing samples it.
func (s *server) activity(id guard.ResourceID, now time.Time) *wire.Activity {
	if s.Signals.Activity == nil {
		return nil
	}
	a, ok := s.Signals.Activity(id)
	if !ok {
		return nil
	}
	out := &wire.Activity{Work: a.Work, WorkedAt: s.local(a.Worked), Source: a.Source, SampledAt: s.local(a.Heard),
		Interval: a.Interval.Seconds(), Basis: string(a.Basis)}
	does, span := works(a)
	out.State, out.Since, out.Why = does, s.local(span.Since), span.Why
	if a.Idle.On() {
		seen := a.Covered(a.Idle)
		out.Coverage = &seen
	}
	return out
}

// works is what a box does, in a word, and the condition that says so.
func works(a activity.State) (string, activity.Span) {
	switch {
	case a.Lost.On():
		return "lost", a.Lost
	case a.Hung.On():
		return "hung", a.Hung
	case a.Phantom.On():
		return "phantom", a.Phantom
	case a.Idle.On() && a.Sort != "":
		return string(a.Sort), a.Idle
	case a.Parked.On():
		return "parked", a.Parked
	case !a.Worked.IsZero() && !a.Worked.Before(a.At):
		return "busy", activity.Span{}
	}
	return "unknown", activity.Span{}
}

// sampled adds what only show has.
func (s *server) sampled(id guard.ResourceID, now time.Time, out *wire.Activity) {
	if out == nil {
		return
	}
	if a, ok := s.Signals.Activity(id); ok {
		out.Lines = a.Lines(now, s.Location(), guard.English)
	}
	if s.Signals.Failing != nil {
		out.Failing = s.Signals.Failing(id)
	}
}

// deaf tells why samples do not come or are not stored, and of which loops that says all.
func (s *server) deaf(out *wire.Status) (loops []string) {
	if s.Signals.Troubles == nil {
		return nil
	}
	for _, t := range s.Signals.Troubles() {
		if t.Loop != "" {
			loops = append(loops, t.Loop)
		}
		text := t.Text
		if !t.Since.IsZero() {
			text += " since " + t.Since.In(s.Location()).Format(time.RFC3339)
		}
		need(out, text, t.Why)
	}
	return loops
}
