package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// Law 9: no channel takes the notice. An expiry waits for its grace at most, a
// cap and a person's order do not wait; and when the channel is back, all is
// told, once.
func TestLawNobodyHears(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("exp", "1"), gpu("cap", "12"), gpu("hand", "1")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/exp", TTL: "2h", Grace: "25m"})
	w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "9d", Budget: "24USD", Grace: "25m"})
	w.until(50 * time.Minute)
	w.channel.down = true
	w.until(2 * time.Hour)
	w.order("lab/hand")
	w.until(2*time.Hour + 2*time.Minute)
	w.gone("lab", "cap", 2*time.Hour-45*time.Second, 2*time.Hour)
	w.gone("lab", "hand", 2*time.Hour, 2*time.Hour+time.Minute)
	w.until(2*time.Hour + 25*time.Minute)
	w.truth("lab", "exp", fake.TruthRunning)
	w.until(2*time.Hour + 28*time.Minute)
	w.gone("lab", "exp", 2*time.Hour+26*time.Minute, 2*time.Hour+27*time.Minute)
	w.channel.down = false
	w.until(3*time.Hour + 30*time.Minute)
	for _, id := range []string{"exp", "cap", "hand"} {
		if n := len(w.said("lab/" + id)); n == 0 {
			t.Errorf("never heard of %s", id)
		}
		if n := len(slices.DeleteFunc(w.said("released, with proof"), func(m guard.Message) bool { return !strings.Contains(m.Title, id) })); n != 1 {
			t.Errorf("%s: the proof was told %d times", id, n)
		}
	}
	w.toldOnce()
	if got := w.attention(); len(got) > 0 {
		t.Errorf("attention: %q", got)
	}
}

// A notice that is taken late, but within the grace, lets the expiry go on then.
func TestLawHeardLate(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("i-1", "1")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h", Grace: "30m"})
	w.until(30 * time.Minute)
	w.channel.down = true
	w.until(2*time.Hour + 8*time.Minute)
	w.truth("lab", "i-1", fake.TruthRunning)
	w.channel.down = false
	w.until(2*time.Hour + 29*time.Minute)
	w.gone("lab", "i-1", 2*time.Hour+8*time.Minute, 2*time.Hour+29*time.Minute)
}

// An extension in the last second is heard; one that comes after the intent is
// refused and says so.
func TestLawLastSecond(t *testing.T) {
	t.Parallel()
	due := 90*time.Minute + time.Minute
	for _, early := range []time.Duration{20 * time.Second, time.Second, time.Millisecond} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			t.Parallel()
			w := story(t, lab(gpu("i-1", "3")))
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "90m"})
			w.until(due - early)
			w.extend(wire.ExtendRequest{ID: "lab/i-1", By: "2h"})
			w.until(due + 2*time.Hour - time.Second)
			w.untouched("lab")
			w.until(due + 2*time.Hour + time.Minute)
			w.gone("lab", "i-1", due+2*time.Hour, due+2*time.Hour+31*time.Second)
			w.toldOnce()
		})
	}
	w := story(t, lab(gpu("i-1", "3")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "90m"})
	w.until(due + time.Second)
	if _, err := w.client.Extend(t.Context(), wire.ExtendRequest{ID: "lab/i-1", By: "2h"}); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("extended under the provider's hands: %v", err)
	}
}

// A cap that is raised in the last second moves the call; the spend lands under
// the new one.
func TestLawRaisedInTheLastSecond(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("i-1", "30")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "30USD", TTL: "2d"})
	w.until(time.Hour - 41*time.Second)
	w.extend(wire.ExtendRequest{ID: "lab/i-1", Budget: "+15USD"})
	w.until(2 * time.Hour)
	w.gone("lab", "i-1", 90*time.Minute-42*time.Second, 90*time.Minute)
}

