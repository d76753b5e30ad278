package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

// Law 11, OWN-01 and OWN-03: guard's own machine, another guard's box, one that no
// owner allowed: nothing that anybody says makes guard touch them.
func TestLawNeverItsOwnFoot(t *testing.T) {
	t.Parallel()
	s := lab(gpu("me", "1"), gpu("theirs", "1", func(r *fake.Resource) { r.Tags = map[string]string{guard.TagDeployment: "another"} }),
		gpu("db", "1", func(r *fake.Resource) { r.GPUs = fake.NoGPU }), gpu("late", "6"))
	s.Self = "me"
	// Another guard takes a leased box over; the tag is new when the cap is due.
	s.Timeline = []fake.Event{{At: 59 * time.Minute, ID: "late", Set: &fake.Changes{Tags: map[string]string{guard.TagDeployment: "another"}}}}
	for _, poll := range []string{"1m", "1h"} {
		t.Run(poll, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: "+poll+"}", 1), s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/late", Budget: "6USD", TTL: "9d"})
			for _, id := range []string{"lab/me", "lab/theirs", "lab/db"} {
				if _, err := w.client.Register(t.Context(), wire.RegisterRequest{ID: id, Purpose: "x", TTL: "1h"}); err == nil {
					t.Errorf("%s was registered", id)
				}
				if _, err := w.client.Release(t.Context(), wire.ReleaseRequest{IDs: []string{id}}); err == nil {
					t.Errorf("%s was released", id)
				}
			}
			w.until(3 * time.Hour)
			w.untouched("lab")
			w.finding(false, guard.RuleUnregistered, "lab/me")
			w.finding(false, guard.RuleUnregistered, "lab/theirs")
			if it := w.item("lab/me"); !it.Self {
				t.Error("status does not say that this is guard itself")
			}
			if n := len(w.channel.posts); n > 30 {
				t.Errorf("%d messages: %q", n, w.posts("late"))
			}
		})
	}
}

// What a person wants of a box just before its deadline is seen in the fresh
// read, at any poll, and does not make guard plan and withdraw for ever.
func TestLawTaggedAtTheLastMinute(t *testing.T) {
	t.Parallel()
	for _, limit := range []wire.RegisterRequest{{TTL: "1h"}, {Budget: "6USD", TTL: "9d"}} {
		for what, change := range map[string]fake.Changes{
			"kept":      {Tags: map[string]string{"guard:keep": "true"}},
			"likely":    {Tags: map[string]string{"Keep": "1"}},
			"protected": {Protected: &[]string{"release"}},
			"no gpu":    {GPUs: new(int)},
		} {
			t.Run(what+limit.Budget, func(t *testing.T) {
				t.Parallel()
				s := lab(gpu("i-1", "6"))
				due := time.Hour + time.Minute
				if limit.Budget != "" {
					due = time.Hour - 40*time.Second
				}
				s.Timeline = []fake.Event{{At: due - 20*time.Second, ID: "i-1", Set: &change}}
				w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: 1h}", 1), s)
				w.until(time.Minute)
				limit.ID = "lab/i-1"
				w.register(limit)
				w.until(due + 90*time.Minute)
				w.truth("lab", "i-1", fake.TruthRunning)
				if n := len(w.channel.posts); n > 15 {
					t.Errorf("%d messages: %q", n, w.posts("i-1"))
				}
				w.toldOnce()
			})
		}
	}
}

// OWN-02: an identity changes into a twin while a release of it is due.
func TestLawTurnsIntoATwin(t *testing.T) {
	t.Parallel()
	config, scripts := twoAccounts("acct-1", "acct-2")
	scripts[1].Timeline = []fake.Event{{At: 50 * time.Minute, Identity: "acct-1"}}
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "b/i-b", TTL: "1h"})
	w.register(wire.RegisterRequest{ID: "a/i-a", TTL: "1h"})
	w.until(3 * time.Hour)
	w.untouched("b")
	w.truth("a", "i-a", fake.TruthGone)
	w.release("b/i-b", "blocked account_mismatch")
	if !strings.Contains(strings.Join(w.attention(), " "), "b") {
		t.Errorf("attention %q", w.attention())
	}
}

