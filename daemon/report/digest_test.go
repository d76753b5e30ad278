package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/report"
	"guard/policy/spend"
	"guard/store"
	"guard/store/memory"
)

func (w *world) digest(spec string) *report.Digest {
	return report.NewDigest(w.config(), w.schedule(spec).NextDaily, func() report.Alive { return report.Alive{Version: "1", Started: w.at.Wall} })
}

// Once a day, whatever the clocks of a zone do, and however often guard starts.
func TestDigestIsDaily(t *testing.T) {
	for _, c := range []struct {
		zone, spec, start string
		days              int
	}{
		{"Europe/Berlin", "0 9 * * *", "2026-03-26 12:00", 7},
		{"Europe/Berlin", "30 2 * * *", "2026-03-26 12:00", 7}, // 02:30 is skipped on the 29th
		{"Europe/Berlin", "30 2 * * *", "2026-10-22 12:00", 7}, // and repeated on October 25th
		{"America/New_York", "30 2 * * *", "2026-03-05 12:00", 7},
		{"America/New_York", "30 1 * * *", "2026-10-29 12:00", 7},
		{"America/New_York", "0 9 * * *", "2026-10-29 12:00", 7},
		{"Asia/Shanghai", "0 9 * * *", "2026-03-05 12:00", 7},
		{"Asia/Shanghai", "0 9,18 * * *", "2026-03-05 20:00", 7},
		{"Asia/Shanghai", "1h", "2026-03-05 20:00", 7},
	} {
		t.Run(c.zone+" "+c.spec+" "+c.start, func(t *testing.T) {
			w := newWorld(t, c.zone, c.start)
			days := map[string]int{}
			first := w.at.Wall.In(w.zone)
			y, m, d := first.Date()
			for n := range c.days * 8 { // a restart every three hours
				w.restart()
				w.until(w.digest(c.spec), first.Add(time.Duration(n+1)*3*time.Hour))
				for _, m := range w.deliver("team") {
					days[m.CreatedAt.In(w.zone).Format(time.DateOnly)]++
				}
			}
			for n := 1; n < c.days; n++ {
				day := time.Date(y, m, d+n, 12, 0, 0, 0, w.zone).Format(time.DateOnly)
				if days[day] != 1 {
					t.Errorf("on %s it was told %d times: %v", day, days[day], days)
				}
			}
		})
	}
}

// A machine that slept over nine tells it when it wakes, once, and never those of all the
// days that it slept.
func TestDigestAfterASleep(t *testing.T) {
	for _, c := range []struct {
		name, wake string
		next       string // the one after that
	}{
		{"over nine", "2026-03-07 13:20", "2026-03-08 09:00"},
		{"to the next morning", "2026-03-08 08:00", "2026-03-09 09:00"},
		{"for ten days", "2026-03-17 23:59", "2026-03-18 09:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "Asia/Shanghai", "2026-03-06 12:00")
			l := w.digest("0 9 * * *")
			w.once(l)
			w.at = w.at.Reach(w.when(c.wake))
			w.once(l)
			w.once(l)
			if got := w.deliver("team"); len(got) != 1 || !got[0].CreatedAt.Equal(w.when(c.wake)) {
				t.Fatalf("told %d times when it woke", len(got))
			}
			w.until(l, w.when(c.next).Add(-time.Minute))
			if got := w.deliver("team"); len(got) != 0 {
				t.Fatalf("told again at %s", got[0].CreatedAt)
			}
			w.until(l, w.when(c.next))
			if got := w.deliver("team"); len(got) != 1 || !got[0].CreatedAt.Equal(w.when(c.next)) {
				t.Fatalf("the next one is told %d times", len(got))
			}
		})
	}
}

// A first start owes nothing from before it, and a clock that is set back repeats nothing.
func TestDigestBegins(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 12:00")
	w.once(w.digest("0 9 * * *"))
	if n := len(w.told()); n != 0 {
		t.Fatalf("a first start tells %d digests", n)
	}
	w.until(w.digest("0 9 * * *"), w.when("2026-03-07 10:00"))
	if n := len(w.deliver("team")); n != 1 {
		t.Fatalf("told %d times", n)
	}
	w.at = guard.Instant{Wall: w.when("2026-03-07 08:30"), Elapsed: w.at.Elapsed + time.Minute}
	w.until(w.digest("0 9 * * *"), w.when("2026-03-07 10:00"))
	if n := len(w.deliver("team")); n != 0 {
		t.Fatal("told again, for the clock was set back")
	}
}

