package policy

import (
	"time"

	"guard"
)

// movedFor is how long it stays a finding that guard's time was put right: it is an
// event.
const movedFor = time.Hour

// clockJump tells that guard's own wall clock is wrong, or was.
func clockJump(_ Rules, f Facts) Outcome {
	c := f.Clock
	switch {
	case c == nil:
	case c.Off != 0:
		return Outcome{Verdicts: []Verdict{c.off(f)}}
	case !c.DoubtSince.IsZero():
		return Outcome{Verdicts: []Verdict{c.doubt(f)}}
	case c.Moved != 0 && f.At.Before(c.MovedAt.Add(movedFor)):
		return Outcome{Verdicts: []Verdict{c.moved(f)}, Next: c.MovedAt.Add(movedFor)}
	}
	return Outcome{}
}

func (c *Clock) off(f Facts) Verdict {
	by := f.span(c.Off.Abs().Round(time.Second))
	title := f.say("guard's clock is %s ahead", by)
	if c.Off < 0 {
		title = f.say("guard's clock is %s behind", by)
	}
	return Verdict{Rule: guard.RuleClockJump, Since: c.Since, Urgent: true,
		Facts: []guard.Fact{{Name: "off", Value: span(c.Off), Source: "the machine's two clocks and the providers' own", At: f.At}},
		Stages: []Stage{{Name: "off " + c.Since.UTC().Format(time.RFC3339),
			Title: title,
			Lines: []string{
				f.say("guard goes by the time that has elapsed and by what providers tell: it is %s.", f.stamp(f.At)),
				f.say("Set the clock right, or connect guard's machine to a time server. Where it is right as it is, a provider's own time soon says so, and guard follows."),
			}}}}
}

func (c *Clock) doubt(f Facts) Verdict {
	return Verdict{Rule: guard.RuleClockJump, Since: c.DoubtSince, Urgent: true,
		Facts: []guard.Fact{{Name: "confirmed", Value: guard.No.String(), Source: "providers' own time", At: f.At}},
		Stages: []Stage{{Name: "in doubt " + c.DoubtSince.UTC().Format(time.RFC3339),
			Title: f.say("guard's clock is not confirmed since its machine started"),
			Lines: []string{
				f.say("Much time may have passed since guard ran last, and no provider's own time says how much: nothing is released that may not be due."),
				f.say("guard goes on by itself as soon as it can reach a provider."),
			}}}}
}

func (c *Clock) moved(f Facts) Verdict {
	by := f.span(c.Moved.Abs().Round(time.Second))
	title := f.say("the time that guard goes by was put forward by %s", by)
	if c.Moved < 0 {
		title = f.say("the time that guard goes by was put back by %s", by)
	}
	return Verdict{Rule: guard.RuleClockJump, Since: c.MovedAt,
		Facts: []guard.Fact{{Name: "moved", Value: span(c.Moved), Source: "providers' own time", At: c.MovedAt}},
		Stages: []Stage{{Name: "moved " + c.MovedAt.UTC().Format(time.RFC3339) + " " + span(c.Moved),
			Title: title,
			Lines: []string{f.say("Providers tell that it is %s; limits are judged by that.", f.stamp(f.At))}}}}
}
