package providertest

import (
	"errors"
	"net/http"
	"slices"

	"guard"
	"guard/providers"
)

// withLeftovers is a world of four instances, the first of them releasable, and of three
// things of a kind in the first scope: two free ones, and where the kind can be attached
// one that hangs on the first instance.
func (s *suite) withLeftovers(kind guard.Kind) World {
	s.Helper()
	w := s.releasable(2)
	w.PageSize = 0
	for i := range 3 {
		t := Thing{Kind: kind, ID: s.h.LeftoverID(kind, 101+i), Name: "leftover", Scope: w.Scopes[0]}
		if i == 2 && slices.Contains(s.h.Attached, kind) {
			t.AttachedTo = w.Instances[0].ID
		}
		w.Leftovers = append(w.Leftovers, t)
	}
	return w
}

func (s *suite) leftover(w World, i int) guard.ResourceID {
	t := w.Leftovers[i]
	return guard.ResourceID{Account: "conformance", Kind: t.Kind, Scope: t.Scope, ID: t.ID}
}

// leftovers sees that what may outlive an instance is listed completely, and deleted by
// its own ID alone, unless something uses it.
func (s *suite) leftovers() {
	if len(s.h.Kinds) == 0 {
		s.skip("anything but instances")
	}
	for _, kind := range s.h.Kinds {
		w := s.withLeftovers(kind)
		p, x := s.open(w)
		free, other, last := s.leftover(w, 0), s.leftover(w, 1), s.leftover(w, 2)
		attached := w.Leftovers[2].AttachedTo != ""
		r := s.kindIn(s.listKinds(p, kind), kind, w.Scopes[0])
		if got, want := idsOf(r.Resources), []string{free.ID, other.ID, last.ID}; r.Err != nil || !slices.Equal(got, want) {
			s.Errorf("of kind %s: %v, %v; want %v", kind, got, r.Err, want)
		}
		for _, x := range r.Resources {
			s.sane(string(kind), x)
			hangs := attached && x.ID.ID == last.ID
			if x.ID.Kind != kind || x.State == guard.StateGone || x.Bills == guard.No || !hangs && !x.Parent.IsZero() || hangs && x.Parent.ID != w.Leftovers[2].AttachedTo {
				s.Errorf("a %s came as %+v", kind, x)
			}
		}
		x.on("", func(int, *http.Request) (*http.Response, error) { return nil, nil })
		for range 2 {
			if err := s.end(p, free); err != nil {
				s.Errorf("release a %s: %v", kind, err)
			}
		}
		if n := x.calls(Release); n == 0 {
			s.Errorf("the harness classifies no request as the release of a %s", kind)
		}
		s.ending(p, free)
		s.there(p, other, w)
		s.there(p, s.id(w, 0), w)
		for _, tt := range unanswered {
			p, x := s.open(w)
			x.on(Release, func(_ int, r *http.Request) (*http.Response, error) { return tt.answer(r) })
			err := s.end(p, other)
			if n := x.calls(Release); err == nil || errors.Is(err, guard.ErrUncertain) != tt.uncertain || n != 1 {
				s.Errorf("release a %s, answered by %s: %v, want uncertain %t; sent %d times", kind, tt.name, err, tt.uncertain, n)
			}
			s.there(p, other, w)
		}
		if attached {
			if err := s.end(p, last); !errors.Is(err, guard.ErrConflict) {
				s.Errorf("release a %s that is attached: %v, want %v", kind, err, guard.ErrConflict)
			}
			s.there(p, last, w)
		}
	}
}

// there sees that a thing is listed and has not ended.
func (s *suite) there(p providers.Provider, id guard.ResourceID, w World) {
	s.Helper()
	r := s.kindIn(s.listKinds(p, id.Kind), id.Kind, w.Scopes[0])
	i := slices.IndexFunc(r.Resources, func(x guard.Resource) bool { return x.ID.ID == id.ID })
	if r.Err != nil || i < 0 || r.Resources[i].State == guard.StateReleasing || r.Resources[i].State == guard.StateGone {
		s.Errorf("%s %s is not there any more: %v", id.Kind, id, r.Err)
	}
}

// deleteLeaves sees that what hangs on an instance survives its release as declared.
func (s *suite) deleteLeaves() {
	if len(s.h.Attached) == 0 {
		s.skip("anything that is attached")
	}
	for _, kind := range s.h.Attached {
		w := s.withLeftovers(kind)
		p, _ := s.open(w)
		declared := slices.Contains(p.Truths().DeleteLeaves, kind)
		if err := s.end(p, s.id(w, 0)); err != nil {
			s.Fatal(err)
		}
		r := s.kindIn(s.listKinds(p, kind), kind, w.Scopes[0])
		left := r.Err == nil && slices.ContainsFunc(r.Resources, func(x guard.Resource) bool {
			return x.ID.ID == w.Leftovers[2].ID && x.State != guard.StateGone && x.State != guard.StateReleasing
		})
		if left != declared {
			s.Errorf("a %s is left by the release of its instance: %t (%v), declared: %t", kind, left, r.Err, declared)
		}
	}
}
