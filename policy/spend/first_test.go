package spend

import (
	"testing"
	"time"

	"guard"
)

func TestWhatWasStoppedBeforeItWasSeen(t *testing.T) {
	h := time.Hour
	for _, c := range []struct {
		name    string
		changed time.Time
		saves   guard.StopEffect
		spent   string // 10 an hour while it runs, 1 while it is stopped, an hour after the first sight
	}{
		{"stopped halfway", t0.Add(-5 * h), guard.StopSavesCompute, "56.00 USD"},
		{"stopped since its creation", t0.Add(-10 * h), guard.StopSavesCompute, "11.00 USD"},
		{"stopped since its creation, which saves nothing", t0.Add(-10 * h), guard.StopSavesNothing, "110.00 USD"},
		{"stopped before it was launched", t0.Add(-20 * h), guard.StopSavesCompute, "11.00 USD"},
		{"no date: nothing is made up", time.Time{}, guard.StopSavesCompute, "1.00 USD"},
		{"the epoch is no date", time.Unix(0, 0), guard.StopSavesCompute, "1.00 USD"},
		{"a date in the future is none", t0.Add(h), guard.StopSavesCompute, "1.00 USD"},
		{"no date, and a stop saves nothing", time.Time{}, guard.StopSavesNothing, "110.00 USD"},
		{"no date, and what a stop saves is not known", time.Time{}, guard.StopUnknown, "110.00 USD"},
	} {
		r := guard.Resource{ID: rid("i-1"), State: guard.StateStopped, Created: t0.Add(-10 * h), Changed: c.changed,
			Rate: usd("10", h), StoppedRate: usd("1", h), StopSaves: c.saves}
		m, _ := Fold(Input{Observed: First(r, "acct-1", t0), At: t0, Read: t0, Poll: poll})
		if got := Spent(m.Segments, t0.Add(h)).In("USD").Round().String(); got != c.spent {
			t.Errorf("%s: spent %s, want %s", c.name, got, c.spent)
		}
	}
}
