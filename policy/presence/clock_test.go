package presence

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var clockStart = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

// told is a story of clocks: true time is clockStart plus what has elapsed.
type told struct {
	clocks []Clock
	at     time.Duration // elapsed
	off    time.Duration // of guard's wall clock
}

func (s *told) now() guard.Instant {
	return guard.Instant{Wall: clockStart.Add(s.at + s.off), Elapsed: s.at}
}

func (s *told) hear(i int, off time.Duration) {
	s.clocks[i] = s.clocks[i].Hear(clockStart.Add(s.at+off).Truncate(time.Second), s.now(), "b", time.Minute)
}

func (s *told) judged() time.Duration {
	return Now(s.clocks, "b", s.now()).Wall.Sub(clockStart.Add(s.at))
}

func TestAClockSetWrongIsPutRight(t *testing.T) {
	for _, off := range []time.Duration{-26 * time.Hour, -2 * time.Hour, -3 * time.Minute, 50 * time.Minute, 10 * 365 * 24 * time.Hour} {
		s := &told{clocks: make([]Clock, 1), off: off}
		s.hear(0, 0)
		if got := s.judged(); got != off {
			t.Errorf("%v off: one reading makes it %v", off, got)
		}
		s.at += time.Minute
		s.hear(0, 0)
		if got := s.judged(); got != off {
			t.Errorf("%v off: a reading one poll later makes it %v", off, got)
		}
		s.at += time.Minute
		s.hear(0, 0)
		if got := s.judged(); got.Abs() > time.Second {
			t.Errorf("%v off: two readings leave %v", off, got)
		}
		// A later step needs no new reading, and neither does an outage.
		s.off, s.at = -off, s.at+5*time.Hour
		if got := s.judged(); got.Abs() > time.Second {
			t.Errorf("a step to %v off leaves %v", -off, got)
		}
		s.at += Lasts
		if got := s.judged(); got != -off {
			t.Errorf("what was told a day ago makes it %v", got)
		}
	}
}

func TestAClockThatIsRightStaysExact(t *testing.T) {
	s := &told{clocks: make([]Clock, 2), off: 1234 * time.Millisecond}
	for range 10 {
		s.hear(0, 0)
		s.hear(1, -20*time.Second)
		if got := s.judged(); got != s.off {
			t.Fatalf("it was set to %v", got)
		}
		s.at += time.Minute
	}
}

func TestAnotherBootBeginsAnew(t *testing.T) {
	s := &told{clocks: make([]Clock, 1), off: -2 * time.Hour}
	for range 3 {
		s.hear(0, 0)
		s.at += time.Minute
	}
	if got := Now(s.clocks, "other", s.now()); got != s.now() {
		t.Errorf("an elapsed time of another boot was carried on: %v", got)
	}
	if got := Now(s.clocks, "", s.now()); got != s.now() {
		t.Errorf("a boot that is not known vouches for nothing: %v", got)
	}
	if c := s.clocks[0].Hear(clockStart, s.now(), "other", time.Minute); !c.Sure.IsZero() {
		t.Errorf("got %+v", c)
	}
}

// However guard's clock steps, and whichever single readings are odd: once most of
// the clocks have been read twice, the time is true within Skew and a second, and
// before that it is guard's own or true.
func TestOneOddReadingMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 3, 4}).Draw(t, "accounts")
		s := &told{clocks: make([]Clock, n)}
		odd := make([]bool, n)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				s.off = time.Duration(rapid.IntRange(-300, 300).Draw(t, "minutes off")) * time.Minute
			case 1:
				s.at += time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute
			default:
				i := rapid.IntRange(0, n-1).Draw(t, "account")
				// An odd one is never followed by an odd one.
				wrong := !odd[i] && rapid.IntRange(0, 4).Draw(t, "odd") == 0
				var off time.Duration
				if wrong {
					off = time.Duration(rapid.IntRange(2, 6000).Draw(t, "minutes odd")) * time.Minute
				} else {
					off = time.Duration(rapid.IntRange(-20, 20).Draw(t, "seconds")) * time.Second
				}
				s.at += 2 * time.Minute
				s.hear(i, off)
				odd[i] = wrong
			}
			got := s.judged()
			if got.Abs() > Skew+time.Second && got != s.off {
				t.Fatalf("it is judged to be %v off; guard's own clock is %v off", got, s.off)
			}
			sure := true
			for _, c := range s.clocks {
				sure = sure && !c.Sure.IsZero() && s.at-c.Sure.Elapsed <= Lasts
			}
			if sure && got.Abs() > Skew+time.Second {
				t.Fatalf("all are sure, and it is judged %v off", got)
			}
		}
	})
}
