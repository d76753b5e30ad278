package spend

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var t0 = time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)

func usd(amount string, per time.Duration) guard.Rate {
	return guard.Rate{Amount: guard.MustMoney(amount + " USD"), Per: per, Source: "api"}
}

func rid(id string) guard.ResourceID {
	return guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id}
}

func seg(id string, rate guard.Rate, from, to time.Duration) guard.Segment {
	s := guard.Segment{Resource: rid(id), State: guard.StateRunning, Rate: rate, From: t0.Add(from)}
	if to >= 0 {
		s.To = t0.Add(to)
	}
	return s
}

const open = time.Duration(-1)

// drawSegments makes the records of a few resources on whole seconds, with gaps,
// state changes, unknown rates and two currencies.
func drawSegments(t *rapid.T, known bool) []guard.Segment {
	rates := []guard.Rate{usd("2.4", time.Hour), usd("0.001", time.Second), usd("73", guard.Month),
		usd("1.25", time.Hour).PerGPU(8), {Amount: guard.MustMoney("7 CNY"), Per: time.Hour},
		{Amount: guard.ZeroMoney("USD"), Per: time.Hour, Free: true}}
	if !known {
		rates = append(rates, guard.Rate{})
	}
	var out []guard.Segment
	for r := range rapid.IntRange(1, 3).Draw(t, "resources") {
		g := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 10 * time.Minute}).Draw(t, "granularity")
		m := rapid.SampledFrom([]time.Duration{0, time.Minute, 90 * time.Second}).Draw(t, "minimum")
		at := time.Duration(rapid.IntRange(0, 600).Draw(t, "start")) * time.Second
		for range rapid.IntRange(1, 5).Draw(t, "segments") {
			d := time.Duration(rapid.IntRange(1, 900).Draw(t, "length")) * time.Second
			s := seg(fmt.Sprintf("i-%d", r), rapid.SampledFrom(rates).Draw(t, "rate"), at, at+d)
			s.Granularity, s.Minimum = g, m
			s.State = rapid.SampledFrom([]guard.State{guard.StateRunning, guard.StateStopped}).Draw(t, "state")
			out = append(out, s)
			at += d
			if rapid.Bool().Draw(t, "gap") {
				at += time.Duration(rapid.IntRange(1, 300).Draw(t, "pause")) * time.Second
			}
		}
		if rapid.Bool().Draw(t, "open") {
			out[len(out)-1].To = time.Time{}
		}
	}
	return out
}

// simulate walks second by second and pays each unit as it starts: the naive
// reading of the billing rule. It returns the sum and whether a part was unknown.
func simulate(segs []guard.Segment, currency string, seconds int) (*big.Rat, bool) {
	total, unknown := new(big.Rat), false
	byResource := map[string][]guard.Segment{}
	for _, s := range segs {
		byResource[s.Resource.Key()] = append(byResource[s.Resource.Key()], s)
	}
	for _, own := range byResource {
		var paidUntil time.Time
		var lastState guard.State
		var lastEnd time.Time
		for sec := range seconds {
			now := t0.Add(time.Duration(sec) * time.Second)
			i := slices.IndexFunc(own, func(s guard.Segment) bool {
				return !now.Before(s.From) && (s.To.IsZero() || now.Before(s.To))
			})
			if i < 0 {
				lastState = ""
				continue
			}
			s := own[i]
			unit := s.Granularity
			if s.State != lastState || now.After(lastEnd) {
				// A new run: its first unit is the minimum in whole granularity.
				if unit = max(s.Granularity, time.Second); s.Minimum > unit {
					unit = (s.Minimum + unit - 1) / unit * unit
				}
				paidUntil = now
			} else if unit == 0 {
				unit = time.Second
			}
			lastState, lastEnd = s.State, now.Add(time.Second)
			if now.Before(paidUntil) {
				continue
			}
			paidUntil = now.Add(unit)
			switch price := s.Rate.Over(unit); {
			case price == nil:
				unknown = true
			case s.Rate.Currency() == currency:
				total.Add(total, price)
			}
		}
	}
	return total, unknown
}

func TestSpentEqualsTheNaiveMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segs := drawSegments(t, false)
		seconds := rapid.IntRange(0, 6000).Draw(t, "until")
		shuffled := rapid.Permutation(segs).Draw(t, "order")
		got := Spent(shuffled, t0.Add(time.Duration(seconds)*time.Second))
		for _, c := range []string{"USD", "CNY"} {
			want, unknown := simulate(segs, c, seconds)
			wantMoney, err := guard.MoneyFromRat(want, c)
			if err != nil {
				t.Fatal(err)
			}
			if !got.In(c).Equal(wantMoney) {
				t.Errorf("%s: got %v, the naive meter has %v", c, got.In(c), wantMoney)
			}
			// An unknown unit that the naive meter met must be told of.
			if unknown && len(got.Unknown) == 0 {
				t.Error("a part of unknown price is not in Unknown")
			}
		}
	})
}

func TestSpendNeverFallsAndIsNeverNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segs := drawSegments(t, false)
		var last guard.Money
		for range 20 {
			last = guard.ZeroMoney("USD")
		}
		at := t0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "step")))
			now := Spent(segs, at).In("USD")
			if now.IsNegative() {
				t.Fatalf("spend is negative: %v", now)
			}
			if n, err := now.Cmp(last); err != nil || n < 0 {
				t.Fatalf("spend fell from %v to %v (%v)", last, now, err)
			}
			last = now
		}
	})
}

func TestCrossingIsTheLastMomentUnderTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segs := drawSegments(t, false)
		cents := rapid.IntRange(0, 2000).Draw(t, "cents")
		cap := guard.MustMoney(fmt.Sprintf("%d.%02d USD", cents/100, cents%100))
		from := t0.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "from")))
		owes := func(at time.Time) int {
			var ps []piece
			for _, p := range pieces(segs) {
				if p.perNano != nil && p.seg.Rate.Currency() == "USD" {
					ps = append(ps, p)
				}
			}
			return sum(ps, at.UnixNano()).Cmp(cap.Rat())
		}
		cross, ok := Crossing(segs, cap, from)
		if !ok {
			if owes(from.Add(Horizon)) > 0 {
				t.Fatal("the cap is crossed and no crossing was found")
			}
			return
		}
		if owes(cross) > 0 {
			t.Fatalf("more than the cap is owed at the crossing %v", cross)
		}
		if owes(cross.Add(1)) <= 0 {
			t.Fatalf("the cap is not crossed right after %v", cross)
		}
		if elsewhere, _ := Crossing(segs, cap, t0); !elsewhere.Equal(cross) {
			t.Fatalf("the crossing depends on where it is looked for: %v, %v", cross, elsewhere)
		}
	})
}

