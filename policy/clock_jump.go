package policy

import (
	"fmt"
	"time"

	"guard"
)

// steppedFor is how long a harmless step stays a finding: it is an event.
const steppedFor = time.Hour

// clockJump tells that guard's own wall clock was stepped.
func clockJump(_ Rules, f Facts) Outcome {
	c := f.Clock
	if c == nil || c.Stepped == 0 {
		return Outcome{}
	}
	if c.Trusted && !f.At.Before(c.At.Add(steppedFor)) {
		return Outcome{}
	}
	v := Verdict{Rule: guard.RuleClockJump, Since: c.At, Urgent: !c.Trusted}
	way := "forward"
	if c.Stepped < 0 {
		way = "back"
	}
	v.Facts = []guard.Fact{
		{Name: "step", Value: span(c.Stepped), Source: "the machine's two clocks", At: c.At},
		{Name: "trusted", Value: guard.TriOf(c.Trusted).String(), Source: "providers' own time", At: f.At},
	}
	s := Stage{Name: "stepped " + c.At.UTC().Format(time.RFC3339) + " " + span(c.Stepped),
		Title: fmt.Sprintf("guard's clock was stepped %s by %s", way, span(c.Stepped.Abs()))}
	if c.Trusted {
		s.Lines = []string{"Limits are judged by the new time."}
		v.Stages = []Stage{s}
		return Outcome{Verdicts: []Verdict{v}, Next: f.after(c.At.Add(steppedFor))}
	}
	s.Lines = []string{
		"No provider's own time confirms it, so nothing is released because of the new time.",
		"Set the clock right (or connect guard to a time server); guard goes on by itself once it agrees.",
	}
	v.Stages = []Stage{s}
	return Outcome{Verdicts: []Verdict{v}}
}