// OWN-05: from observe to enforce with forty overdue: nothing before the grace, all
// after it, notice of each.
func TestLawEnforceFortyOverdue(t *testing.T) {
	t.Parallel()
	observe := strings.Replace(enforce, "enforce", "observe", 1)
	w := newWorld(t, observe, lab(gpu("i", "1", func(r *fake.Resource) { r.Count = 40 })))
	w.until(time.Minute)
	for i := range 40 {
		r := wire.RegisterRequest{ID: fmt.Sprintf("lab/i-%03d", i+1), TTL: "5m", Grace: "20m"}
		if i%2 > 0 {
			r.TTL, r.Budget = "9d", "0.20USD"
		}
		w.register(r)
	}
	w.until(30 * time.Minute)
	w.untouched("lab")
	if err := w.reload(enforce); err != nil {
		t.Logf("refused: %v", err) // which is right, too, where --accept is built
		return
	}
	w.until(30*time.Minute + 19*time.Minute + 50*time.Second)
	w.untouched("lab")
	w.until(52 * time.Minute)
	for i := range 40 {
		id := fmt.Sprintf("i-%03d", i+1)
		w.gone("lab", id, 50*time.Minute, 52*time.Minute)
		if len(w.said("lab/"+id)) == 0 {
			t.Errorf("%s: no notice", id)
		}
	}
	w.toldOnce()
}

// OWN-09: the read fails at a cap and delete works; how old the last complete
// observation is decides, and an expiry never goes blindly.
func TestLawBlindAtTheCap(t *testing.T) {
	t.Parallel()
	due := time.Hour - 40*time.Second
	for _, age := range []time.Duration{3 * time.Minute, 30 * time.Minute} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			s := lab(gpu("cap", "10"), gpu("exp", "1"))
			s.Faults = []fake.Fault{{Call: fake.CallGet, From: due - age, For: time.Hour + age, Reply: fake.Reply{Status: 500}},
				{Call: fake.CallList, From: due - age, For: time.Hour + age, Reply: fake.Reply{Status: 500}}}
			w := story(t, s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/cap", Budget: "10USD", TTL: "9d"})
			w.register(wire.RegisterRequest{ID: "lab/exp", Until: w.start.Add(due).Format(time.RFC3339)})
			w.until(due + 50*time.Minute)
			w.truth("lab", "exp", fake.TruthRunning)
			if age < 10*time.Minute {
				w.gone("lab", "cap", due, due+time.Minute)
			} else {
				w.truth("lab", "cap", fake.TruthRunning)
				w.release("lab/cap", "blocked unreadable")
			}
			w.until(due + 75*time.Minute) // a notice of an hour ago is stale: there is a new one
			w.gone("lab", "exp", due+time.Hour, due+73*time.Minute)
			w.gone("lab", "cap", due, due+63*time.Minute)
		})
	}
}

// Law 7: deadlines that nobody could foresee are bounded, the rest is paged and
// waits; and OWN-12: what was foreseen is not.
func TestLawSurprise(t *testing.T) {
	t.Parallel()
	s := lab(gpu("i", "1", func(r *fake.Resource) { r.Count = 20 }))
	w := story(t, s)
	w.until(time.Minute)
	for i := range 20 {
		r := wire.RegisterRequest{ID: fmt.Sprintf("lab/i-%03d", i+1), TTL: "30m", Grace: "10m"}
		if i < 12 {
			r.Grace = "2h" // sooner than its own notice
		}
		w.register(r)
	}
	// Those of a grace longer than their time are due after it, with notice.
	w.until(33 * time.Minute)
	for i := 12; i < 20; i++ {
		w.truth("lab", fmt.Sprintf("i-%03d", i+1), fake.TruthGone)
	}
	w.until(100 * time.Minute)
	gone, blocked := 0, 0
	for i := range 12 {
		id := fmt.Sprintf("i-%03d", i+1)
		if w.clouds["lab"].Truth(id) == fake.TruthGone {
			gone++
		} else if it := w.item("lab/" + id); it.Release == "blocked" && it.ReleaseReason == "surprise" {
			blocked++
		}
	}
	if gone+blocked != 12 || gone > 10 || blocked > 0 && len(w.attention()) == 0 {
		t.Errorf("%d gone, %d wait for a person; attention %q", gone, blocked, w.attention())
	}
}

