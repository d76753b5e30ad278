package presence

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

// look is one attempt to see a thing, of any sort.
type look struct {
	after    time.Duration // since the one before, on the axis that does not step
	step     time.Duration // of the wall clock, forward only
	verdict  guard.Verdict
	state    guard.State
	identity string
	listed   bool // a complete list without it, in place of a read by ID
}

func looks(t *rapid.T) []look {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) look {
		return look{
			after:    rapid.SampledFrom([]time.Duration{0, time.Second, 29 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute}).Draw(t, "after"),
			step:     rapid.SampledFrom([]time.Duration{0, 0, 0, time.Hour}).Draw(t, "step"),
			verdict:  rapid.SampledFrom([]guard.Verdict{guard.VerdictAbsent, guard.VerdictFound, guard.VerdictUnknown, ""}).Draw(t, "verdict"),
			state:    rapid.SampledFrom([]guard.State{guard.StateGone, guard.StateGone, guard.StateRunning, guard.StateReleasing, guard.StateUnknown}).Draw(t, "state"),
			identity: rapid.SampledFrom([]string{"acct-1", "acct-1", "acct-1", "acct-2", ""}).Draw(t, "identity"),
			listed:   rapid.IntRange(0, 4).Draw(t, "listed") == 4,
		}
	}), 1, 12).Draw(t, "looks")
}

// against is one look of the oracle that speaks against the thing.
type against struct {
	sort          string
	wall, elapsed time.Duration
}

// proven is law 2 in its own words: two looks of one sort, far enough apart on both
// axes; absence counts five minutes after the birth only. Where nothing can be read by ID,
// what is not found is not listed, and a terminal state is only shown.
func proven(seen []against, born time.Duration, hasGet bool) bool {
	for _, a := range seen {
		for _, b := range seen {
			apart := min(b.wall-a.wall, b.elapsed-a.elapsed)
			settled := a.wall >= born+5*time.Minute
			switch {
			case a.sort != b.sort:
			case a.sort == "terminal" && apart >= 30*time.Second,
				a.sort == "absent" && settled && apart >= 30*time.Second,
				a.sort == "listed" && !hasGet && b.wall >= born+5*time.Minute && apart >= 5*time.Minute:
				return true
			}
		}
	}
	return false
}

// TestLaw2OnlyProofEnds: whatever is seen in whatever order, a thing is gone from
// the look on that completes a proof, and not before.
func TestLaw2OnlyProofEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Case{HasGet: rapid.Bool().Draw(t, "has get")}
		born := -rapid.SampledFrom([]time.Duration{time.Hour, 4 * time.Minute, 0}).Draw(t, "age")
		o := guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning, Created: t0.Add(born)}, Identity: "acct-1", FirstSeen: t0, Seen: t0}
		if rapid.Bool().Draw(t, "registered") {
			c.Registered, born = t0, 0
		}
		var wall, elapsed time.Duration
		var seen []against
		for i, l := range looks(t) {
			elapsed += l.after
			wall += l.after + l.step
			now := guard.Instant{Wall: t0.Add(wall), Elapsed: time.Hour + elapsed}
			lookup := guard.Lookup{ID: id, Verdict: l.verdict, Resource: guard.Resource{ID: id, State: l.state, Created: o.Resource.Created}}
			var j Judgement
			if l.listed {
				o, j = Unlisted(o, l.identity, now, c)
			} else {
				o, j = Look(o, lookup, l.identity, now, c)
			}
			switch {
			case l.identity != "acct-1":
			case l.listed, l.verdict == guard.VerdictAbsent && !c.HasGet:
				seen = append(seen, against{"listed", wall, elapsed})
			case l.verdict == guard.VerdictAbsent:
				seen = append(seen, against{"absent", wall, elapsed})
			case l.verdict == guard.VerdictFound && l.state == guard.StateGone:
				if c.HasGet {
					seen = append(seen, against{"terminal", wall, elapsed})
				}
			case l.verdict == guard.VerdictFound:
				seen = nil
			}
			if want, got := proven(seen, born, c.HasGet), o.Gone != nil; got != want || got != (j.Verdict == VerdictGone) {
				t.Fatalf("law 2 broken: after look %d gone is %t and %s, want %t; seen %+v, born %s", i+1, got, j.Verdict, want, seen, born)
			}
			if o.Gone != nil {
				return
			}
		}
	})
}
