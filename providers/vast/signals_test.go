package vast

import (
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/vast/vasttest"
)

// TestSignalsCostNoCall: what the listing of a poll told is told once, without asking again;
// what is newer, or was listed long ago, is asked for.
func TestSignalsCostNoCall(t *testing.T) {
	c, util := full(), 42.0
	c.Boxes["1"] = vasttest.Box{Util: &util}
	p := on(t, c)
	boxes := listed(t, p, guard.Instance)
	ask := func(after time.Duration, since time.Time) []providers.Signals {
		var q providers.SignalQuery
		for _, id := range []string{"1", "2", "99"} {
			r := boxes[id]
			r.ID.ID = id
			q.Of = append(q.Of, providers.SignalsOf{Resource: r, Since: since})
		}
		return p.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(after)}), q)
	}
	tell := func(x providers.Signals) (s string) {
		for _, one := range x.Samples {
			s += fmt.Sprintf("%s %s of %s:", one.At.Format("15:04"), one.Basis, one.Interval)
			for _, g := range one.GPUs {
				s += fmt.Sprintf(" %g%% of %g", g.Util.V, g.MemTotal.V)
			}
		}
		return s
	}
	got := ask(30*time.Second, noon.Wall.Add(-time.Hour))
	for i, want := range []string{"12:00 instant of 1m0s: 42% of 24576", "", ""} {
		if s := tell(got[i]); s != want || got[i].Err != nil {
			t.Errorf("answer %d: %q, %v; want %q", i, s, got[i].Err, want)
		}
	}
	if n := len(c.Calls()); n != 1 {
		t.Errorf("%d calls for what was just listed", n-1)
	}
	if s := tell(ask(2*time.Minute, noon.Wall)[0]); s != "12:02 instant of 2m0s: 42% of 24576" || len(c.Calls()) != 2 {
		t.Errorf("asked for what is newer: %q after %d calls", s, len(c.Calls())-1)
	}
	if s := tell(ask(time.Hour, time.Time{})[0]); s != "13:00 instant of 1m0s: 42% of 24576" || len(c.Calls()) != 3 {
		t.Errorf("an hour later: %q after %d calls", s, len(c.Calls())-1)
	}
}

// TestUtilisation: a fraction or a percentage, which nobody says; what can be only one of
// them is told, and nothing else is.
func TestUtilisation(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "0.0": "0", "-0.0": "0", "42": "42", "99.5": "99.5", "100": "100", "1.5": "1.5",
		"0.5": "unknown", "1": "unknown", "1.0": "unknown", "0.001": "unknown", "-1": "unknown", "101": "unknown", "1e38": "unknown",
		"null": "unknown", `"42"`: "unknown", "": "unknown", "[]": "unknown",
	} {
		got := "unknown"
		if g := percent(providers.Field(in)); g.OK {
			got = fmt.Sprint(g.V + 0)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}
