package daemon_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers/fake"
)

func reported(amount string) fake.Reply {
	return fake.Reply{SetFields: map[string]any{"rate": map[string]any{"amount": amount, "per": "hour", "currency": "USD"}}}
}

// OWN-10, laws 1 and 8: a price is odd for one poll or for good, in a list, in a
// read or in both. Nothing is released by it, no deadline is now because of it,
// and the spend ends up as the cloud's own.
func TestLawOddPrice(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]fake.Reply{
		"x1.5":           reported("3.60"),
		"x25":            reported("60"),
		"x100":           reported("240"),
		"a hundredth":    reported("0.024"),
		"nothing":        reported("0"),
		"another coin":   {SetFields: map[string]any{"rate": map[string]any{"amount": "2.40", "per": "hour", "currency": "CNY"}}},
		"negative":       reported("-2.40"),
		"not a number":   reported("NaN"),
		"null":           {NullFields: []string{"rate"}},
		"gpus null":      {NullFields: []string{"gpus"}},
		"per gpu, null":  {SetFields: map[string]any{"rate": map[string]any{"amount": "2.40", "per": "hour", "per_gpu": true}, "gpus": nil}},
		"all of it null": {NullFields: []string{"rate", "state", "gpus", "tags", "created", "stop_effect"}},
	} {
		for _, times := range []int{1, 2} { // a list each poll
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				t.Parallel()
				s := lab(gpu("i-1", "2.40", func(r *fake.Resource) { r.Created = -8*time.Hour - 20*time.Minute })) // 20 spent
				from := 5*time.Minute + time.Second
				s.Faults = []fake.Fault{{Call: fake.CallList, From: from, For: time.Duration(times) * time.Minute, Reply: odd},
					{Call: fake.CallGet, From: from, For: time.Duration(times) * time.Minute, Reply: odd}}
				w := story(t, s)
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "100USD", TTL: "9d"})
				w.stepped = func() {
					if d := w.item("lab/i-1").Deadline; d == nil || d.Sub(w.at.Wall) < time.Hour {
						t.Fatalf("the deadline is %v at %s", d, w.offset())
					}
				}
				w.until(40 * time.Minute)
				w.untouched("lab")
				it := w.item("lab/i-1")
				if it.Spend == nil || *it.Spend != spentText(w.spent("lab", "i-1")) {
					t.Errorf("spent %s by the cloud: %s", spentText(w.spent("lab", "i-1")), w.tell("lab/i-1"))
				}
				w.toldOnce()
			})
		}
	}
}

// Law 1 and 5: in the very read before the call a field is null. What is not told
// neither saves a box from its cap nor strips it of its protection.
func TestLawNullAtTheDeadline(t *testing.T) {
	t.Parallel()
	due := time.Hour - 40*time.Second
	for _, null := range [][]string{{"gpus"}, {"gpus", "gpu_model", "type"}, {"rate"}, {"state"}, {"created"}, {"tags"}, {"stop_effect", "stopped_rate"}, {"protected"}, {"attached"}} {
		for _, call := range []string{fake.CallGet, fake.CallAny} {
			t.Run(fmt.Sprint(null, call), func(t *testing.T) {
				t.Parallel()
				s := lab(gpu("i-1", "10"), gpu("kept", "10", func(r *fake.Resource) { r.Tags = map[string]string{"guard:keep": "true"} }),
					gpu("theirs", "10", func(r *fake.Resource) { r.Tags = map[string]string{guard.TagDeployment: "other"} }))
				s.Faults = []fake.Fault{{Call: call, From: due - 5*time.Minute, For: 20 * time.Minute, Reply: fake.Reply{NullFields: null}}}
				w := story(t, s)
				w.until(time.Minute)
				w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "10USD", TTL: "9d"})
				w.register(wire.RegisterRequest{ID: "lab/kept", Budget: "10USD", TTL: "9d"})
				w.until(due + 5*time.Minute)
				_, _ = w.client.Release(t.Context(), wire.ReleaseRequest{IDs: []string{"lab/theirs"}})
				w.until(due + 40*time.Minute)
				w.gone("lab", "i-1", due, due+time.Minute)
				w.truth("lab", "kept", fake.TruthRunning)
				w.truth("lab", "theirs", fake.TruthRunning)
			})
		}
	}
}