// API-01: what is slow to appear is not taken for gone, nor what a list drops;
// API-03: what is on the second page is seen.
func TestLawSlowToAppear(t *testing.T) {
	t.Parallel()
	s := lab(gpu("a", "1", func(r *fake.Resource) { r.Count = 25 }), gpu("z-last", "32.77"))
	s.PageSize = 10
	s.Lag = fake.Lag{Appears: 6 * time.Second, State: 20 * time.Second, Disappears: time.Minute}
	s.Timeline = []fake.Event{{At: 20 * time.Minute, Create: &fake.Resource{ID: "i-31", Rate: &fake.Rate{Amount: "3", Per: "hour"}}}}
	s.Faults = []fake.Fault{
		{Call: fake.CallList, From: 30 * time.Minute, For: 20 * time.Minute, Reply: fake.Reply{DropPage: 3}},
		{Call: fake.CallGet, From: 21 * time.Minute, For: 3 * time.Minute, Reply: fake.Reply{Empty: true}}}
	w := story(t, s)
	w.until(11 * time.Minute)
	w.finding(true, guard.RuleUnregistered, "lab/z-last")
	w.until(20*time.Minute + 7*time.Second)
	w.register(wire.RegisterRequest{ID: "lab/i-31", TTL: "1h"})
	w.stepped = func() {
		for _, id := range []string{"lab/i-31", "lab/z-last"} {
			if s := w.item(id).State; s == "gone" {
				t.Fatalf("%s is taken for gone at %s", id, w.offset())
			}
		}
	}
	w.until(70 * time.Minute)
	if it := w.item("lab/i-31"); it.Lease != "active" || *it.Spend != spentText(w.spent("lab", "i-31")) {
		t.Errorf("the cloud says %s: %s", spentText(w.spent("lab", "i-31")), w.tell("lab/i-31"))
	}
}

// ORPH-06, API-04: what was there before guard is told with its age, its cost and
// the commands, within a poll or two, over throttled lists; nobody kills it.
func TestLawBeforeGuard(t *testing.T) {
	t.Parallel()
	s := lab(gpu("bench-7", "0.71", func(r *fake.Resource) { r.Created = -10 * time.Hour }))
	s.Faults = []fake.Fault{{Call: fake.CallList, Times: 2, Reply: fake.Reply{Status: 429, RetryAfter: "20"}}}
	w := story(t, s)
	w.until(2 * time.Minute)
	m := w.said("lab/bench-7")
	if len(m) != 1 {
		t.Fatalf("said %q", w.posts(""))
	}
	text := m[0].Title + strings.Join(m[0].Lines, "\n")
	for _, want := range []string{"10h", "7.1", "0.71", "guard release lab/bench-7", "guard register lab/bench-7"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
	w.until(2 * time.Hour)
	w.untouched("lab")
	out := w.register(wire.RegisterRequest{ID: "lab/bench-7", TTL: "1h"})
	if out.Item.Spend == nil || *out.Item.Spend < "8.5" {
		t.Errorf("counted from when guard saw it: %v", out.Item.Spend)
	}
}

// REL-07: the account of a due release leaves the configuration.
func TestLawAccountLeaves(t *testing.T) {
	t.Parallel()
	config, scripts := twoAccounts("acct-1", "acct-2")
	w := newWorld(t, config, scripts...)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "b/i-b", TTL: "70m", Budget: "9USD"})
	w.until(time.Hour)
	if err := w.reload("mode: enforce\naccounts:\n  - {name: a, provider: fake}\n"); err == nil || !strings.Contains(err.Error(), "b/i-b") {
		t.Errorf("reload: %v", err)
	}
	w.boot()
	w.until(80 * time.Minute)
	w.untouched("b")
	w.release("b/i-b", "blocked provider_missing")
	if *w.item("b/i-b").Spend < "2.6" {
		t.Errorf("the money stands still: %s", w.tell("b/i-b"))
	}
	w.until(6 * time.Hour)
	w.config = config
	w.boot()
	w.until(7 * time.Hour)
	w.gone("b", "i-b", 6*time.Hour, 6*time.Hour+12*time.Minute)
}

// SPOT-01, as far as it goes: the newcomer that a spot request starts in place of
// a released box is found and told; that the request is cancelled first is not
// built.
func TestLawRelaunched(t *testing.T) {
	t.Parallel()
	s := lab(fake.Resource{ID: "sir-1", Kind: guard.SpotRequest},
		gpu("i-41", "4.80", func(r *fake.Resource) {
			r.Spot, r.Relaunch = true, &fake.Relaunch{By: "spot_request", Parent: "sir-1", After: time.Minute, IDs: []string{"i-42"}}
		}))
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-41", Budget: "4.80USD", TTL: "9d"})
	w.until(time.Hour + 20*time.Minute)
	w.gone("lab", "i-41", time.Hour-2*time.Minute, time.Hour)
	w.release("lab/i-41", "released")
	if w.clouds["lab"].Truth("i-42") == fake.TruthRunning {
		w.finding(true, guard.RuleUnregistered, "lab/i-42")
	}
}
