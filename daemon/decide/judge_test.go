package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy/presence"
	"guard/policy/release"
	"guard/store"
)

func stands(w *world, name string) bool {
	j := w.judge(name)
	return j.Standing == release.Stands && !j.Due.After(w.at.Wall)
}

// TestSurprise: deadlines that nobody could foresee are bounded by an account's
// size, the rest waits for a person, and foreseen ones are not counted.
func TestSurprise(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for i := range 10 {
		name := fmt.Sprintf("i-%02d", i)
		w.instance(name)
		stood := time.Duration(0)
		if i >= 4 {
			stood = 5*time.Hour - 5*time.Minute // it moved five minutes ago
		}
		w.lease(name, 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
		w.deadline(name, 5*time.Hour, stood)
	}
	w.skip(4*time.Hour + 49*time.Minute)
	w.to(5 * time.Hour)
	let := 0
	for i := range 10 {
		name := fmt.Sprintf("i-%02d", i)
		j := w.judge(name)
		switch {
		case i < 4 && j.Standing != release.Stands:
			t.Errorf("%s was foreseen: %+v", name, j)
		case i >= 4 && j.Standing == release.Stands:
			let++
		case i >= 4 && j.Block != guard.BlockSurprise:
			t.Errorf("%s: %+v", name, j)
		}
	}
	if let != 3 { // ⌈25 % of 10⌉
		t.Errorf("%d unforeseen releases, want 3", let)
	}
	w.at = w.at.Add(30 * time.Minute) // waiting does not make them foreseen
	w.once()
	again := 0
	for i := 4; i < 10; i++ {
		if stands(w, fmt.Sprintf("i-%02d", i)) {
			again++
		}
	}
	if again != 3 {
		t.Errorf("%d after half an hour", again)
	}
}

// TestThreeBoxesOneAccount: foreseen releases are never limited.
func TestThreeBoxesOneAccount(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for i := range 3 {
		name := fmt.Sprintf("i-%d", i)
		w.instance(name)
		w.lease(name, 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("1200CNY") })
		w.deadline(name, 5*time.Hour, 0)
	}
	w.skip(4*time.Hour + 49*time.Minute)
	w.to(5 * time.Hour)
	for i := range 3 {
		if !stands(w, fmt.Sprintf("i-%d", i)) {
			t.Errorf("i-%d is held up", i)
		}
	}
}

// TestHourlyBound: all accounts together, in any hour.
func TestHourlyBound(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	for i := range 100 {
		name := fmt.Sprintf("i-%02d", i)
		w.instance(name)
		w.lease(name, 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
		w.deadline(name, 5*time.Hour, 5*time.Hour-5*time.Minute)
	}
	w.skip(4*time.Hour + 49*time.Minute)
	w.to(5 * time.Hour)
	count := func() (n int) {
		for i := range 100 {
			if stands(w, fmt.Sprintf("i-%02d", i)) {
				n++
			}
		}
		return n
	}
	if n := count(); n != 10 {
		t.Errorf("%d in the first hour, want 10", n)
	}
	w.at = w.at.Add(59 * time.Minute)
	w.once()
	if n := count(); n != 10 {
		t.Errorf("%d before the hour is over", n)
	}
}

// TestNotice: an expiry waits for its notice to be taken, at most for its grace; a
// cap does not wait.
func TestNotice(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lease func(*guard.Lease)
		taken time.Duration // when a channel takes the notice
		by    string        // the one that does; "": all
		stand time.Duration // from when on it stands
	}{
		{"taken in time", nil, 9 * time.Hour, "", 10 * time.Hour},
		{"never taken", nil, 100 * time.Hour, "", 10*time.Hour + 10*time.Minute},
		{"taken late", nil, 10*time.Hour + 4*time.Minute, "", 10*time.Hour + 4*time.Minute},
		{"taken in the place of another", nil, 10*time.Hour + 4*time.Minute, "pager", 10*time.Hour + 4*time.Minute},
		{"a cap", func(l *guard.Lease) { l.Budget, l.ExpiresAt = guard.MustMoney("2400CNY"), time.Time{} }, 100 * time.Hour, "", 10 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, guard.Enforce)
			w.instance("i-1")
			change := tt.lease
			if change == nil {
				change = func(*guard.Lease) {}
			}
			w.lease("i-1", 10*time.Hour, change)
			w.deadline("i-1", 10*time.Hour, 0)
			var from time.Duration
			for d := 9 * time.Hour; d < 11*time.Hour && from == 0; d += time.Minute {
				w.at = w.at.Reach(zero.Add(d))
				w.once()
				switch {
				case d >= tt.taken && tt.by == "":
					w.deliver()
				case d == tt.taken:
					w.taken("i-1", tt.by)
				}
				if r, ok := w.release("i-1"); ok && r.State == guard.ReleaseNoticed && stands(w, "i-1") {
					from = d
				}
			}
			if from != tt.stand {
				t.Errorf("stands from %s, want %s", from, tt.stand)
			}
		})
	}
}

