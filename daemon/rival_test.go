package daemon_test

import (
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// copyOf is a second guard over a copy of the ledger, on the same clouds.
func (w *world) copyOf() *world {
	w.t.Helper()
	c := &world{t: w.t, start: w.start, at: w.at, clouds: w.clouds, channel: &channel{}, config: w.config, bootID: "boot-2"}
	c.putBack(w.copied())
	c.boot()
	return c
}

// together lets both guards work up to an offset.
func together(offset time.Duration, ws ...*world) {
	for now := ws[0].offset(); now < offset; {
		now += 10 * time.Second
		for _, w := range ws {
			w.until(now)
		}
	}
}

// OWN-04: a second guard with the same deployment is found out, and neither acts.
func TestRivalsBothStop(t *testing.T) {
	t.Parallel()
	a := newWorld(t, enforce, boxes(5))
	a.until(time.Minute)
	a.registerAll(5, "3h")
	a.until(time.Hour)
	b := a.copyOf()
	together(4*time.Hour, a, b)
	a.untouched("lab")
	for name, w := range map[string]*world{"the first": a, "the second": b} {
		if got := w.mode("lab"); got != "observe" {
			t.Errorf("%s is in %s mode", name, got)
		}
		if n := len(w.posts("another guard with a copy of its ledger")); n != 1 {
			t.Errorf("%s told %d times: %q", name, n, w.posts(""))
		}
	}
	// One goes, the other resumes: no mark of the dead one stops it again.
	if _, err := a.client.Resume(t.Context(), wire.AcceptRequest{Accept: 5}); err != nil {
		t.Fatal(err)
	}
	a.until(5 * time.Hour)
	a.boot()
	a.until(6 * time.Hour)
	for i := range 5 {
		if it := a.item("lab/i-0" + string(rune('0'+i))); it.State != "released" {
			t.Errorf("%s is %s, mode %s", it.ID, it.State, it.Mode)
		}
	}
}

// Resumed on both sides, they find each other again.
func TestRivalsResumed(t *testing.T) {
	t.Parallel()
	a := newWorld(t, enforce, boxes(2))
	a.until(time.Minute)
	a.registerAll(2, "9h")
	a.until(time.Hour)
	b := a.copyOf()
	together(90*time.Minute, a, b)
	for _, w := range []*world{a, b} {
		if _, err := w.client.Resume(t.Context(), wire.AcceptRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	together(2*time.Hour, a, b)
	for i, w := range []*world{a, b} {
		if got := w.mode("lab"); got != "observe" {
			t.Errorf("guard %d is in %s mode", i, got)
		}
	}
}

// A guard alone, started often, switched and restored, never takes its own marks for
// another's, and marks only a few boxes.
func TestNoRivalInTheMirror(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(6))
	w.until(time.Minute)
	w.registerAll(6, "90h")
	backup := w.copied()
	for i := range 6 {
		w.until(time.Duration(i+1) * 30 * time.Minute)
		w.boot()
	}
	if _, err := w.client.Observe(t.Context(), wire.ModeRequest{Account: "lab"}); err != nil {
		t.Fatal(err)
	}
	w.until(4 * time.Hour)
	if _, err := w.client.Enforce(t.Context(), wire.ModeRequest{Account: "lab"}); err != nil {
		t.Fatal(err)
	}
	w.until(5 * time.Hour)
	terms := 0
	for i := range 6 {
		if w.item("lab/i-0" + string(rune('0'+i))).Tags[guard.TagTerm] != "" {
			terms++
		}
	}
	if terms != 3 {
		t.Errorf("%d boxes carry a term", terms)
	}
	// The ledger of the first minute knows none of those terms.
	w.restore(backup)
	w.until(6 * time.Hour)
	if _, err := w.client.Resume(t.Context(), wire.AcceptRequest{}); err != nil {
		t.Fatal(err)
	}
	w.until(8 * time.Hour)
	if got := w.mode("lab"); got != "enforce" || len(w.posts("another guard")) > 0 {
		t.Errorf("lab is in %s: %q", got, w.posts("another guard"))
	}
}

// One odd reading is not another guard of this ledger, nor is a guard with one of its
// own, and no right to tag is no harm.
func TestTermsBear(t *testing.T) {
	t.Parallel()
	s := boxes(1)
	s.Resources = append(s.Resources, fake.Resource{ID: "theirs", Rate: &fake.Rate{Amount: "2", Per: "hour"},
		Tags: map[string]string{guard.TagDeployment: "another", guard.TagTerm: "theirs"}})
	s.Faults = []fake.Fault{{Call: fake.CallTag, From: 2 * time.Hour, Reply: fake.Reply{Status: 403}}}
	w := newWorld(t, enforce, s)
	w.until(time.Minute)
	w.registerAll(1, "5h")
	w.until(150 * time.Minute)
	w.boot()
	w.until(3 * time.Hour)
	odd := map[string]any{} // all its tags, and one of them is another's
	for k, v := range w.clouds["lab"].Tags("i-00") {
		odd[k] = v
	}
	odd[guard.TagTerm] = "odd"
	w.clouds["lab"].Fault(fake.Fault{Call: fake.CallList, Times: 1, Reply: fake.Reply{SetFields: map[string]any{"tags": odd}}})
	w.until(7 * time.Hour)
	if it := w.item("lab/i-00"); it.State != "released" {
		t.Errorf("i-00 is %s, mode %s: %q", it.State, it.Mode, strings.Join(w.posts("guard acts nowhere"), "\n"))
	}
}
