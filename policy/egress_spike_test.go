package policy

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/policy/egress"
)

var spikes = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// sender is a box whose traffic is metered every five minutes and judged by the rule and
// by two others.
type sender struct {
	rec    guard.Egress
	tx     uint64
	at     time.Time
	price  guard.EgressPrice
	rules  Rules
	open   time.Time // since when the rule's finding is
	stages map[string]bool
	last   Verdict
	alarms map[string][]time.Time
	was    map[string]bool
	recent []float64 // bytes of the last day's buckets
	mean   float64   // of the exponentially weighted average
	vary   float64
}

func newSender() *sender {
	return &sender{at: spikes, price: guard.EgressPrice{PerGB: guard.MustMoney("0.09 USD")}, rules: DefaultRules(),
		alarms: map[string][]time.Time{}, was: map[string]bool{}, stages: map[string]bool{}}
}

// send lets five minutes pass in which so many bytes go out.
func (s *sender) send(bytes float64) {
	s.at = s.at.Add(5 * time.Minute)
	s.tx += uint64(bytes)
	s.rec = egress.Fold(s.rec, guard.Sample{At: s.at, Source: "agent", NICs: []guard.NICSample{{Name: "eth0", Tx: s.tx}}}, egress.Options{Spike: s.open})
	out := egressSpike(s.rules, s.facts())
	s.judge("rule", len(out.Verdicts) > 0)
	if len(out.Verdicts) > 0 {
		s.last = out.Verdicts[0]
		if s.open.IsZero() {
			s.open = s.last.Since
		}
		for _, stage := range s.last.Stages {
			s.stages[stage.Name] = true
		}
	} else {
		s.open = time.Time{}
	}
	s.others(bytes)
}

func (s *sender) facts() Facts {
	return Facts{At: s.at, Egress: &s.rec, Observed: &guard.Observed{Resource: guard.Resource{
		ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, State: guard.StateRunning, Egress: s.price}}}
}

// judge notes when a rule begins to alarm.
func (s *sender) judge(rule string, alarm bool) {
	if alarm && !s.was[rule] {
		s.alarms[rule] = append(s.alarms[rule], s.at)
	}
	s.was[rule] = alarm
}

// others are what monitoring is usually set to: a median absolute deviation above 6 over
// the last day, and four sigma above an exponentially weighted average.
func (s *sender) others(bytes float64) {
	if len(s.recent) >= 24 {
		sorted := slices.Clone(s.recent)
		slices.Sort(sorted)
		median := sorted[len(sorted)/2]
		for i := range sorted {
			sorted[i] = math.Abs(sorted[i] - median)
		}
		slices.Sort(sorted)
		s.judge("MAD z > 6", bytes > median+6*1.4826*max(sorted[len(sorted)/2], 1))
		s.judge("EWMA 4σ", bytes > s.mean+4*math.Sqrt(s.vary))
	}
	const weight = 0.05
	off := bytes - s.mean
	s.mean += weight * off
	s.vary = (1 - weight) * (s.vary + weight*off*off)
	if s.recent = append(s.recent, bytes); len(s.recent) > 288 {
		s.recent = s.recent[1:]
	}
}

// days of usual traffic: some 20 kB/s, and 4 GB that are pushed every night at about two.
func (s *sender) days(n int, r *rand.Rand) {
	for range n {
		push := 2*12 + r.IntN(6)
		for i := range 288 {
			bytes := 20e3 * 300 * (0.5 + r.Float64())
			if i == push || i == push+1 {
				bytes += 2e9
			}
			s.send(bytes)
		}
	}
}

