package fake

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"guard"
)

// sends makes an instance send and receive from a time on.
func sends(id string, at time.Duration, out, in float64) Event {
	return Event{At: at, ID: id, Signals: &Signals{Of: map[string]Reading{"tx_bytes_s": Every(out), "rx_bytes_s": Every(in)}}}
}

func TestTrafficIsTold(t *testing.T) {
	sc := Script{Account: "lab", Currency: "CNY", Egress: &Traffic{Amount: "0.09", Per: "gb", FreeGB: 100}, Ingress: &Traffic{Amount: "0.01", Per: "gb"}, Resources: []Resource{
		{ID: "i-1"}, {ID: "v-1", Kind: guard.Volume}, {ID: "ip-1", Kind: guard.Address, Egress: &Traffic{Amount: "0.1", Per: "gb"}},
		{ID: "i-2", Egress: &Traffic{Amount: "unknown", UpTo: "0.045", Per: "gb"}, Ingress: &Traffic{Amount: "0", Per: "gb"}},
		{ID: "i-3", Rate: &Rate{Amount: "1", Per: "hour", Currency: "USD"}, Egress: &Traffic{Amount: "unknown", Per: "gb"}},
	}}
	s := tell(t, sc)
	money := guard.MustMoney
	of := func(kind guard.Kind, id string) guard.EgressPrice { return s.get(0, kind, id).Resource.Egress }
	s.want("the account's", of(guard.Instance, "i-1"), guard.EgressPrice{PerGB: money("0.09 CNY"), FreeGB: 100, InPerGB: money("0.01 CNY"), Source: "api"})
	s.want("an unknown one", of(guard.Instance, "i-2"), guard.EgressPrice{UpTo: money("0.045 CNY"), InPerGB: money("0 CNY"), Source: "api"})
	s.want("no bound", of(guard.Instance, "i-3"), guard.EgressPrice{InPerGB: money("0.01 USD"), Source: "api"})
	s.want("a volume", of(guard.Volume, "v-1"), guard.EgressPrice{})
	s.want("its own", of(guard.Address, "ip-1"), guard.EgressPrice{PerGB: money("0.1 CNY"), Source: "api"})
	quiet := sc
	quiet.Faults = []Fault{{Call: CallGet, Reply: Reply{SetFields: map[string]any{"egress": map[string]any{"per": "gb"}}, NullFields: []string{"ingress"}}}}
	s.want("one of which nobody tells anything", tell(t, quiet).get(0, guard.Instance, "i-1").Resource.Egress, guard.EgressPrice{Source: "api"})
	both := sc
	both.Faults = []Fault{{Call: CallGet, Reply: Reply{SetFields: map[string]any{"egress": map[string]any{"amount": "1", "up_to": "2", "per": "gb"}}}}}
	s.want("a bound of what is known", tell(t, both).get(0, guard.Instance, "i-1").Resource.Egress.UpTo, guard.Money{})
	for name, odd := range map[string]any{"null": nil, "words": map[string]any{"amount": "much", "per": "gb"}, "another unit": map[string]any{"amount": "1", "per": "gib"},
		"negative": map[string]any{"amount": "-1", "per": "gb"}, "a list": []any{1}, "no currency": map[string]any{"amount": "1", "per": "gb", "currency": "$$"}} {
		sc.Faults = []Fault{{Call: CallGet, Reply: Reply{SetFields: map[string]any{"egress": odd}, NullFields: []string{"ingress"}}}}
		if got := tell(t, sc).get(0, guard.Instance, "i-1").Resource.Egress; got != (guard.EgressPrice{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTrafficIsCharged(t *testing.T) {
	price := &Traffic{Amount: "0.09", Per: "gb"}
	sc := Script{Account: "lab", Egress: price, Ingress: &Traffic{Amount: "0.01", Per: "gb"}, Resources: []Resource{
		{ID: "i-1", Rate: &Rate{Amount: "3.6", Per: "hour"}}, {ID: "i-2"}, {ID: "i-3", Egress: &Traffic{Amount: unsaid, UpTo: "9", Per: "gb"}},
	}, Timeline: []Event{sends("i-1", 0, 1e6, 0), sends("i-2", 0, 1e6, 2e6), sends("i-3", 0, 1e9, 0),
		{At: 500 * time.Second, ID: "i-1", Reboot: true}, {At: 1000 * time.Second, ID: "i-1", State: stateStopped}}}
	s := tell(t, sc)
	s.c.Advance(DefaultStart.Add(2000 * time.Second))
	s.spend("i-1", "1.09") // 1000 s of 0.001, and 1 GB through a reboot until it stopped
	s.spend("i-2", "0.22")
	s.spend("i-3", "0")
	s.want("bytes", []uint64{s.c.Sent("i-1"), s.c.Sent("i-2"), s.c.Sent("none")}, []uint64{1e9, 2e9, 0})
	was, _ := s.c.SpendAt("i-2", DefaultStart.Add(1000*time.Second))
	s.want("as it was", was.FloatString(4), "0.1100")
}

// What is free in a month is used up by all together, and there again in the next.
func TestFreeTraffic(t *testing.T) {
	sc := Script{Account: "lab", Start: time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC), Egress: &Traffic{Amount: "0.10", Per: "gb", FreeGB: 30},
		Resources: []Resource{{ID: "i-1"}, {ID: "i-2"}, {ID: "i-3", Egress: &Traffic{Amount: "0.10", Per: "gb", FreeGB: 30}}},
		Timeline:  []Event{sends("i-1", 0, 1e6, 0), sends("i-2", 10000*time.Second, 1e6, 0), sends("i-3", 0, 1e6, 0)}}
	s := tell(t, sc)
	at := func(sec int) string {
		s.c.Advance(sc.Start.Add(time.Duration(sec) * time.Second))
		var out []string
		for _, id := range []string{"i-1", "i-2", "i-3"} {
			sum, _ := s.c.Spend(id)
			out = append(out, sum.FloatString(2))
		}
		return strings.Join(out, " ")
	}
	s.want("all free", at(20000), "0.00 0.00 0.00")         // 20 and 10 GB
	s.want("used up", at(30000), "1.00 1.00 0.00")          // ten more of each
	s.want("the month's end", at(43200), "2.32 2.32 1.32")  // 23.2 of each, 13.2 of the one alone
	s.want("free again", at(43200+15000), "2.32 2.32 1.32") // 15 of each
	s.want("and used up", at(43200+16000), "2.42 2.42 1.32")
}

func TestTrafficMistakes(t *testing.T) {
	for want, tr := range map[string]*Traffic{
		`egress: "much" is not a decimal number, or unknown`: {Amount: "much", Per: "gb"},
		"egress: upto is a decimal number":                   {Amount: "1", UpTo: "2", Per: "gb"},
		`egress: per "month" must be gb`:                     {Amount: "1", Per: "month"},
		"egress: free_gb must be from 0":                     {Amount: "1", Per: "gb", FreeGB: -1},
	} {
		for _, sc := range []Script{{Egress: tr}, {Resources: []Resource{{ID: "i-1", Egress: tr}}}} {
			if _, err := NewCloud(sc); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if _, err := NewCloud(Script{Ingress: &Traffic{Amount: "1", Per: "gb", FreeGB: 1}}); err == nil || !strings.Contains(err.Error(), "ingress: free_gb") {
		t.Error(err)
	}
}

// The meter agrees with one that adds up every second, whatever happens.
func TestEveryByteCountsOnce(t *testing.T) {
	events := []Event{sends("i-1", 0, 100, 7), {At: 130 * time.Second, ID: "i-1", Reboot: true}, sends("i-1", 200*time.Second, 5, 7), {At: 260 * time.Second, ID: "i-1", State: stateStopped},
		{At: 330 * time.Second, ID: "i-1", State: stateRunning}, {At: 340 * time.Second, ID: "i-1", Signals: &Signals{Lost: SignalsStuck}},
		{At: 400 * time.Second, ID: "i-1", Pulse: &Pulse{Of: map[string]Reading{"tx_bytes_s": Every(50)}, Every: 30 * time.Second, For: 10 * time.Second}}}
	c := MustCloud(Script{Resources: []Resource{{ID: "i-1"}}, Timeline: events})
	want := uint64(0)
	for s := range 600 {
		rate := 100
		switch {
		case s >= 400 && (s-400)%30 < 10:
			rate = 50
		case s >= 260 && s < 330:
			rate = 0
		case s >= 200:
			rate = 5
		}
		want += uint64(rate)
		c.Advance(DefaultStart.Add(time.Duration(s+1) * time.Second))
		if got := c.Sent("i-1"); got != want {
			t.Fatalf("after %d s it has sent %d, want %d", s+1, got, want)
		}
	}
	sum, _ := c.Spend("i-1")
	if sum.Cmp(new(big.Rat)) != 0 {
		t.Error(fmt.Sprint("traffic without a price costs ", sum))
	}
}

// What no interface can send is told as it stands; nothing was sent for it, and no
// counter moves.
func TestAbsurdTraffic(t *testing.T) {
	for _, rate := range []float64{9e18, 1e308} {
		sc := Script{Account: "lab", Egress: &Traffic{Amount: "0.09", Per: "gb"}, Resources: []Resource{{ID: "i-1"}},
			Timeline: []Event{sends("i-1", 0, 1000, 0), sends("i-1", time.Minute, rate, rate), sends("i-1", time.Hour, 1000, 0)}}
		s := tell(t, sc)
		s.c.Advance(DefaultStart.Add(time.Hour + time.Minute))
		s.want("bytes", s.c.Sent("i-1"), uint64(120_000))
		for _, x := range s.since(time.Hour+time.Minute, 58*time.Minute, "i-1") {
			tx := map[bool]float64{true: 1000, false: rate}[x.At.After(DefaultStart.Add(time.Hour))]
			s.want("told", x.Tx, guard.Known(tx))
			s.want("counted", x.NICs[0].Tx <= 120_000, true)
		}
		if sum, _ := s.c.Spend("i-1"); sum.FloatString(7) != "0.0000108" {
			t.Errorf("it costs %s", sum.FloatString(7))
		}
	}
}