func TestGoldenBilling(t *testing.T) {
	gpu := usd("1.00", time.Hour).PerGPU(4)
	hourly := func(s guard.Segment) guard.Segment { s.Granularity = time.Hour; return s }
	minute := func(s guard.Segment) guard.Segment {
		s.Granularity, s.Minimum = time.Second, time.Minute
		return s
	}
	for _, c := range []struct {
		name  string
		segs  []guard.Segment
		until time.Duration
		want  string
	}{
		{"nothing has run yet", []guard.Segment{seg("a", gpu, 0, open)}, 0, "0 USD"},
		{"per GPU, ten hours", []guard.Segment{seg("a", gpu, 0, open)}, 10 * time.Hour, "40.00 USD"},
		{"a started hour is owed whole", []guard.Segment{hourly(seg("a", gpu, 0, open))}, time.Second, "4.00 USD"},
		{"exactly one hour is one hour", []guard.Segment{hourly(seg("a", gpu, 0, open))}, time.Hour, "4.00 USD"},
		{"the next hour starts", []guard.Segment{hourly(seg("a", gpu, 0, open))}, time.Hour + time.Second, "8.00 USD"},
		{"two runs of ten minutes are two hours", []guard.Segment{
			hourly(seg("a", gpu, 0, 10*time.Minute)), hourly(seg("a", gpu, 20*time.Minute, 30*time.Minute))}, time.Hour, "8.00 USD"},
		{"one run at two rates: the started hour keeps its rate", []guard.Segment{
			hourly(seg("a", gpu, 0, 30*time.Minute)), hourly(seg("a", usd("40", time.Hour), 30*time.Minute, open))}, time.Hour, "4.00 USD"},
		{"a minute is the least", []guard.Segment{minute(seg("a", usd("36", time.Hour), 0, 10*time.Second))}, time.Hour, "0.60 USD"},
		{"beyond the minimum by the second", []guard.Segment{minute(seg("a", usd("36", time.Hour), 0, 61*time.Second))}, time.Hour, "0.61 USD"},
		{"a month is 730 hours", []guard.Segment{seg("v", usd("0.08", guard.Month).PerGB(500), 0, open)}, 730 * time.Hour, "40.00 USD"},
		{"8 x H100 at 98 an hour until the cap of 500", []guard.Segment{seg("a", usd("98", time.Hour), 0, open)}, 5 * time.Hour, "490.00 USD"},
		{"a closed segment owes nothing more", []guard.Segment{seg("a", gpu, 0, time.Hour)}, 100 * time.Hour, "4.00 USD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Spent(c.segs, t0.Add(c.until)).In("USD")
			if !got.Equal(guard.MustMoney(c.want)) {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestCrossingGolden(t *testing.T) {
	hour := seg("a", usd("10", time.Hour), 0, open)
	hour.Granularity = time.Hour
	child := seg("v", usd("73", guard.Month), 0, open) // 0.10 an hour
	for _, c := range []struct {
		name string
		segs []guard.Segment
		cap  string
		want time.Duration
		ok   bool
	}{
		{"continuous", []guard.Segment{seg("a", usd("2.4", time.Hour), 0, open)}, "24 USD", 10 * time.Hour, true},
		{"started hours: before the one that exceeds", []guard.Segment{hour}, "25 USD", 2 * time.Hour, true},
		{"started hours, an exact fit", []guard.Segment{hour}, "30 USD", 3 * time.Hour, true},
		{"children count", []guard.Segment{seg("a", usd("2.4", time.Hour), 0, open), child}, "25 USD", 10 * time.Hour, true},
		{"a child alone after the machine is gone", []guard.Segment{seg("a", usd("2.4", time.Hour), 0, time.Hour), child}, "3.4 USD", 10 * time.Hour, true},
		{"all is over", []guard.Segment{seg("a", usd("2.4", time.Hour), 0, time.Hour)}, "5 USD", 0, false},
		{"only another currency", []guard.Segment{seg("a", guard.Rate{Amount: guard.MustMoney("9 CNY"), Per: time.Hour}, 0, open)}, "5 USD", 0, false},
		{"only unknown", []guard.Segment{seg("a", guard.Rate{}, 0, open)}, "5 USD", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Crossing(c.segs, guard.MustMoney(c.cap), t0.Add(time.Hour))
			if ok != c.ok || (ok && !got.Equal(t0.Add(c.want))) {
				t.Errorf("got %v %v, want %v %v", got, ok, t0.Add(c.want), c.ok)
			}
		})
	}
}

func TestLacksNamesWhatACapCannotSee(t *testing.T) {
	cny := guard.Rate{Amount: guard.MustMoney("9 CNY"), Per: time.Hour}
	segs := []guard.Segment{seg("a", usd("1", time.Hour), 0, open), seg("b", cny, 0, open), seg("c", guard.Rate{}, 0, open),
		seg("c", guard.Rate{}, time.Hour, open)}
	got := Lines(Lacks(segs, "USD"))
	want := []string{"lab/b: bills in CNY since 2026-03-06 10:00:00 UTC", "lab/c: no known price since 2026-03-06 10:00:00 UTC"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	total := Spent(segs, t0.Add(2*time.Hour))
	if !total.In("CNY").Equal(guard.MustMoney("18 CNY")) || !total.In("USD").Equal(guard.MustMoney("2 USD")) {
		t.Errorf("currencies got mixed: %v", total.Known)
	}
	if len(total.Unknown) != 1 {
		t.Errorf("unknown parts: %v", total.Unknown)
	}
}

func TestLandingIsCautiousAboutAPriceReadOnce(t *testing.T) {
	was := usd("10", time.Hour)
	s := seg("a", usd("5", time.Hour), 0, open)
	s.Provisional, s.Was = 1, &was
	d, ok := Landing([]guard.Segment{s}, guard.MustMoney("20 USD"), 5*time.Minute, t0)
	if !ok || !d.Limit.Equal(t0.Add(2*time.Hour)) || !d.Due.Equal(t0.Add(115*time.Minute)) || d.Lead != 5*time.Minute {
		t.Errorf("got %+v %v: a drop that was read once must not move the landing", d, ok)
	}
}

// sum is what the pieces owe at t, all of them known and of one currency.
func sum(ps []piece, t int64) *big.Rat {
	total := new(big.Rat)
	for _, p := range ps {
		if n := p.billed(t); n > 0 {
			total.Add(total, new(big.Rat).Mul(p.perNano, new(big.Rat).SetInt64(n)))
		}
	}
	return total
}