// While the time is in doubt it may be another day: the digest waits.
func TestDigestInDoubt(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 12:00")
	w.once(w.digest("0 9 * * *"))
	doubt, config := true, w.config()
	config.Doubt = func() bool { return doubt }
	l := report.NewDigest(config, w.schedule("0 9 * * *").NextDaily, func() report.Alive { return report.Alive{} })
	w.until(l, w.when("2026-03-08 12:00"))
	if n := len(w.told()); n != 0 {
		t.Fatalf("told %d times", n)
	}
	doubt = false
	w.once(l)
	if n := len(w.deliver("team")); n != 1 {
		t.Fatalf("told %d times after that", n)
	}
}

// A crash between anything leaves one digest in each channel, in its language.
func TestDigestInEachLanguage(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-06 12:00")
	w.until(w.digest("0 9 * * *"), w.when("2026-03-07 09:00"))
	got := w.told()
	if len(got) != 2 || got[0].Lang != "" || got[1].Lang != guard.Chinese || got[0].Title == got[1].Title {
		t.Fatalf("got %+v", got)
	}
	if !strings.Contains(got[1].Title, "昨天 3月6日（周五）") || got[0].ID != "team|guard|digest|2026-03-07" {
		t.Errorf("got %s %q", got[0].ID, got[1].Title)
	}
}

// Guard says once a week that it is alive, with the first digest of the week.
func TestAliveOnceAWeek(t *testing.T) {
	w := newWorld(t, "Europe/Berlin", "2026-03-06 12:00") // a Friday
	w.runs = []report.Run{{Loop: "observe/lab", Runs: 4321}}
	l := w.digest("0 9 * * *")
	var said []string
	for range 12 {
		w.until(l, w.at.Wall.Add(24*time.Hour))
		for _, m := range w.deliver("team") {
			if strings.Contains(strings.Join(m.Lines, "\n"), "is alive") {
				said = append(said, m.CreatedAt.In(w.zone).Format("Mon 2"))
				if !strings.Contains(strings.Join(m.Lines, "\n"), "4321 times") {
					t.Error(m.Lines)
				}
			}
		}
	}
	if got := strings.Join(said, ", "); got != "Sat 7, Mon 9, Mon 16" {
		t.Errorf("said on %s", got)
	}
}

// metered draws the records of a few things, under several leases.
func metered(t *rapid.T, start time.Time) []guard.Metered {
	var out []guard.Metered
	for n := range rapid.IntRange(1, 5).Draw(t, "things") {
		m := guard.Metered{Resource: id(fmt.Sprintf("i-%d", n))}
		at := start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "start")) * 17 * time.Minute)
		for range rapid.IntRange(1, 5).Draw(t, "segments") {
			rate := rapid.SampledFrom([]guard.Rate{{}, {Amount: guard.MustMoney("2.4 USD"), Per: time.Hour}, {Amount: guard.MustMoney("7 CNY"), Per: 730 * time.Hour},
				{Amount: guard.MustMoney("0.0003 USD"), Per: time.Second}}).Draw(t, "rate")
			s := guard.Segment{Resource: m.Resource, Lease: rapid.SampledFrom([]string{"", "L1", "L2", "L3"}).Draw(t, "lease"), State: guard.StateRunning, Rate: rate, From: at,
				Granularity: rapid.SampledFrom([]time.Duration{0, time.Hour, time.Minute}).Draw(t, "granularity")}
			at = at.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "length")) * time.Minute)
			s.To = at
			m.Segments = append(m.Segments, s)
		}
		if rapid.Bool().Draw(t, "open") {
			m.Segments[len(m.Segments)-1].To = time.Time{}
		}
		if rapid.Bool().Draw(t, "lump") {
			m.Lumps = append(m.Lumps, guard.Paid{Lease: "L1", Lump: guard.Lump{Amount: guard.MustMoney("30 CNY"), From: start.Add(30 * time.Hour), Until: start.Add(300 * time.Hour)}})
		}
		out = append(out, m)
	}
	return out
}

