package presence

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var clockStart = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

const tenYears = 10 * 365 * 24 * time.Hour

// timeline is a story of clocks: true time is clockStart plus what has passed.
type timeline struct {
	clocks []Clock
	at     time.Duration // since the start
	booted time.Duration // when the machine was
	off    time.Duration // of guard's wall clock
	boot   string
	belief Belief
}

// newTimeline is guard's first start, with the wall clock off.
func newTimeline(clocks int, off time.Duration) *timeline {
	s := &timeline{clocks: make([]Clock, clocks), booted: -time.Hour, off: off, boot: "a"}
	s.belief = Begin(Belief{}, s.boot, s.now())
	return s
}

func (s *timeline) now() guard.Instant {
	return guard.Instant{Wall: clockStart.Add(s.at + s.off), Elapsed: s.at - s.booted}
}

// heard are the clocks that ever told the time.
func (s *timeline) heard() []Clock {
	var out []Clock
	for _, c := range s.clocks {
		if c != (Clock{}) {
			out = append(out, c)
		}
	}
	return out
}

func (s *timeline) hear(i int, off time.Duration) {
	s.clocks[i] = s.clocks[i].Hear(clockStart.Add(s.at+off).Truncate(time.Second), s.now(), s.boot, time.Minute)
}

// judged is how far the time that guard goes by is off.
func (s *timeline) judged() time.Duration {
	s.belief = s.belief.Next(s.now(), s.heard())
	return s.belief.At.Wall.Sub(clockStart.Add(s.at))
}

// poll lets minutes pass in which every provider tells the time.
func (s *timeline) poll(minutes int) {
	for range minutes {
		s.at += time.Minute
		for i := range s.clocks {
			s.hear(i, 0)
		}
		s.judged()
	}
}

// reboot starts the machine anew, down for a while, with its clock off.
func (s *timeline) reboot(down, off time.Duration) {
	s.at += down
	s.booted, s.off, s.boot = s.at-time.Minute, off, s.boot+"'"
	s.belief = Begin(s.belief, s.boot, s.now())
}

func (s *timeline) want(t *testing.T, what string, off, within time.Duration) {
	t.Helper()
	if got := s.judged(); (got - off).Abs() > within {
		t.Errorf("%s: the time is taken to be %v off, want %v", what, got, off)
	}
}

func TestAClockSetWrongIsPutRight(t *testing.T) {
	for _, off := range []time.Duration{-26 * time.Hour, -2 * time.Hour, -3 * time.Minute, 50 * time.Minute, tenYears} {
		s := newTimeline(1, off)
		s.hear(0, 0)
		s.want(t, "one reading", off, 0)
		s.at += time.Minute
		s.hear(0, 0)
		s.want(t, "a reading one poll later", off, 0)
		s.at += time.Minute
		s.hear(0, 0)
		s.want(t, "two readings", 0, grain)
		if b := s.belief; (b.Moved+off).Abs() > grain || (b.Off-off).Abs() > grain || b.Since.IsZero() {
			t.Errorf("%v off: got %+v", off, b)
		}
		// Later steps need no new reading, and neither does an outage.
		for _, step := range []time.Duration{-off, 3 * time.Minute, -tenYears, 0} {
			s.off, s.at = step, s.at+9*time.Hour
			s.want(t, fmt.Sprint("a step to ", step), 0, grain)
			if b := s.belief; (b.Off != 0) != (step != 0) {
				t.Errorf("a step to %v: got %+v", step, b)
			}
		}
	}
}

func TestAStepMovesNothing(t *testing.T) {
	for _, clocks := range []int{0, 1, 3} {
		for _, step := range []time.Duration{time.Minute, 50 * time.Second, -3 * time.Minute, 50 * time.Minute, -2 * time.Hour, tenYears} {
			s := newTimeline(clocks, 0)
			s.poll(5)
			s.off = step
			s.want(t, fmt.Sprint("at once ", step), 0, grain)
			since := s.belief.Since
			if (s.belief.Off == step) != (step.Abs() > Skew) {
				t.Errorf("%v: got %+v", step, s.belief)
			}
			s.poll(100)
			s.want(t, fmt.Sprint("left so ", step), 0, grain)
			if !s.belief.Since.Equal(since) || s.belief.Moved != 0 {
				t.Errorf("%v: got %+v, off since %v", step, s.belief, since)
			}
			s.off = 0
			s.want(t, fmt.Sprint("put right ", step), 0, grain)
			if s.belief.Off != 0 || !s.belief.Since.IsZero() {
				t.Errorf("%v: got %+v", step, s.belief)
			}
		}
	}
}

// A host that was paused shows in no clock of the machine but the one that a time
// server sets right afterwards: the providers confirm it.
func TestAStepThatIsRight(t *testing.T) {
	s := newTimeline(2, 0)
	s.poll(5)
	s.at += 4 * time.Hour
	s.booted += 4 * time.Hour // it did not count
	s.want(t, "before anybody told", -4*time.Hour, grain)
	s.poll(3)
	s.want(t, "confirmed", 0, 0)
	if s.belief.Off != 0 || (s.belief.Moved-4*time.Hour).Abs() > grain {
		t.Errorf("got %+v", s.belief)
	}
}