// Law 8: a real rise in price is believed after a second reading, and people get
// ten minutes; the box goes then, not at once and not never.
func TestLawRealRise(t *testing.T) {
	t.Parallel()
	for _, poll := range []string{"30s", "60s", "5m"} {
		t.Run(poll, func(t *testing.T) {
			t.Parallel()
			every, _ := time.ParseDuration(poll)
			rise := 2*time.Hour + 10*time.Second
			s := lab(gpu("i-1", "10", func(r *fake.Resource) { r.Created = -6 * time.Hour })) // 80 of 100 by then
			s.Timeline = []fake.Event{{At: rise, ID: "i-1", Rate: &fake.Rate{Amount: "250", Per: "hour"}}}
			w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: "+poll+"}", 1), s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "100USD", TTL: "9d"})
			w.until(rise + 2*every)
			w.untouched("lab")
			w.until(rise + 4*every + 13*time.Minute)
			w.gone("lab", "i-1", rise+4*time.Minute, rise+4*every+12*time.Minute)
			if len(w.said("its price changed")) == 0 || len(w.said("will release it at")) == 0 {
				t.Errorf("told %q", w.posts("i-1"))
			}
			w.toldOnce()
		})
	}
}

// A price that is 100-fold for good stays unbelieved until a person states it;
// the spend since then is corrected.
func TestLawUnitMismatchConfirmed(t *testing.T) {
	t.Parallel()
	s := lab(gpu("i-1", "1", func(r *fake.Resource) { r.Created = -time.Hour }))
	s.Timeline = []fake.Event{{At: time.Hour, ID: "i-1", Rate: &fake.Rate{Amount: "100", Per: "hour"}}}
	w := story(t, s)
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "150USD", TTL: "9d"})
	w.until(90 * time.Minute)
	w.untouched("lab")
	w.finding(true, guard.RuleUnitMismatch, "lab/i-1")
	w.register(wire.RegisterRequest{ID: "lab/i-1", Price: "100USD/h"})
	w.until(91 * time.Minute)
	w.finding(false, guard.RuleUnitMismatch, "lab/i-1")
	w.until(3 * time.Hour)
	// 2 before, 148 at 100 an hour from 1h on.
	at := time.Hour + 148*36*time.Second
	w.gone("lab", "i-1", at-2*time.Minute, at)
}

// PRC-02: per GPU and per machine.
func TestLawPerGPU(t *testing.T) {
	t.Parallel()
	s := lab(fake.Resource{ID: "four", GPUs: 4, Rate: &fake.Rate{Amount: "1.00", Per: "hour", PerGPU: true}},
		fake.Resource{ID: "eight", GPUs: 8, Rate: &fake.Rate{Amount: "6.32", Per: "hour"}})
	w := story(t, s)
	w.until(time.Minute)
	for id, want := range map[string]string{"four": "4.00 USD", "eight": "6.32 USD"} {
		out := w.register(wire.RegisterRequest{ID: "lab/" + id, Budget: "8USD", TTL: "9d"})
		if out.Item.Rate == nil || *out.Item.Rate != want {
			t.Errorf("%s: %v", id, out.Item.Rate)
		}
	}
	w.until(3 * time.Hour)
	w.gone("lab", "four", 2*time.Hour-2*time.Minute, 2*time.Hour)
	w.gone("lab", "eight", 4557*time.Second-2*time.Minute, 4557*time.Second)
}