// A hold past the deadline puts it off until the hold's end and no longer; holds
// and extensions on top of each other have an end too.
func TestLawHoldEnds(t *testing.T) {
	t.Parallel()
	due := 2*time.Hour + time.Minute
	w := story(t, lab(gpu("exp", "1"), gpu("cap", "10"), gpu("free", "1")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/exp", TTL: "2h"})
	w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "9d", Budget: "20USD"})
	w.register(wire.RegisterRequest{ID: "lab/free", TTL: "2h"})
	w.until(due - 10*time.Minute)
	for _, id := range []string{"exp", "cap", "free"} {
		if _, err := w.client.Hold(t.Context(), wire.HoldRequest{ID: "lab/" + id, For: "70m"}); err != nil {
			t.Fatal(err)
		}
	}
	held := due + time.Hour
	w.until(due + 5*time.Minute)
	if _, err := w.client.Unhold(t.Context(), "lab/free"); err != nil {
		t.Fatal(err)
	}
	w.until(held - time.Second)
	w.truth("lab", "exp", fake.TruthRunning)
	w.truth("lab", "cap", fake.TruthRunning)
	w.gone("lab", "free", due+10*time.Minute, due+11*time.Minute) // its grace after the last notice
	w.until(held + 2*time.Minute)
	w.gone("lab", "exp", held, held+time.Minute)
	w.gone("lab", "cap", held, held+time.Minute)
	w.toldOnce()
}

