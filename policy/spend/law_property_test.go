package spend

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLaw8AMoveIsReadTwice: through whatever deadlines are solved, one that comes
// from more than an hour away to now is adopted only on a reading two polls after
// the first of an unbroken row that said so, and is due ten minutes later at least.
// A person's own word is no odd fact.
func TestLaw8AMoveIsReadTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Duration(0)
		held := Settle(nil, due(10*time.Hour), sight(0, 0))
		first := time.Duration(-1) // of the row
		for range rapid.IntRange(1, 25).Draw(t, "readings") {
			now += rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, time.Hour}).Draw(t, "after")
			read := now - rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 5 * time.Minute}).Draw(t, "read ago")
			s := sight(now, read)
			s.Doubtful = rapid.IntRange(0, 4).Draw(t, "doubtful") == 4
			to := now + rapid.SampledFrom([]time.Duration{-time.Hour, 0, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 20 * time.Hour}).Draw(t, "solved")
			soon := to <= now+poll+10*time.Minute
			switch {
			case !soon:
				first = -1
			case first < 0 && held.Due.After(t0.Add(now+time.Hour)):
				first = now
			}
			was := held
			held = Settle(&was, due(to), s)
			begun := first
			if held.Candidate == nil {
				first = -1 // what was adopted, or came to nothing, is no candidate any more
			}
			if begun < 0 || !held.Due.Before(was.Due) {
				continue
			}
			if s.Doubtful || read < begun+2*poll {
				t.Fatalf("law 8 broken: at %s one odd fact moved the deadline from %s to %s; it was first read at %s and last at %s", now, was.Due, held.Due, begun, read)
			}
			if held.Due.Before(t0.Add(now + 10*time.Minute)) {
				t.Fatalf("law 8 broken: at %s the deadline moved to %s without notice", now, held.Due)
			}
		}
	})
}