// TestNeverItsOwnFoot: law 11, at the last moment too.
func TestNeverItsOwnFoot(t *testing.T) {
	for name, change := range map[string]func(w *world, o *guard.Observed){
		"another guard took it over": func(w *world, o *guard.Observed) {
			o.Resource.Tags = map[string]string{guard.TagDeployment: "other"}
		},
		"it lost its GPU": func(w *world, o *guard.Observed) { o.Resource.GPUs, o.Resource.HasGPU = 0, guard.No },
		"it is guard's own machine": func(w *world, o *guard.Observed) {
			w.update(func(tx *store.Tx) error {
				a, _, err := tx.Accounts.Get("lab")
				a.Identity.Self = "i-1"
				return put(err, tx.Accounts.Put(a))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, guard.Enforce)
			w.instance("i-1")
			w.lease("i-1", 10*time.Hour)
			w.to(10 * time.Hour)
			if !stands(w, "i-1") {
				t.Fatal("not even due")
			}
			var o guard.Observed
			w.view(func(v *store.View) (err error) {
				o, _, err = v.Observed.Get(id("i-1").Key())
				return err
			})
			change(w, &o)
			w.update(func(tx *store.Tx) error { return tx.Observed.Put(o) })
			if j := w.judge("i-1"); j.Standing != release.Void {
				t.Errorf("%+v", j)
			}
			w.to(10*time.Hour + time.Second)
			if r, ok := w.release("i-1"); ok {
				t.Errorf("still planned: %+v", r)
			}
		})
	}
}

// TestOrderOnAnothersBox: a person's order does not reach what another guard took
// over meanwhile.
func TestOrderOnAnothersBox(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1", func(o *guard.Observed) { o.Resource.Tags = map[string]string{guard.TagDeployment: "other"} })
	w.once()
	w.order("i-1")
	if j := w.judge("i-1"); j.Standing != release.Void {
		t.Errorf("%+v", j)
	}
}

// TestJudgesOnlyWhatItWatches: after a start, a sleep or a step of the clock
// nothing stands until the loop has run, whichever loop the scheduler wakes first.
func TestJudgesOnlyWhatItWatches(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a start":        func(w *world) { w.restart() },
		"a sleep":        func(w *world) { w.at = w.at.Add(2 * time.Hour) },
		"ten years":      func(w *world) { w.at.Wall = w.at.Wall.AddDate(10, 0, 0) },
		"an hour back":   func(w *world) { w.at.Wall = w.at.Wall.Add(-time.Hour) },
		"nothing at all": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, guard.Enforce)
			w.instance("i-1")
			w.once()
			w.order("i-1")
			if change != nil {
				change(w)
			}
			if j := w.judge("i-1"); (j.Standing == release.Stands) != (change == nil) {
				t.Errorf("%+v", j)
			}
		})
	}
}

// TestProtectedCap is held up and named, not forgotten.
func TestProtectedCap(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 0, func(l *guard.Lease) {
		l.Budget, l.Protected, l.ProtectedBy = guard.MustMoney("2400CNY"), true, "bo"
	})
	w.deadline("i-1", 10*time.Hour, 0)
	w.skip(8 * time.Hour)
	w.to(10 * time.Hour)
	if j := w.judge("i-1"); j.Standing != release.Barred || j.Block != guard.BlockProtected || j.Why != "protected by bo" {
		t.Errorf("%+v", j)
	}
	w.change("i-1", func(l *guard.Lease) { l.Protected = false })
	if !stands(w, "i-1") {
		t.Error("not protected any more, and it does not stand")
	}
}

