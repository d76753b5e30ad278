package runpod

import (
	"fmt"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/runpod/runpodtest"
)

// TestSignalsCostNoCall: what the listing of a poll told is told once, without asking
// again; what is newer, or was listed long ago, is asked for.
func TestSignalsCostNoCall(t *testing.T) {
	c := full()
	c.Pods["p1"] = runpodtest.Pod{Util: []int{42, 0}}
	p := on(t, c)
	boxes := listed(t, p, guard.Instance)
	listed(t, p, guard.Instance) // the catalogue is known now
	ask := func(after time.Duration, since time.Time) []providers.Signals {
		var q providers.SignalQuery
		for _, id := range []string{"p1", "cluster/c1", "serverless/e1", "nobody"} {
			r := boxes[id]
			r.ID.ID = id
			q.Of = append(q.Of, providers.SignalsOf{Resource: r, Since: since})
		}
		return p.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(after)}), q)
	}
	tell := func(x providers.Signals) (s string) {
		for _, one := range x.Samples {
			s += fmt.Sprintf("%s %s of %s boot %t:", one.At.Format("15:04"), one.Basis, one.Interval, one.Boot != "")
			for _, g := range one.GPUs {
				s += fmt.Sprintf(" %g%% %g/%g", g.Util.V, g.MemUsed.V, g.MemTotal.V)
			}
		}
		return s
	}
	before := len(c.Calls())
	got := ask(30*time.Second, noon.Wall.Add(-time.Hour))
	if n := len(c.Calls()) - before; n != 0 {
		t.Errorf("%d calls for what was just listed", n)
	}
	for i, want := range []string{"12:00 instant of 1m0s boot true: 42% 12288/24576 0% 12288/24576", "12:00 instant of 1m0s boot false: 90% 12288/24576 80% 12288/24576", "", ""} {
		if s := tell(got[i]); s != want || got[i].Err != nil {
			t.Errorf("answer %d: %q, %v; want %q", i, s, got[i].Err, want)
		}
	}
	if s := tell(ask(2*time.Minute, noon.Wall)[0]); s != "12:02 instant of 2m0s boot true: 42% 12288/24576 0% 12288/24576" || len(c.Calls()) != before+1 {
		t.Errorf("asked for what is newer: %q after %d calls", s, len(c.Calls())-before)
	}
	if s := tell(ask(time.Hour, time.Time{})[0]); s[:24] != "13:00 instant of 1m0s bo" || len(c.Calls()) != before+2 {
		t.Errorf("an hour later: %q after %d calls", s, len(c.Calls())-before)
	}
}

// TestACPUPodTellsItsCores, of which the API knows how many it has.
func TestACPUPodTellsItsCores(t *testing.T) {
	c := cloud(thing("cpu"))
	c.Pods["cpu"] = runpodtest.Pod{CPU: true, Util: []int{}}
	p := on(t, c)
	r := listed(t, p, guard.Instance)["cpu"]
	got := p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: r}}})[0]
	if len(got.Samples) != 1 || got.Samples[0].CPUCores != guard.Known(1) || got.Samples[0].Cores != guard.Known(4) {
		t.Errorf("%+v", got)
	}
}
