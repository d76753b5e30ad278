package spend

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

const poll = time.Minute

func due(d time.Duration) guard.Deadline {
	at := t0.Add(d)
	return guard.Deadline{Reason: guard.DeadlineBudget, Limit: at, Due: at, Basis: "100 USD"}
}

func sight(now, read time.Duration) Sight {
	return Sight{At: t0.Add(now), Read: t0.Add(read), Poll: poll}
}

func TestOneOddFactNeverShoots(t *testing.T) {
	old := Settle(nil, due(10*time.Hour), sight(0, 0))
	// The odd reading: the deadline would be past already.
	held := Settle(&old, due(-time.Hour), sight(time.Minute, time.Minute))
	if !held.Due.Equal(old.Due) || held.Candidate == nil || held.Candidate.Readings != 1 {
		t.Fatalf("one reading moved the deadline to now: %+v", held)
	}
	// Time alone, without a newer reading, is no second reading.
	again := Settle(&held, due(-time.Hour), sight(30*time.Minute, time.Minute))
	if !again.Due.Equal(old.Due) || again.Candidate == nil {
		t.Fatalf("adopted without a second reading: %+v", again)
	}
	// One poll later is too soon.
	again = Settle(&held, due(-time.Hour), sight(2*time.Minute, 2*time.Minute))
	if !again.Due.Equal(old.Due) {
		t.Fatalf("adopted after one poll: %+v", again)
	}
	// Two polls later it is believed, with ten minutes of notice.
	now := 3*time.Minute + time.Second
	taken := Settle(&again, due(-time.Hour), sight(now, now))
	if want := t0.Add(now + Notice); !taken.Due.Equal(want) || taken.Candidate != nil || !taken.Stood.Equal(t0.Add(now)) {
		t.Fatalf("got %+v, want due %v", taken, want)
	}
	// The notice is not cut short by solving once more.
	more := Settle(&taken, due(-time.Hour), sight(now+time.Minute, now+time.Minute))
	if !more.Due.Equal(taken.Due) {
		t.Fatalf("the notice was cut short: %+v", more)
	}
	// Nor does its end move anything: people have known since it began.
	over := Settle(&more, due(-2*time.Hour), sight(now+Notice+time.Minute, now+Notice+time.Minute))
	if !over.Due.Equal(taken.Due) || !over.Stood.Equal(taken.Stood) {
		t.Fatalf("the end of the notice counts as a move: %+v", over)
	}
	// Where it would be due later again, nothing is left of the notice.
	if later := Settle(&over, due(time.Hour), sight(now+20*time.Minute, now+20*time.Minute)); !later.NotBefore.IsZero() || !later.Due.Equal(t0.Add(time.Hour)) {
		t.Fatalf("a notice that is over stays: %+v", later)
	}
	// The price came back instead: nothing is left of it.
	back := Settle(&held, due(10*time.Hour), sight(2*time.Minute, 2*time.Minute))
	if !back.Due.Equal(old.Due) || back.Candidate != nil || !back.Stood.Equal(old.Stood) {
		t.Fatalf("a revert left something: %+v", back)
	}
}

func TestDoubtHoldsWhateverElse(t *testing.T) {
	old := Settle(nil, due(10*time.Hour), sight(0, 0))
	s := sight(time.Hour, time.Hour)
	s.Doubtful = true
	moved := due(time.Hour)
	moved.Basis = "50 USD" // a person halves the cap while the price is in doubt
	if got := Settle(&old, moved, s); !got.Due.Equal(old.Due) || got.Candidate == nil {
		t.Fatalf("a doubtful price shot: %+v", got)
	}
}

func TestAPersonMovesADeadlineAtOnce(t *testing.T) {
	old := Settle(nil, due(10*time.Hour), sight(0, 0))
	moved := due(time.Hour)
	moved.Basis = "10 USD"
	got := Settle(&old, moved, sight(time.Hour, time.Hour))
	if !got.Due.Equal(moved.Due) || got.Candidate != nil || !got.Stood.Equal(t0.Add(time.Hour)) {
		t.Fatalf("got %+v", got)
	}
}

func TestSmallMovesAreAdoptedAtOnce(t *testing.T) {
	old := Settle(nil, due(50*time.Minute), sight(0, 0))
	got := Settle(&old, due(5*time.Minute), sight(time.Minute, time.Minute))
	if !got.Due.Equal(t0.Add(5*time.Minute)) || got.Candidate != nil {
		t.Fatalf("got %+v: it was near already, landing comes first", got)
	}
}

func TestStood(t *testing.T) {
	steps := []struct {
		name  string
		due   time.Duration
		now   time.Duration
		stood time.Duration
	}{
		{"later keeps it", 12 * time.Hour, time.Hour, 0},
		{"half an hour earlier keeps it", 11*time.Hour + 30*time.Minute, 2 * time.Hour, 0},
		{"creeping past an hour does not", 10*time.Hour + 50*time.Minute, 3 * time.Hour, 3 * time.Hour},
		{"and counts from there", 10 * time.Hour, 4 * time.Hour, 3 * time.Hour},
	}
	d := Settle(nil, due(10*time.Hour), sight(0, 0))
	for _, s := range steps {
		d = Settle(&d, due(s.due), sight(s.now, s.now))
		if !d.Stood.Equal(t0.Add(s.stood)) {
			t.Errorf("%s: stood since %v, want %v", s.name, d.Stood.Sub(t0), s.stood)
		}
	}
}

// Whatever is solved in whatever order, one reading never takes a deadline from
// more than an hour away to less than the notice.
func TestSettleNeverJumpsFromFarToNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, read := time.Duration(0), time.Duration(0)
		d := Settle(nil, due(5*time.Hour), sight(0, 0))
		var near time.Duration = -1 // the first reading of the near stretch
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(1, 90).Draw(t, "pause")) * time.Second
			if rapid.Bool().Draw(t, "read") {
				read = now
			}
			next := due(now + time.Duration(rapid.IntRange(-300, 600).Draw(t, "due"))*time.Minute)
			isNear := !next.Due.After(t0.Add(now + poll + Notice))
			if !isNear {
				near = -1
			} else if near < 0 {
				near = now
			}
			got := Settle(&d, next, sight(now, read))
			if d.Due.After(t0.Add(now+Far)) && got.Due.Before(t0.Add(now+Notice)) {
				t.Fatalf("at %v: from %v to %v at once", now, d.Due.Sub(t0), got.Due.Sub(t0))
			}
			if d.Due.After(t0.Add(now+Far)) && isNear && !got.Due.Equal(d.Due) && read-near < Agree*poll {
				t.Fatalf("at %v: adopted on readings %v apart", now, read-near)
			}
			d = got
		}
	})
}
