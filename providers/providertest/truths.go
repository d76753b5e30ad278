package providertest

import (
	"errors"
	"slices"

	"guard"
	"guard/providers"
)

// truths sees that what an adapter declares makes sense, and agrees with what it can do.
func (s *suite) truths() {
	w := s.world(1)
	p, x := s.open(w)
	t := p.Truths()
	if t.Granularity < 0 || t.Minimum < 0 || t.ReleaseLead < 0 || t.CallsPerSecond < 0 || t.StoppedEnds < 0 {
		s.Errorf("a negative truth: %+v", t)
	}
	effects := []guard.StopEffect{guard.StopSavesNothing, guard.StopSavesCompute, guard.StopSavesAll, guard.StopUnsupported}
	if !slices.Contains(effects, t.Stop) {
		s.Errorf("Stop is %q", t.Stop)
	}
	for mode, effect := range t.StopBy {
		if mode == "" || !slices.Contains(effects, effect) {
			s.Errorf("StopBy %q is %q", mode, effect)
		}
	}
	if t.PriceUnit != "machine" && t.PriceUnit != "gpu" {
		s.Errorf("PriceUnit is %q", t.PriceUnit)
	}
	if t.ReclaimShows == "" {
		s.Error("ReclaimShows says nothing")
	}
	if !slices.Contains([]guard.AtZero{guard.ZeroUnknown, guard.ZeroNothing, guard.ZeroStops, guard.ZeroDeletes}, t.AtZero) {
		s.Errorf("AtZero is %q", t.AtZero)
	}
	for _, kind := range t.DeleteLeaves {
		if kind == guard.Instance || !slices.Contains(guard.Kinds, kind) {
			s.Errorf("a delete leaves %q", kind)
		}
	}
	if _, tells := p.(providers.SignalSource); tells != (t.Signals != "") {
		s.Errorf("SignalSource: %t, and Signals says %q", tells, t.Signals)
	}
	if _, tags := p.(providers.Tagger); tags && s.h.NoTags {
		s.Error("the adapter writes tags, and its harness says that there are none")
	}
	if _, locks := p.(providers.Protector); locks && s.h.NoProtection {
		s.Error("the adapter knows protection, and its harness says that there is none")
	}
	stopper, can := p.(providers.Stopper)
	saves := t.Stop == guard.StopSavesCompute || t.Stop == guard.StopSavesAll
	switch {
	case !can && (saves || t.StopFirst):
		s.Errorf("Stop is %s, StopFirst %t, and the adapter is no Stopper", t.Stop, t.StopFirst)
	case can && t.Stop == guard.StopUnsupported:
		if err := stopper.Stop(s.ctx(), s.id(w, 0)); !errors.Is(err, guard.ErrUnsupported) || x.calls("") > 0 {
			s.Errorf("Stop is unsupported, and stopping gave %v after %d calls", err, x.calls(""))
		}
	}
}

// stoppedBills sees that what is stopped bills as the truths say.
func (s *suite) stoppedBills() {
	w := s.world(1)
	p, _ := s.open(w)
	t := p.Truths()
	if t.Stop == guard.StopUnsupported {
		s.skip("a stop")
	}
	w.Instances[0].Stopped = true
	p, _ = s.open(w)
	for _, r := range s.scope(s.list(p), w.Scopes[0]).Resources {
		if r.ID.ID != w.Instances[0].ID {
			continue
		}
		if r.State != guard.StateStopped {
			s.Errorf("a stopped instance is %s", r.State)
		}
		saves := r.StopSaves
		if saves == guard.StopUnknown {
			saves = t.Stop
		}
		if saves == guard.StopSavesNothing && r.Bills == guard.No || saves == guard.StopSavesAll && r.Bills == guard.Yes {
			s.Errorf("stopped, where a stop saves %s: bills %s", saves, r.Bills)
		}
		return
	}
	s.Error("a stopped instance is not listed")
}