// PRC-03: no price: no cap without one stated; unknown is told and is not zero.
func TestLawUnknownPrice(t *testing.T) {
	t.Parallel()
	for _, rate := range []*fake.Rate{nil, {Amount: "0", Per: "hour"}} {
		s := lab(fake.Resource{ID: "i-1", Rate: rate})
		w := story(t, s)
		w.until(time.Minute)
		if _, err := w.client.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1", Purpose: "x", Budget: "500USD"}); err == nil || !strings.Contains(err.Error(), "price") {
			t.Fatalf("%v: %v", rate, err)
		}
		w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "9d"})
		w.until(30 * time.Minute)
		w.finding(true, guard.RulePriceUnknown, "lab/i-1")
		if it := w.item("lab/i-1"); it.Spend != nil && !it.SpendAtLeast {
			t.Errorf("an unknown price is counted: %s", w.tell("lab/i-1"))
		}
		w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "88USD", Price: "88USD/h"})
		w.until(time.Hour + time.Minute)
		w.finding(false, guard.RulePriceUnknown, "lab/i-1")
		w.gone("lab", "i-1", time.Hour-2*time.Minute, time.Hour)
	}
}

// A child without a price: what is known counts, and it is said that it is not all.
func TestLawUnknownChild(t *testing.T) {
	t.Parallel()
	s := lab(gpu("i-1", "10", func(r *fake.Resource) { r.Attached = []string{"v-1", "v-2"} }),
		fake.Resource{ID: "v-1", Kind: guard.Volume, SizeGB: 10}, disk("v-2", 7300, false))
	w := story(t, s)
	w.until(2 * time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "22USD", TTL: "9d"})
	w.until(20 * time.Minute)
	it := w.item("lab/i-1")
	if !it.SpendAtLeast {
		t.Errorf("said to be all: %s", w.tell("lab/i-1"))
	}
	w.finding(true, guard.RulePriceUnknown, "lab/i-1")
	w.until(2*time.Hour + 10*time.Minute)
	w.gone("lab", "i-1", 2*time.Hour-2*time.Minute, 2*time.Hour)
}

// PRC-05: the cap is crossed while it is stopped, by the disks alone. With
// on_limit release it is released; with stop people hear, for there is nothing
// left to stop. The total has all of it.
func TestLawCapCrossedWhileStopped(t *testing.T) {
	t.Parallel()
	for _, onLimit := range []string{"release", "stop", "alert"} {
		t.Run(onLimit, func(t *testing.T) {
			t.Parallel()
			// The disk is 1 an hour, the address 0.05.
			s := lab(gpu("p3", "3.06", func(r *fake.Resource) { r.Attached = []string{"v-1", "ip-1"} }), disk("v-1", 7300, true),
				fake.Resource{ID: "ip-1", Kind: guard.Address, Rate: &fake.Rate{Amount: "0.05", Per: "hour"}})
			s.Timeline = []fake.Event{{At: 2 * time.Hour, ID: "p3", State: "stopped"}}
			w := newWorld(t, strings.Replace(enforce, "fake}", "fake, poll: 5m}", 1), s)
			w.until(6 * time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/p3", Budget: "15USD", TTL: "30d", OnLimit: onLimit})
			w.until(2 * time.Hour)
			if it := w.item("lab/p3"); *it.Spend != "8.22 USD" {
				t.Errorf("after two hours: %s", w.tell("lab/p3"))
			}
			cross := 2*time.Hour + 6*time.Hour + 27*time.Minute + 25*time.Second // 6.78 at 1.05
			if onLimit == "release" {
				w.until(cross)
				w.gone("lab", "p3", cross-2*time.Minute, cross)
				// While it goes, the cloud bills the half minute as if it ran.
				if sum := w.spent("lab", "p3", "v-1", "ip-1"); sum.Cmp(big.NewRat(1503, 100)) > 0 {
					t.Errorf("spent %s", sum.FloatString(4))
				}
			} else {
				w.until(cross + 30*time.Minute)
				w.untouched("lab")
				w.finding(true, guard.RuleBudgetExceeded, "lab/p3")
				if len(w.said("its cap of 15.00 USD is reached")) == 0 {
					t.Errorf("nobody heard: %q", w.posts("p3"))
				}
			}
			w.toldOnce()
		})
	}
}

// What outlives its box goes on counting to the lease, until it is gone, whoever
// ended the box, over a restart.
func TestLawChildrenCountOn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"release", "outside"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := lab(gpu("i-1", "10", func(r *fake.Resource) { r.Attached = []string{"v-1", "v-0"} }), disk("v-1", 7300, false), disk("v-0", 7300, true))
			s.Timeline = []fake.Event{{At: 5 * time.Hour, ID: "v-1", Delete: true}}
			if how == "outside" {
				s.Timeline = append([]fake.Event{{At: 2 * time.Hour, ID: "i-1", Delete: true}}, s.Timeline...)
			}
			s.Lag.Disappears = 30 * time.Minute
			w := story(t, s)
			w.until(time.Minute)
			w.register(wire.RegisterRequest{ID: "lab/i-1", TTL: "2h"})
			for _, at := range []time.Duration{time.Hour, 4 * time.Hour, 5*time.Hour + 20*time.Minute, 6 * time.Hour} {
				w.until(at)
				w.boot()
				w.until(at + 2*time.Minute)
				if it := w.item("lab/i-1"); it.Spend == nil || *it.Spend != spentText(w.spent("lab", "i-1", "v-1", "v-0")) {
					t.Errorf("at %s, spent %s by the cloud: %s", at, spentText(w.spent("lab", "i-1", "v-1", "v-0")), w.tell("lab/i-1"))
				}
			}
			if n := len(w.calls("lab", fake.CallDelete, "")); n > 0 {
				t.Error("guard deleted data")
			}
		})
	}
}

