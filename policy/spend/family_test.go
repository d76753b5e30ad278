package spend

import (
	"testing"
	"time"

	"guard"
)

const day = 24 * time.Hour

// disk is one of 1 USD an hour that was made and first seen at a time.
func disk(created, seen time.Duration) guard.Observed {
	o := box(created)
	o.FirstSeen, o.Resource.ID.Kind, o.Resource.Rate = t0.Add(seen), guard.Volume, usd("1", time.Hour)
	return o
}

func TestSince(t *testing.T) {
	h, m := time.Hour, time.Minute
	instance := box(10 * h) // seen a minute later
	for _, c := range []struct {
		name         string
		disk         guard.Observed
		after, at    time.Duration // 0: not known; never elsewhere
		want         time.Duration
		itsBeginning bool
	}{
		{"made with it", disk(10*h, 10*h+m), 0, 0, 0, true},
		{"made later, for it", disk(20*h, 20*h+m), 19 * h, 0, 0, true},
		{"older, and on it when guard saw both", disk(-60*day, 10*h+m), 0, 0, 10 * h, false},
		{"older, and swept after it", disk(-60*day, 10*h+5*m), 0, 0, 10 * h, false},
		{"older, known elsewhere, and on it when that was first seen", disk(-60*day, 0), 10*h - 4*m, 10*h + m, 10 * h, false},
		{"known elsewhere while it began", disk(-60*day, 0), 10*h + 30*time.Second, 10*h + 5*m, 10*h + 30*time.Second, false},
		{"known elsewhere, and attached later", disk(-60*day, 0), 15 * h, 15*h + 5*m, 15*h + 5*m, false},
		{"older, and never listed before", disk(-60*day, 15*h+5*m), 15 * h, 0, 15*h + 5*m, false},
		{"made later, but not for it", disk(12*h, 12*h+m), 15 * h, 15*h + 5*m, 15*h + 5*m, false},
	} {
		if c.after != 0 {
			c.disk.AttachedAfter = t0.Add(c.after)
		}
		if c.at != 0 {
			c.disk.AttachedAt = t0.Add(c.at)
		}
		want := t0.Add(c.want)
		if c.itsBeginning {
			want = time.Time{}
		}
		if got := Since(c.disk, instance); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
	}
}

// owed is what counts to a lease after a day.
func (s *story) owed(lease string) string {
	return Spent(Of(lease, s.in.Metered), t0.Add(day)).In("USD").Round().String()
}

func (s *story) wantOwed(t *testing.T, want map[string]string) {
	t.Helper()
	for lease, sum := range want {
		if got := s.owed(lease); got != sum {
			t.Errorf("%q owes %s, want %s: %+v", lease, got, sum, s.in.Metered.Segments)
		}
	}
}

func (s *story) claim(now time.Duration, lease string, since, taken time.Duration, changes ...guard.Change) {
	s.in.Lease, s.in.Since, s.in.Taken = lease, t0.Add(since), t0.Add(taken)
	s.fold(now, changes...)
}

func TestWhoseMoneyItIs(t *testing.T) {
	h := time.Hour
	rate := usd("1", h)
	t.Run("what an old disk cost before it was attached is nobody's", func(t *testing.T) {
		s := newStory()
		s.claim(5*h, "L1", 5*h, 5*h, running(0, rate))
		s.wantOwed(t, map[string]string{"": "5.00 USD", "L1": "19.00 USD"})
		s.claim(6*h, "L1", 5*h, 5*h)
		s.wantOwed(t, map[string]string{"": "5.00 USD", "L1": "19.00 USD"})
	})
	t.Run("a disk that moves counts to the one and then to the other", func(t *testing.T) {
		s := newStory()
		s.claim(0, "L1", 0, 0, running(0, rate))
		s.claim(7*h, "", 0, 0) // detached, or on what nobody claims
		s.claim(10*h, "L2", 8*h, 8*h)
		s.wantOwed(t, map[string]string{"L1": "8.00 USD", "L2": "16.00 USD"})
		s.claim(20*h, "L1", 19*h, 19*h)
		s.wantOwed(t, map[string]string{"L1": "13.00 USD", "L2": "11.00 USD"})
	})
	t.Run("a price of before it moved is the first one's", func(t *testing.T) {
		s := newStory()
		s.claim(0, "L1", 0, 0, running(0, rate))
		s.claim(10*h, "L2", 8*h, 8*h, running(7*h, usd("1.1", h)))
		s.wantOwed(t, map[string]string{"L1": "8.10 USD", "L2": "17.60 USD"})
	})
	t.Run("another lease takes nothing of the past", func(t *testing.T) {
		s := newStory()
		s.claim(0, "L1", 0, 0, running(0, rate))
		s.claim(9*h, "L2", 0, 12*h) // by a clock that was ahead
		s.wantOwed(t, map[string]string{"L1": "9.00 USD", "L2": "15.00 USD"})
		s.in.Taken = time.Time{}
		s.in.Lease = "L3"
		s.fold(10 * h)
		s.wantOwed(t, map[string]string{"L1": "9.00 USD", "L2": "1.00 USD", "L3": "14.00 USD"})
	})
}