// Fourteen days with a nightly push raise no alarm; leaks are caught in the time that
// their money takes to count.
func TestEgressSpikeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	usual := newSender()
	usual.days(14, r)
	rules := []string{"rule", "MAD z > 6", "EWMA 4σ"}
	var table strings.Builder
	fmt.Fprintf(&table, "%-12s %14s %10s %10s %10s\n", "", "false in 14 d", "200 MB/s", "20 MB/s", "3 MB/s")
	found := map[string]time.Duration{}
	row := map[string]string{}
	for _, rule := range rules {
		row[rule] = fmt.Sprintf("%-12s %14d", rule, len(usual.alarms[rule]))
	}
	for _, leak := range []float64{200e6, 20e6, 3e6} {
		s := newSender()
		s.days(8, rand.New(rand.NewPCG(3, 4)))
		began := s.at
		clear(s.alarms)
		for range 288 {
			s.send(leak*300 + 6e6)
		}
		for _, rule := range rules {
			word := "never"
			if at := s.alarms[rule]; len(at) > 0 {
				word = at[0].Sub(began).String()
				found[fmt.Sprint(rule, leak)] = at[0].Sub(began)
			}
			row[rule] += fmt.Sprintf(" %10s", strings.TrimSuffix(word, "0s"))
		}
	}
	for _, rule := range rules {
		fmt.Fprintln(&table, row[rule])
	}
	t.Log("\n" + table.String())
	if n := len(usual.alarms["rule"]); n != 0 {
		t.Errorf("%d false alarms: %v", n, usual.alarms["rule"])
	}
	for leak, most := range map[float64]time.Duration{200e6: 5 * time.Minute, 20e6: 20 * time.Minute, 3e6: 11 * time.Hour} {
		if got, ok := found[fmt.Sprint("rule", leak)]; !ok || got > most {
			t.Errorf("a leak of %.0f MB/s: caught after %s (%t), want %s at most", leak/1e6, got, ok, most)
		}
	}
}

// A leak that never changes stays told for a month, is not learned, and is over within
// an hour of its end.
func TestEgressSpikeLeak(t *testing.T) {
	s := newSender()
	s.price.PerGB = guard.MustMoney("0.045 USD")
	s.rules.EgressSpike.Day = guard.MustMoney("50 USD")
	s.days(7, rand.New(rand.NewPCG(5, 6)))
	began, from := s.at, s.rec.Sent
	for range 30 * 288 {
		s.send(46e6 * 300)
		if s.at.Sub(began) > 20*time.Minute && !s.was["rule"] {
			t.Fatalf("silent %s after it began", s.at.Sub(began))
		}
	}
	if n := len(s.alarms["rule"]); n != 1 {
		t.Errorf("opened %d times", n)
	}
	if cost, _ := s.price.Cost(s.rec.Sent-from, 0); cost.Round().String() != "5365.44 USD" {
		t.Errorf("a month of it costs %s", cost.Round())
	}
	if !s.last.Urgent && s.last.Wastes.Round().String() != "7.45 USD" {
		t.Errorf("%+v", s.last)
	}
	end := s.at
	for s.was["rule"] && s.at.Sub(end) < 3*time.Hour {
		s.send(6e6)
	}
	if d := s.at.Sub(end); d > time.Hour {
		t.Errorf("over only %s after its end", d)
	}
	s.days(2, rand.New(rand.NewPCG(7, 8)))
	if n := len(s.alarms["rule"]); n != 1 {
		t.Errorf("what is usual alarms after a leak: %v", s.alarms["rule"])
	}
}

// A leak too small for an hour's limit is caught by the day's, at the latest when that
// much is spent, also on a box that nobody has known before.
func TestEgressSpikeDay(t *testing.T) {
	for _, known := range []int{0, 8} {
		s := newSender()
		s.days(known, rand.New(rand.NewPCG(9, 10)))
		began := s.at
		for !s.was["rule"] && s.at.Sub(began) < 24*time.Hour {
			s.send(4e6 * 300)
		}
		if cost := 4e6 * s.at.Sub(began).Seconds() / guard.GB * 0.09; cost > 10.2 || cost < 9 {
			t.Errorf("after %d days: told at %.2f USD", known, cost)
		}
		if !s.stages["day"] || s.stages["hour"] {
			t.Errorf("told %v", s.stages)
		}
		for range 3 * 288 {
			if s.send(4e6 * 300); !s.was["rule"] {
				t.Fatal("forgotten while it lasts")
			}
		}
	}
}