// BUD-01: our own metering, from the provider's start, warns and lands; a box that
// was there before guard counts from its own beginning.
func TestLawCapFromTheStart(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("i-1", "98", func(r *fake.Resource) { r.Created = -3 * time.Hour })))
	w.until(time.Minute)
	w.register(wire.RegisterRequest{ID: "lab/i-1", Budget: "500USD", TTL: "9d"})
	at := func(percent int64) time.Duration {
		return time.Duration(percent)*5*time.Hour/98 - 3*time.Hour // of 500 at 98 an hour
	}
	w.until(at(80) + time.Minute)
	if m := w.said("80% of its cap"); len(m) != 1 || m[0].CreatedAt.Sub(w.start) < at(80)-time.Second {
		t.Errorf("80%% is at %s: %q", at(80), w.posts("i-1"))
	}
	w.until(at(100) + time.Minute)
	w.gone("lab", "i-1", at(100)-2*time.Minute, at(100))
	if sum := w.spent("lab", "i-1"); sum.Cmp(big.NewRat(500, 1)) > 0 {
		t.Errorf("spent %s", sum.FloatString(4))
	}
}

// OWN-07: a budget that is spent is refused, and so is one that a release could
// not keep any more.
func TestLawSpentBudget(t *testing.T) {
	t.Parallel()
	w := story(t, lab(gpu("i-1", "10", func(r *fake.Resource) { r.Created = -time.Hour }), gpu("db", "10", func(r *fake.Resource) { r.GPUs = fake.NoGPU })))
	w.until(2 * time.Minute)
	for budget, ok := range map[string]bool{"10USD": false, "10.35USD": false, "10.40CNY": false, "0USD": false, "11": false, "11USD": true} {
		_, err := w.client.Register(t.Context(), wire.RegisterRequest{ID: "lab/i-1", Purpose: "x", Budget: budget, TTL: "9d", Owner: "ana"})
		if (err == nil) != ok {
			t.Errorf("budget %s: %v", budget, err)
		}
	}
	if _, err := w.client.Register(t.Context(), wire.RegisterRequest{ID: "lab/db", Purpose: "x"}); err == nil {
		t.Error("a box without a GPU was taken")
	}
	w.until(3 * time.Minute)
	w.untouched("lab")
}