// Protect outlives an expiry and a cap and pages; what it held back gets notice
// again when it is over, a cap not.
func TestLawProtectThenNot(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("exp", "1"), gpu("cap", "10")))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/exp", TTL: "2h", Grace: "20m"})
	w.register(wire.RegisterRequest{ID: "lab/cap", TTL: "9d", Budget: "20USD", Grace: "20m"})
	w.until(90 * time.Minute)
	for _, id := range []string{"lab/exp", "lab/cap"} {
		if _, err := w.client.Protect(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	w.until(5 * time.Hour)
	w.untouched("lab")
	w.release("lab/cap", "blocked protected")
	if n := len(w.said("lab/cap")); n < 4 {
		t.Errorf("a cap that is protected is paged each hour: %d: %q", n, w.posts("lab/cap"))
	}
	if len(w.attention()) == 0 {
		t.Error("nothing for a person")
	}
	for _, id := range []string{"lab/exp", "lab/cap"} {
		if _, err := w.client.Unprotect(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	w.until(5*time.Hour + 19*time.Minute)
	w.truth("lab", "exp", fake.TruthRunning)
	w.gone("lab", "cap", 5*time.Hour, 5*time.Hour+7*time.Minute)
	w.until(5*time.Hour + 22*time.Minute)
	w.gone("lab", "exp", 5*time.Hour+20*time.Minute, 5*time.Hour+21*time.Minute)
	w.toldOnce()
}

// on_limit stop and alert: a stop is proven and not done twice, an alert touches
// nothing; a box that somebody starts again is stopped again, after notice.
func TestLawOnLimit(t *testing.T) {
	t.Parallel()
	s := lab(gpu("stop", "4", func(r *fake.Resource) { r.Attached = []string{"v-1"} }), disk("v-1", 7300, false), gpu("alert", "4"))
	s.Timeline = []fake.Event{{At: 4 * time.Hour, ID: "stop", State: "running"}}
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/stop", TTL: "2h", OnLimit: "stop"})
	w.register(wire.RegisterRequest{ID: "lab/alert", TTL: "2h", Budget: "7USD", OnLimit: "alert"})
	w.until(2*time.Hour + 5*time.Minute)
	w.truth("lab", "stop", fake.TruthStopped)
	if it := w.item("lab/stop"); it.Lease != "stopped" {
		t.Errorf("stop: %s", w.tell("lab/stop"))
	}
	w.until(3*time.Hour + 59*time.Minute)
	if n := len(w.calls("lab", fake.CallStop, "stop")); n != 1 {
		t.Errorf("%d stops", n)
	}
	w.until(4*time.Hour + 30*time.Minute)
	w.truth("lab", "stop", fake.TruthStopped)
	stops := w.calls("lab", fake.CallStop, "stop")
	if len(stops) != 2 || stops[1] < 4*time.Hour+10*time.Minute {
		t.Errorf("stops at %v", stops)
	}
	w.truth("lab", "alert", fake.TruthRunning)
	if n := len(w.calls("lab", fake.CallRelease, "")) + len(w.calls("lab", fake.CallStop, "alert")); n > 0 {
		t.Errorf("%d calls that nobody asked for", n)
	}
	for _, what := range []string{"its time is up", "its cap of 7.00 USD is reached"} {
		if len(slices.DeleteFunc(w.said(what), func(m guard.Message) bool { return !strings.Contains(m.Title, "alert") })) == 0 {
			t.Errorf("nobody heard that %s: %q", what, w.posts("alert"))
		}
	}
	w.toldOnce()
}

// An order by hand: of a box that nobody registered, in an observed account, of
// one that is protected, of one that is gone, and twice.
func TestLawOrders(t *testing.T) {
	t.Parallel()
	config := "mode: enforce\naccounts:\n  - {name: lab, provider: fake}\n  - {name: see, provider: fake, mode: observe}\n"
	see := fake.Script{Account: "see", Resources: []fake.Resource{gpu("o-1", "1")}}
	l := lab(gpu("u-1", "1", func(r *fake.Resource) { r.Attached = []string{"v-1"} }), disk("v-1", 50, false),
		gpu("keep", "1", func(r *fake.Resource) { r.Tags = map[string]string{"Guard:Keep": "TRUE"} }), gpu("cpu", "1", func(r *fake.Resource) { r.GPUs = fake.NoGPU }))
	w := newWorld(t, config, l, see)
	w.until(2 * time.Minute)
	for id, want := range map[string]string{"see/o-1": "observe", "lab/keep": "protect", "lab/cpu": "no GPU"} {
		_, err := w.client.Release(t.Context(), wire.ReleaseRequest{IDs: []string{id}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if a, b := w.order("lab/u-1")[0].Outcome, w.order("lab/u-1")[0].Outcome; a != wire.OutcomeOrdered {
		t.Errorf("%s, %s", a, b)
	}
	w.until(10 * time.Minute)
	w.gone("lab", "u-1", 2*time.Minute, 4*time.Minute)
	if n := w.effective("lab", "u-1"); n != 1 {
		t.Errorf("%d calls", n)
	}
	if o := w.order("lab/u-1"); o[0].Outcome != wire.OutcomeGone {
		t.Errorf("%+v", o)
	}
	w.truth("lab", "v-1", fake.TruthRunning)
	w.until(75 * time.Minute)
	w.finding(true, guard.RuleOrphanVolume, "lab/v-1")
	w.truth("see", "o-1", fake.TruthRunning)
	w.truth("lab", "keep", fake.TruthRunning)
	w.toldOnce()
}

// ALR-04, ALR-05: what stands for long is told once, over restarts, reloads and
// kills; what was not acknowledged at a kill is told after it.
func TestLawToldOnceOverRestarts(t *testing.T) {
	t.Parallel()
	s := lab()
	for i := range 8 {
		v := fmt.Sprintf("v-%02d", i)
		s.Resources = append(s.Resources, disk(v, 10, false), gpu(fmt.Sprintf("i-%02d", i), "1", func(r *fake.Resource) { r.Attached = []string{v} }))
		s.Timeline = append(s.Timeline, fake.Event{At: 10 * time.Minute, ID: fmt.Sprintf("i-%02d", i), Delete: true})
	}
	w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: 5m}", 1), s)
	w.until(100 * time.Minute)
	before := len(w.channel.posts)
	w.finding(true, guard.RuleOrphanVolume, "lab/v-07")
	for i := range 5 {
		if err := w.daemon.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.until(w.offset() + 7*time.Minute)
		w.at = w.at.Add(time.Duration(i) * 45 * time.Minute)
		w.boot()
		w.until(w.offset() + 3*time.Minute)
	}
	said := w.posts("")[before:]
	again := slices.DeleteFunc(slices.Clone(said), func(title string) bool { return strings.HasPrefix(title, "guard was down for ") })
	if gaps := len(said) - len(again); len(again) > 0 || gaps != 4 { // the first start follows at once
		t.Errorf("%d messages again: %q", len(again), said)
	}
	w.toldOnce()
	w.channel.down = true
	if err := w.clouds["lab"].Do(fake.Event{Create: &fake.Resource{ID: "new", Rate: &fake.Rate{Amount: "5", Per: "hour"}}}); err != nil {
		t.Fatal(err)
	}
	w.until(w.offset() + 20*time.Minute)
	w.boot()
	w.channel.down = false
	w.until(w.offset() + 70*time.Minute)
	if n := len(w.said("lab/new")); n != 1 {
		t.Errorf("what was not acknowledged at the kill was told %d times", n)
	}
}

// UX-02, UX-04: each of four is guarded from its own registration, with defaults;
// and whatever looks like a protect tag protects.
func TestLawEachOnItsOwn(t *testing.T) {
	t.Parallel()
	tags := []map[string]string{{"guard:keep": "true"}, {"keep": "TRUE"}, {"KEEP": "yes"}, {" keep ": "true"}, {"guard:keep": "True"}, {"keep": ""}}
	s := lab(gpu("n", "2", func(r *fake.Resource) { r.Count = 2 }), gpu("init", "2", func(r *fake.Resource) { r.State = "provisioning"; r.Created = -time.Hour }))
	for i, tag := range tags {
		s.Resources = append(s.Resources, gpu(fmt.Sprintf("t-%d", i), "1", func(r *fake.Resource) { r.Tags = tag }))
	}
	w := newWorld(t, "defaults: {ttl: 3h}\n"+enforce, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/n-001"})
	if out := w.register(wire.RegisterRequest{ID: "lab/init", Budget: "5USD"}); len(out.Defaults) == 0 {
		t.Error("defaults are not shown")
	}
	for i := range tags {
		w.register(wire.RegisterRequest{ID: fmt.Sprintf("lab/t-%d", i), Budget: "2USD"})
	}
	w.until(3*time.Hour + 2*time.Minute)
	w.gone("lab", "n-001", 3*time.Hour+time.Minute, 3*time.Hour+2*time.Minute)
	w.truth("lab", "n-002", fake.TruthRunning)
	w.gone("lab", "init", 90*time.Minute-45*time.Second, 90*time.Minute) // 5 of 2 an hour, from the provider's start
	for i := range tags {
		w.truth("lab", fmt.Sprintf("t-%d", i), fake.TruthRunning)
		w.finding(i > 0, guard.RuleProtectAmbiguous, fmt.Sprintf("lab/t-%d", i))
	}
}

// Law 12: why tells the arithmetic, the source and what stands in the way.
func TestLawWhy(t *testing.T) {
	t.Parallel()
	s := lab(gpu("i-1", "4", func(r *fake.Resource) { r.Protected = []string{"release"} }))
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "8USD", TTL: "9d"})
	w.until(2*time.Hour + 10*time.Minute)
	y, err := w.client.Why(t.Context(), "lab/i-1")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(y.Facts) + strings.Join(y.Lines, "\n")
	for _, want := range []string{"4.00 USD", "8.00 USD", "provider", "2026-03-06T11:59:20Z", "protect"} {
		if !strings.Contains(text, want) {
			t.Errorf("why does not say %q:\n%s", want, text)
		}
	}
	for _, f := range y.Facts {
		if f.Source == "" {
			t.Errorf("%s has no source", f.Name)
		}
	}
}