func TestEgressSpikePrices(t *testing.T) {
	at := func(s *sender, rate float64) (time.Duration, Verdict) {
		s.days(2, rand.New(rand.NewPCG(11, 12)))
		began := s.at
		for !s.was["rule"] && s.at.Sub(began) < 24*time.Hour {
			s.send(rate * 300)
		}
		return s.at.Sub(began), s.last
	}
	usd := newSender()
	d, v := at(usd, 20e6)
	if d != 20*time.Minute || !v.Wastes.IsPositive() || !strings.Contains(v.Stages[0].Title, "USD") {
		t.Errorf("priced: %s, %s, wastes %s", d, v.Stages[0].Title, v.Wastes)
	}
	unknown := newSender()
	unknown.price = guard.EgressPrice{}
	d, v = at(unknown, 20e6)
	if d != 20*time.Minute || v.Wastes.IsSet() || !strings.Contains(v.Stages[0].Title, "not known") {
		t.Errorf("unknown: %s, %s", d, v.Stages[0].Title)
	}
	most := newSender()
	most.price = guard.EgressPrice{UpTo: guard.MustMoney("0.045 USD")}
	d, v = at(most, 20e6)
	if d != 40*time.Minute || v.Wastes.IsSet() || !strings.Contains(v.Stages[0].Title, "at most") {
		t.Errorf("at most: %s, %s", d, v.Stages[0].Title)
	}
	free := newSender()
	free.price = guard.EgressPrice{PerGB: guard.MustMoney("0 USD")}
	if d, _ = at(free, 200e6); d < 24*time.Hour {
		t.Errorf("free traffic told after %s", d)
	}
	yuan := newSender()
	yuan.price = guard.EgressPrice{PerGB: guard.MustMoney("0.64 CNY")}
	if d, _ = at(yuan, 20e6); d != 20*time.Minute {
		t.Errorf("without a rate of exchange: %s", d)
	}
	yuan = newSender()
	yuan.price = guard.EgressPrice{PerGB: guard.MustMoney("0.64 CNY")}
	yuan.rules.Exchange = guard.Exchange{Base: "USD", Rates: map[string]*big.Rat{"CNY": big.NewRat(1, 14)}}
	if d, _ = at(yuan, 20e6); d != 40*time.Minute {
		t.Errorf("with one: %s", d)
	}
	tier := newSender()
	tier.price.FreeGB = 100
	s := tier
	s.days(2, rand.New(rand.NewPCG(13, 14)))
	f := s.facts()
	for range 12 {
		s.send(200e6 * 300)
	}
	f = s.facts()
	f.Metered.Traffic = []guard.Quantity{{From: spikes, To: s.at, Sent: s.rec.Sent, Free: s.rec.Sent, Price: s.price}}
	s.rec.Buckets[len(s.rec.Buckets)-1].Flagged = false
	f.Egress = &s.rec
	if out := egressSpike(s.rules, f); len(out.Verdicts) > 0 {
		t.Errorf("within the free tier: %s", out.Verdicts[0].Stages[0].Title)
	}
	f.Metered.Traffic[0].Free -= 30 * guard.GB
	if out := egressSpike(s.rules, f); len(out.Verdicts) != 1 {
		t.Error("beyond the free tier nothing is told")
	}
}

// A spike that was told goes on until an hour costs less than half; more than ever at
// this time of day is told only where it is half as much again.
func TestEgressSpikeUsual(t *testing.T) {
	s := newSender()
	s.days(2, rand.New(rand.NewPCG(15, 16)))
	for range 12 {
		s.send(20e6 * 300)
	}
	for range 24 { // 70 % of what an hour may cost
		s.send(4.3e6 * 300)
	}
	if !s.was["rule"] {
		t.Error("over although an hour still costs more than half")
	}
	for range 13 { // 8 %, which makes no day's limit
		s.send(0.5e6 * 300)
	}
	if s.was["rule"] {
		t.Error("open although an hour costs next to nothing")
	}
	push := func(gb float64) bool {
		s := newSender()
		for range 6 {
			for i := range 288 {
				bytes := 6e6
				if i >= 24 && i < 36 {
					bytes = 15e9 / 12
				}
				s.send(bytes)
			}
		}
		for i := range 36 {
			bytes := 6e6
			if i >= 24 {
				bytes = gb * 1e9 / 12
			}
			s.send(bytes)
		}
		return s.was["rule"]
	}
	if push(22.4) || !push(24) {
		t.Errorf("22.4 GB where 15 are usual are told: %t; 24 GB: %t", push(22.4), push(24))
	}
}