// The digests of all days add up to exactly what each lease has spent, by team and purpose,
// over every change of clocks; what has no known price is said to have none.
func TestDigestsAddUp(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Date(2026, 3, 27, 0, 0, 0, 0, zone) // the clocks go forward on the 29th
		w := &world{t: t, backend: memory.New(), zone: zone, at: guard.Instant{Wall: start, Elapsed: time.Hour}}
		w.restart()
		records := metered(rt, start)
		leases := []guard.Lease{{ID: "L1", Purpose: "lora", Tags: map[string]string{"team": "nlp"}}, {ID: "L2", Purpose: "eval", Tags: map[string]string{"team": "nlp"}}, {ID: "L3", Purpose: "lora"}}
		w.put(func(tx *store.Tx) error {
			for n, l := range leases {
				l.Resource, l.Status = id(fmt.Sprintf("i-%d", n)), guard.LeaseActive
				if err := tx.Leases.Put(l); err != nil {
					return err
				}
			}
			for _, m := range records {
				if err := tx.Metered.Put(m); err != nil {
					return err
				}
			}
			return nil
		})
		l := report.NewDigest(w.config(), nil, nil)
		sums := map[string][]guard.Money{}
		unpriced := false
		const days = 9
		for n := range days {
			at := time.Date(2026, 3, 28+n, 9, 0, 0, 0, zone)
			d, err := l.Gather(w.t.Context(), guard.Instant{Wall: at}, false)
			if err != nil {
				rt.Fatal(err)
			}
			unpriced = unpriced || len(d.Unpriced) > 0
			for _, s := range d.Spent {
				key := fmt.Sprint(s.Team, "/", s.Purpose, "/", s.Unregistered)
				sums[key] = addAll(sums[key], s.Amounts)
			}
		}
		end := time.Date(2026, 3, 27+days, 0, 0, 0, 0, zone)
		anyUnknown := false
		for lease, key := range map[string]string{"L1": "nlp/lora/false", "L2": "nlp/eval/false", "L3": "/lora/false", "": "//true"} {
			total := spend.Spent(spend.Of(lease, records...), end)
			anyUnknown = anyUnknown || len(total.Unknown) > 0
			for _, m := range total.Known {
				if m.IsZero() {
					continue
				}
				var got guard.Money
				for _, s := range sums[key] {
					if s.Currency() == m.Currency() {
						got = s
					}
				}
				// Each day is rounded to 12 digits once.
				off, err := m.Sub(got)
				if err != nil || off.Rat().Abs(off.Rat()).Cmp(guard.MustMoney("0.0000000001 USD").Rat()) > 0 {
					rt.Fatalf("lease %q spent %s, and the digests come to %s", lease, m, got)
				}
			}
		}
		if anyUnknown != unpriced {
			rt.Fatalf("what has no known price: in the records %t, in the digests %t", anyUnknown, unpriced)
		}
	})
}

func addAll(sums, more []guard.Money) []guard.Money {
next:
	for _, m := range more {
		for i, s := range sums {
			if sum, err := s.Add(m); err == nil {
				sums[i] = sum
				continue next
			}
		}
		sums = append(sums, m)
	}
	return sums
}