// TestProtectTagLost: one reading without the tag that protects a box releases
// nothing, neither right before the call nor once the tag is back; a tag that stays
// away counts ten minutes later, or two polls where they are longer, and people hear
// of it first. So it is with another guard's mark.
func TestProtectTagLost(t *testing.T) {
	for _, tt := range []struct {
		key   string
		poll  time.Duration
		after time.Duration
	}{
		{"guard:keep", time.Minute, 10 * time.Minute},
		{"guard:keep", 10 * time.Minute, 20 * time.Minute},
		{guard.TagDeployment, time.Minute, 10 * time.Minute},
	} {
		w := newWorld(t, guard.Enforce)
		w.config.Accounts[0].Poll = tt.poll
		tags := map[string]string{tt.key: "true"}
		w.instance("i-1", func(o *guard.Observed) { o.Resource.Tags = tags })
		w.lease("i-1", 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
		w.deadline("i-1", 10*time.Hour, 0)
		w.skip(8 * time.Hour)
		w.to(12 * time.Hour)
		read := func(tags map[string]string) {
			w.update(func(tx *store.Tx) error {
				o, _, err := tx.Observed.Get(id("i-1").Key())
				if err != nil {
					return err
				}
				fresh := o.Resource
				fresh.Tags = tags
				o.LostTags, o.Resource = presence.LostTags(o, fresh, w.at.Wall), fresh
				return tx.Observed.Put(o)
			})
		}
		if tt.key == "guard:keep" {
			if j := w.judge("i-1", func(r *guard.Resource) { r.Tags = nil }); j.Standing != release.Barred || j.Block != guard.BlockProtected {
				t.Errorf("%+v: read without the tag right before the call: %+v", tt, j)
			}
		}
		read(nil)
		w.to(12*time.Hour + time.Minute)
		read(tags)
		w.to(14 * time.Hour)
		read(nil)
		lost := w.at.Wall
		w.to(lost.Sub(zero) + tt.after - time.Second)
		if r, ok := w.release("i-1"); ok && stands(w, "i-1") {
			t.Errorf("%+v: it stands a second before the loss counts: %+v", tt, r)
		}
		w.to(lost.Sub(zero) + tt.after)
		if _, ok := w.release("i-1"); !ok || !stands(w, "i-1") {
			t.Errorf("%+v: the loss counts, and it does not stand", tt)
		}
		told := slices.ContainsFunc(w.about("i-1"), func(line string) bool {
			return strings.HasPrefix(line, lost.Sub(zero).String()) && strings.Contains(line, "the tag that protected it is missing")
		})
		if tt.key == "guard:keep" && !told {
			t.Errorf("%+v: nobody was told: %q", tt, w.about("i-1"))
		}
	}
}

// TestProtectedExpiry plans nothing, and an unprotect gives notice.
func TestProtectedExpiry(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour, func(l *guard.Lease) { l.Protected = true })
	w.to(12 * time.Hour)
	if r, ok := w.release("i-1"); ok {
		t.Errorf("planned: %+v", r)
	}
	w.change("i-1", func(l *guard.Lease) { l.Protected = false })
	w.once()
	if r, ok := w.release("i-1"); !ok || !r.Due.Equal(zero.Add(12*time.Hour+10*time.Minute)) {
		t.Errorf("after the unprotect: %+v", r)
	}
}

// TestRaisedCap: a person who raised the cap a second before the deadline is heard
// although the meter has not solved the new one yet.
func TestRaisedCap(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 0, func(l *guard.Lease) { l.Budget = guard.MustMoney("2400CNY") })
	w.deadline("i-1", 10*time.Hour, 0)
	w.update(func(tx *store.Tx) error {
		p, _, err := tx.Plans.Get("l-i-1")
		p.Deadlines[0].Basis = "2400.00 CNY"
		return put(err, tx.Plans.Put(p))
	})
	w.skip(9 * time.Hour)
	w.to(10*time.Hour - time.Second)
	w.change("i-1", func(l *guard.Lease) { l.Budget = guard.MustMoney("4800CNY") })
	w.to(10 * time.Hour)
	if stands(w, "i-1") {
		t.Error("released by the old cap")
	}
}

// TestStopAction: what is judged is what was planned.
func TestStopAction(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	w.instance("i-1")
	w.lease("i-1", 10*time.Hour, func(l *guard.Lease) { l.OnLimit = guard.ActStop })
	w.skip(8 * time.Hour)
	w.to(10 * time.Hour)
	if r, _ := w.release("i-1"); r.Action != guard.ActStop {
		t.Fatalf("action %s", r.Action)
	}
	w.change("i-1", func(l *guard.Lease) { l.OnLimit = guard.ActRelease })
	if j := w.judge("i-1"); j.Standing != release.Void {
		t.Errorf("a stop where a release is asked for now: %+v", j)
	}
	w.once()
	if r, _ := w.release("i-1"); r.Action != guard.ActRelease {
		t.Errorf("action %s", r.Action)
	}
}

// TestBrakes: what stops guard is heeded as soon as it is durable, by the loops too
// that are about to be replaced.
func TestBrakes(t *testing.T) {
	for name, brake := range map[string]func(tx *store.Tx, w *world) error{
		"guard acts nowhere": func(tx *store.Tx, w *world) error {
			return tx.SetValue(guard.PauseName, guard.Pause{Cause: guard.PauseRestored, Why: "it was restored", Since: w.at.Wall})
		},
		"observe mode": func(tx *store.Tx, w *world) error {
			a := w.account()
			a.Word = guard.ModeWord{Mode: guard.Observe, Over: guard.Enforce, By: "ana", At: w.at.Wall}
			return tx.Accounts.Put(a)
		},
	} {
		w := newWorld(t, guard.Enforce)
		w.instance("i-1")
		w.lease("i-1", 2*time.Hour)
		w.to(time.Hour)
		w.skip(59 * time.Minute)
		w.to(2 * time.Hour)
		if !stands(w, "i-1") {
			t.Fatalf("it does not stand: %+v", w.judge("i-1"))
		}
		w.update(func(tx *store.Tx) error { return brake(tx, w) })
		if j := w.judge("i-1"); j.Standing != release.Void || !strings.Contains(j.Why, name) {
			t.Errorf("%s: %+v", name, j)
		}
	}
}