// A wrong clock that a time server sets right soon after the first start needs one
// provider's word.
func TestPutRightSoonAfterTheStart(t *testing.T) {
	s := newTimeline(1, -8*time.Hour)
	s.want(t, "at first", -8*time.Hour, 0)
	s.off = 0
	s.at += 10 * time.Second
	s.want(t, "before anybody told", -8*time.Hour, 0)
	s.hear(0, 0)
	s.want(t, "told", 0, 0)
}

func TestAClockThatIsRightStaysExact(t *testing.T) {
	s := newTimeline(2, 1234*time.Millisecond)
	for range 10 {
		s.hear(0, 0)
		s.hear(1, -20*time.Second)
		s.want(t, "it", s.off, 0)
		s.at += time.Minute
	}
	// One that is slewed is followed, until it is too far off.
	for range 90 {
		s.off += time.Second
		s.at += time.Minute
		s.hear(0, 0)
		s.hear(1, 0)
		if got := s.judged(); s.off <= Skew && got != s.off || got.Abs() > Skew+grain {
			t.Fatalf("%v off: it is taken to be %v off", s.off, got)
		}
	}
	if s.belief.Off == 0 {
		t.Errorf("got %+v", s.belief)
	}
}

func TestAfterAReboot(t *testing.T) {
	for _, tc := range []struct {
		down, off time.Duration
		doubt     bool
		begin     time.Duration // how far off the time is before anybody told
	}{
		{down: 10 * time.Minute},
		{down: 10 * time.Minute, off: 40 * time.Minute, begin: 40 * time.Minute},
		{down: 5 * time.Hour, doubt: true},
		{down: 5 * time.Hour, off: tenYears, doubt: true, begin: tenYears},
		{down: 5 * time.Hour, off: -8 * time.Hour, doubt: true, begin: -5 * time.Hour}, // time does not go back
	} {
		name := fmt.Sprintf("down %v, %v off", tc.down, tc.off)
		s := newTimeline(2, 0)
		s.poll(5)
		last := s.belief.At.Wall
		s.reboot(tc.down, tc.off)
		s.want(t, name, tc.begin, grain)
		if s.belief.Doubt != tc.doubt {
			t.Errorf("%s: got %+v", name, s.belief)
		}
		if tc.doubt && (!s.belief.Passed(last, s.now()) || s.belief.Passed(last.Add(time.Minute), s.belief.At)) {
			t.Errorf("%s: it is not at least the time of the last run", name)
		}
		s.hear(0, 0)
		s.judged()
		if s.belief.Doubt != (tc.doubt && tc.off != 0) {
			t.Errorf("%s, told once: got %+v", name, s.belief)
		}
		s.poll(3)
		s.want(t, name, 0, grain)
		if s.belief.Doubt {
			t.Errorf("%s: got %+v", name, s.belief)
		}
	}
}

func TestNobodyTellsTheTime(t *testing.T) {
	s := newTimeline(1, 0)
	s.judged()
	s.reboot(5*time.Hour, 0)
	if s.want(t, "after a reboot", 0, 0); s.belief.Doubt {
		t.Error("what nobody will ever confirm is in doubt")
	}
	s.boot = ""
	s.belief = Begin(Belief{At: s.now()}, "", s.now())
	s.off = 10 * time.Minute
	s.hear(0, s.off)
	s.want(t, "a boot that is not known vouches for nothing", 0, 0)
}

func TestAProcessGoesOn(t *testing.T) {
	s := newTimeline(1, 0)
	s.poll(5)
	s.off = -2 * time.Hour
	s.judged()
	kept := s.belief
	s.at += 30 * time.Second
	s.belief = Begin(kept, s.boot, s.now())
	s.want(t, "a crash while the clock is wrong", 0, grain)
	if c := s.clocks[0].Hear(clockStart, s.now(), "other", time.Minute); !c.Sure.IsZero() {
		t.Errorf("a clock of another boot goes on: %+v", c)
	}
}

// However guard's clock steps, and whichever single readings are odd: once most of
// the clocks have been read twice, the time is true within Skew, and before that
// within the first offset of guard's own clock.
func TestOneOddReadingMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 3, 4}).Draw(t, "accounts")
		first := time.Duration(rapid.SampledFrom([]int{0, 0, -300, 300}).Draw(t, "minutes off at first")) * time.Minute
		s := newTimeline(n, first)
		odd := make([]bool, n)
		told := false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				// Not to where an odd reading would agree with it.
				s.off = time.Duration(rapid.IntRange(-300, 300).Draw(t, "minutes off")) * time.Minute
			case 1:
				s.at += time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute
			default:
				i := rapid.IntRange(0, n-1).Draw(t, "account")
				// An odd one is never followed by an odd one.
				wrong := !odd[i] && rapid.IntRange(0, 4).Draw(t, "odd") == 0
				off := time.Duration(rapid.IntRange(-20, 20).Draw(t, "seconds")) * time.Second
				if wrong {
					off = time.Duration(rapid.IntRange(302, 6000).Draw(t, "minutes odd")) * time.Minute
				}
				s.at += 2 * time.Minute
				s.hear(i, off)
				odd[i] = wrong
			}
			got, sure := s.judged(), true
			for _, c := range s.clocks {
				sure = sure && !c.Sure.IsZero() && s.now().Sub(c.Sure) <= Lasts
			}
			told = told || sure
			if want := Skew + grain; told && got.Abs() > want || (got-first).Abs() > want && got.Abs() > want {
				t.Fatalf("it is judged to be %v off; guard's own clock is %v off, and was %v at first", got, s.off, first)
			}
		}
	})
}