// What guard ended yesterday bills less by what it billed before, without what it bills
// still; where either is not known, so is that.
func TestWhatAReleaseSaves(t *testing.T) {
	w := newWorld(t, "Asia/Shanghai", "2026-03-07 09:00")
	called := w.when("2026-03-06 20:00")
	usd := func(s string) guard.Rate { return guard.Rate{Amount: guard.MustMoney(s), Per: time.Hour} }
	for _, x := range []struct {
		id     string
		rate   guard.Rate
		left   guard.Rate // after a stop
		action guard.Action
		ended  string
		state  guard.ReleaseState
	}{
		{"gone", usd("3 USD"), guard.Rate{}, guard.ActRelease, "2026-03-06 20:02", guard.ReleaseDone},
		{"stopped", usd("3 USD"), usd("0.5 USD"), guard.ActStop, "2026-03-06 20:02", guard.ReleaseDone},
		{"unknown after", usd("3 USD"), guard.Rate{}, guard.ActStop, "2026-03-06 20:02", guard.ReleaseDone},
		{"unpriced", guard.Rate{}, guard.Rate{}, guard.ActRelease, "2026-03-06 20:02", guard.ReleaseDone},
		{"before", usd("3 USD"), guard.Rate{}, guard.ActRelease, "2026-03-05 23:59", guard.ReleaseDone},
		{"today", usd("3 USD"), guard.Rate{}, guard.ActRelease, "2026-03-07 00:00", guard.ReleaseDone},
		{"kept", usd("3 USD"), guard.Rate{}, guard.ActRelease, "2026-03-06 20:02", guard.ReleaseWithdrawn},
	} {
		end := w.when(x.ended)
		m := guard.Metered{Resource: id(x.id), Segments: []guard.Segment{{Resource: id(x.id), State: guard.StateRunning, Rate: x.rate, From: called.Add(-100 * time.Hour), To: end}}}
		if x.action == guard.ActStop {
			m.Segments = append(m.Segments, guard.Segment{Resource: id(x.id), State: guard.StateStopped, Rate: x.left, From: end})
		}
		r := guard.Release{ID: x.id, Target: id(x.id), Action: x.action, Cause: guard.CauseExpiry, State: x.state, IssuedAt: called, EndedAt: end}
		if called.After(end) {
			r.IssuedAt = end
		}
		w.put(func(tx *store.Tx) error {
			if err := tx.Metered.Put(m); err != nil {
				return err
			}
			return tx.EndRelease(r)
		})
	}
	d, err := report.NewDigest(w.config(), nil, nil).Gather(t.Context(), w.at, false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range d.Ended {
		got[e.About.In(guard.English)] = fmt.Sprint(e.Less)
	}
	want := map[string]string{"lab/gone": "[3.00 USD]", "lab/stopped": "[2.50 USD]", "lab/unpriced": "[]", "lab/unknown after": "[]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What ends today is what has its limit before midnight, by the limit that comes first.
func TestWhatEndsToday(t *testing.T) {
	w := newWorld(t, "America/New_York", "2026-11-01 00:30") // a day of 25 hours
	for name, x := range map[string]struct {
		expires, budget string
		status          guard.LeaseStatus
	}{
		"p": {"2026-11-01 20:00", "", guard.LeaseStopped},
		"a": {"2026-11-01 23:59", "", guard.LeaseActive}, "b": {"2026-11-02 00:00", "", guard.LeaseActive}, "c": {"2026-11-01 00:10", "", guard.LeaseActive},
		"d": {"2026-11-03 00:00", "2026-11-01 12:00", guard.LeaseActive}, "e": {"2026-11-01 13:00", "", guard.LeaseExpected}, "f": {"2026-11-01 13:00", "", guard.LeaseGone},
		"g": {"", "", guard.LeaseActive},
	} {
		l := guard.Lease{ID: name, Resource: id(name), Purpose: "p", Owner: "ana", OnLimit: guard.ActRelease, Status: x.status, Protected: name == "p"}
		if x.expires != "" {
			l.ExpiresAt = w.when(x.expires)
		}
		w.put(func(tx *store.Tx) error {
			if x.budget != "" {
				if err := tx.Plans.Put(guard.Plan{Lease: name, Deadlines: []guard.Deadline{{Reason: guard.DeadlineBudget, Limit: w.when(x.budget), Due: w.when(x.budget)}}}); err != nil {
					return err
				}
			}
			return tx.Leases.Put(l)
		})
	}
	d, err := report.NewDigest(w.config(), nil, nil).Gather(t.Context(), w.at, false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range d.Ends {
		got[e.About.In(guard.English)] = fmt.Sprintf("%s: %s", e.By, e.Does)
	}
	want := map[string]string{"lab/a (p)": "expiry: release", "lab/d (p)": "budget: release", "lab/p (p)": "expiry: alert"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	w.accounts[0].Mode = guard.Observe
	if d, err = report.NewDigest(w.config(), nil, nil).Gather(t.Context(), w.at, false); err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Ends {
		if e.Does != guard.ActAlert {
			t.Errorf("in observe mode guard is said to %s %s", e.Does, e.About.In(guard.English))
		}
	}
}
