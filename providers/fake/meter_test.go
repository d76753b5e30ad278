package fake

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/providers"
)

// The meter agrees with one that looks at every second.
func TestMeterCountsEverySecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := Script{Account: "m", ReleaseTakes: AtOnce, Resources: []Resource{{ID: "i-1", Rate: &Rate{Amount: "36", Per: "hour"}}}}
		second := rapid.IntRange(0, 300)
		at := map[int]Event{}
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			e := Event{ID: "i-1"}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				e.State = stateStopped
			case 1:
				e.State = stateRunning
			case 2:
				e.Rate = &Rate{Amount: rapid.SampledFrom([]string{"72", "0.36", "0", "360"}).Draw(t, "rate"), Per: "hour"}
			case 3:
				e.State = "frozen"
			}
			s := second.Draw(t, "at")
			e.At = time.Duration(s) * time.Second
			at[s] = e // one event a second: their order is not the point
		}
		end := second.Draw(t, "end")
		at[end] = Event{ID: "i-1", Delete: true, At: time.Duration(end) * time.Second}
		for _, e := range at {
			sc.Timeline = append(sc.Timeline, e)
		}
		until := second.Draw(t, "until")

		want := new(big.Rat)
		rate, running := big.NewRat(36, 3600), true
		for s := range min(until, end) {
			if e, ok := at[s]; ok && e.State != "" {
				running = e.State != stateStopped
			} else if ok && e.Rate != nil {
				r, _ := new(big.Rat).SetString(e.Rate.Amount)
				rate = r.Quo(r, big.NewRat(3600, 1))
			}
			if running {
				want.Add(want, rate)
			}
		}
		c := MustCloud(sc)
		c.Advance(DefaultStart.Add(time.Duration(until) * time.Second))
		if got, _ := c.Spend("i-1"); got.Cmp(want) != 0 {
			t.Fatalf("after %d s it is %s, want %s: %+v", until, got, want, at)
		}
	})
}

// What is stopped costs no more because it is released.
func TestAStoppedThingDoesNotRunToBeReleased(t *testing.T) {
	sc := Script{Account: "m", ReleaseTakes: 10 * time.Minute, Billing: Billing{Minimum: time.Hour}, Timeline: []Event{{At: time.Hour, ID: "i-1", State: stateStopped}},
		Resources: []Resource{{ID: "i-1", Rate: &Rate{Amount: "36", Per: "hour"}, StoppedRate: &Rate{Amount: "0.6", Per: "hour"}}}}
	s := tell(t, sc)
	id := s.c.ID(guard.Instance, "i-1")
	if err := s.p.Release(s.at(2*time.Hour), id, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	s.c.Advance(DefaultStart.Add(5 * time.Hour))
	s.spend("i-1", "36.7")
}
