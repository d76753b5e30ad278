package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"guard"
)

// stopper is a box that has sent 20 MB a second for as long as makes a spike, under a
// rule that stops.
func stopper() (*sender, Facts) {
	s := newSender()
	s.rules.EgressSpike.Then = guard.ActStop
	s.days(2, rand.New(rand.NewPCG(11, 12)))
	for !s.was["rule"] {
		s.send(20e6 * 300)
	}
	f := s.facts()
	f.Mode, f.Account, f.Configured = guard.Enforce, guard.AccountStatus{Name: "lab"}, true
	f.May = May{GPU: true}
	f.Observed.Resource.GPUs, f.Observed.Resource.StopSaves = 8, guard.StopSavesCompute
	f.Lease = &guard.Lease{ID: "L1", Resource: f.Observed.Resource.ID, Status: guard.LeaseActive, OnLimit: guard.ActRelease, Grace: 10 * time.Minute}
	return s, f
}

// A spike is stopped only where nothing speaks against it, and never before its notice.
func TestEgressStop(t *testing.T) {
	s, base := stopper()
	out := egressSpike(s.rules, base)
	act := out.Act()
	if act == nil || act.Action != guard.ActStop || act.Cause != guard.CauseEgress || !act.Due.Equal(base.At.Add(10*time.Minute)) {
		t.Fatalf("%+v", act)
	}
	if v := out.Verdicts[0]; len(v.Stages) != 1 || !strings.Contains(v.Stages[0].Title, "guard will stop it at") ||
		!strings.Contains(strings.Join(v.Stages[0].Lines, "\n"), "guard veto lab/i-1 egress_spike") {
		t.Errorf("%+v", v.Stages)
	}
	for name, c := range map[string]struct {
		change func(*Rules, *Facts)
		says   string
	}{
		"nobody asks for it": {func(r *Rules, f *Facts) { r.EgressSpike.Then = guard.ActAlert }, "guard only tells"},
		"nobody's":           {func(r *Rules, f *Facts) { f.Lease = nil }, "nobody registered it"},
		"only told":          {func(r *Rules, f *Facts) { f.Lease.OnLimit = guard.ActAlert }, "on_limit is alert"},
		"held":               {func(r *Rules, f *Facts) { f.Lease.Holds = []guard.Hold{{Until: f.At.Add(time.Hour)}} }, "it is held until"},
		"protected":          {func(r *Rules, f *Facts) { f.Lease.Protected = true }, "it is protected"},
		"not allowed":        {func(r *Rules, f *Facts) { f.Observed.Resource.GPUs = 0 }, "guard never touches it"},
		"nothing to save":    {func(r *Rules, f *Facts) { f.Observed.Resource.StopSaves = guard.StopSavesNothing }, "a stop would save nothing"},
		"no price":           {func(r *Rules, f *Facts) { f.Observed.Resource.Egress = guard.EgressPrice{} }, "is not known, so guard only tells"},
		"observe":            {func(r *Rules, f *Facts) { f.Mode = guard.Observe }, "observe mode: guard will not stop it"},
		"vetoed": {func(r *Rules, f *Facts) {
			f.Mutes = []guard.Mute{{Kind: guard.Veto, Rule: guard.RuleEgressSpike, By: "ana", Until: f.At.Add(time.Hour)}}
		}, "vetoed until"},
	} {
		rules, f := s.rules, base
		observed, lease := *base.Observed, *base.Lease
		f.Observed, f.Lease = &observed, &lease
		c.change(&rules, &f)
		out := egressSpike(rules, f)
		if len(out.Verdicts) != 1 || out.Act() != nil {
			t.Errorf("%s: %+v", name, out)
			continue
		}
		if said := strings.Join(out.Verdicts[0].Stages[0].Lines, "\n"); !strings.Contains(strings.ToLower(said), c.says) {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// The stop stays due at the same time while the traffic goes on, waits where nobody tells
// of it any more, and is called for no more once it is down or the box does not run.
func TestEgressStopGoesOn(t *testing.T) {
	s, f := stopper()
	first := egressSpike(s.rules, f).Act()
	f.Release = &guard.Release{State: guard.ReleaseNoticed, Cause: guard.CauseEgress, NoticedAt: f.At, Due: first.Due}
	f.Heard = f.At.Add(5 * time.Second)
	again := func(d time.Duration) Outcome {
		g := f
		g.At = g.At.Add(d)
		return egressSpike(s.rules, g)
	}
	s.send(20e6 * 300)
	f.Egress = &s.rec
	if act := again(5 * time.Minute).Act(); act == nil || !act.Due.Equal(f.Heard.Add(10*time.Minute)) || act.Why != first.Why {
		t.Errorf("first %+v, then %+v", first, act)
	}
	if out := again(40 * time.Minute); out.Act() != nil || out.Doubt == "" || len(out.Verdicts) != 1 {
		t.Errorf("unheard of: %+v", out)
	}
	stopped := *f.Observed
	stopped.Resource.State = guard.StateStopped
	g := f
	g.Observed = &stopped
	if out := egressSpike(s.rules, g); len(out.Verdicts) > 0 || g.spikeEnds() != "It does not run any more." {
		t.Errorf("stopped: %+v, %s", out, g.spikeEnds())
	}
	for range 4 {
		s.send(0)
	}
	f.Egress, f.At = &s.rec, s.at
	if out := egressSpike(s.rules, f); out.Act() != nil || out.Doubt == "" || len(out.Verdicts) != 1 {
		t.Errorf("in a pause: %+v", out)
	}
	f.Release = nil
	if out := egressSpike(s.rules, f); out.Act() != nil || out.Doubt != "" {
		t.Errorf("in a pause, with no stop planned: %+v", out)
	}
	f.Release = &guard.Release{State: guard.ReleaseNoticed, Cause: guard.CauseEgress, NoticedAt: f.At, Due: first.Due}
	for range 10 {
		s.send(0)
	}
	f.Egress, f.At = &s.rec, s.at
	if out := egressSpike(s.rules, f); len(out.Verdicts) > 0 || f.Calmed() != "its traffic is down" {
		t.Errorf("over: %+v, %s", out, f.Calmed())
	}
}

// Where its own time is later than the notice, that counts; in observe mode it is what
// the stop would come at.
func TestEgressStopAct(t *testing.T) {
	s, f := stopper()
	s.rules.EgressSpike.Act = 3 * time.Hour
	since := egressSpike(s.rules, f).Verdicts[0].Since
	if act := egressSpike(s.rules, f).Act(); act == nil || !act.Due.Equal(since.Add(3*time.Hour)) {
		t.Errorf("%+v", act)
	}
	f.Mode = guard.Observe
	if out := egressSpike(s.rules, f); len(out.Verdicts[0].Stages) != 1 || !out.Next.Equal(since.Add(3*time.Hour)) {
		t.Errorf("%+v", out)
	}
	f.At = f.At.Add(3 * time.Hour)
	if v := egressSpike(s.rules, f).Verdicts[0]; len(v.Stages) != 2 || !strings.HasPrefix(v.Stages[1].Title, "lab/i-1: would stop now: ") {
		t.Errorf("%+v", v.Stages)
	}
}

// Traffic that falls below an hour's limit and rises above it again is told of once.
func TestEgressSpikeStagesDoNotFlap(t *testing.T) {
	s := newSender()
	s.days(2, rand.New(rand.NewPCG(21, 22)))
	for range 24 {
		s.send(20e6 * 300)
	}
	told, last := 0, ""
	for i := range 20 * 12 {
		rate := 2e6
		if i/18%2 == 1 {
			rate = 6e6
		}
		s.send(rate * 300)
		if !s.was["rule"] {
			t.Fatal("over")
		}
		if name := s.last.Stages[len(s.last.Stages)-1].Name; name != last {
			told, last = told+1, name
		}
	}
	if told != 1 || last != "hour" {
		t.Errorf("told %d times, at last %s", told, last)
	}
}
