package spend

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
)

var (
	march  = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sender = guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	usd9   = guard.EgressPrice{PerGB: guard.MustMoney("0.09 USD"), Source: "api"}
)

const gb = guard.GB

// told is the meter of a box that has sent so much in March by a time.
func told(at time.Time, sent, in uint64) guard.Egress {
	return guard.Egress{Resource: sender, First: march.Add(time.Hour), At: at, Sent: sent, Received: in,
		Months: []guard.Bytes{{From: march, Sent: sent, In: in}}}
}

func alone(time.Time) uint64 { return 0 }

// owes is what a record of traffic owes in the end, and whether that is all.
func owes(m guard.Metered) string {
	total := Spent(Segments(m), march.AddDate(1, 0, 0))
	text := ""
	for _, k := range total.Known {
		text += k.String() + " "
	}
	if len(total.Unknown) > 0 {
		text += "and more"
	}
	return text
}

func TestCount(t *testing.T) {
	free, ingress, most := usd9, usd9, guard.EgressPrice{UpTo: guard.MustMoney("0.045 USD"), Source: "api"}
	free.FreeGB = 100
	ingress.InPerGB = guard.MustMoney("0.01 USD")
	nothing := guard.EgressPrice{PerGB: guard.MustMoney("0 USD")}
	for _, c := range []struct {
		name   string
		price  guard.EgressPrice
		others uint64
		atMost bool
		sent   []uint64 // GB, a step each
		prices []guard.EgressPrice
		want   string
	}{
		{name: "a price", price: usd9, sent: []uint64{10, 110}, want: "9.90 USD "},
		{name: "the free tier", price: free, sent: []uint64{10, 110}, want: "0.90 USD "},
		{name: "all in the free tier", price: free, sent: []uint64{10, 100}, want: "0.00 USD "},
		{name: "the account's free tier", price: free, others: 95 * gb, sent: []uint64{10, 110}, want: "9.45 USD "},
		{name: "what comes in", price: ingress, sent: []uint64{100}, want: "10.00 USD "},
		{name: "nobody tells a price", sent: []uint64{100}, want: ""},
		{name: "a price told as unknown", price: most, sent: []uint64{100}, want: "and more"},
		{name: "at most", price: most, atMost: true, sent: []uint64{100}, want: "4.50 USD "},
		{name: "free of charge", price: nothing, sent: []uint64{100}, want: "0.00 USD "},
		{name: "another price later", sent: []uint64{100, 200}, prices: []guard.EgressPrice{usd9, {PerGB: guard.MustMoney("0.12 USD")}}, want: "21.00 USD "},
		{name: "a price told later", sent: []uint64{100, 200}, prices: []guard.EgressPrice{most, usd9}, want: "18.00 USD "},
		{name: "no price told any more", sent: []uint64{100, 200}, prices: []guard.EgressPrice{usd9, {}}, want: "18.00 USD "},
		{name: "a price of something else", sent: []uint64{100, 200}, prices: []guard.EgressPrice{usd9, {PerGB: guard.MustMoney("90 USD")}}, want: "18.00 USD "},
		{name: "another currency", sent: []uint64{100, 200}, prices: []guard.EgressPrice{usd9, {PerGB: guard.MustMoney("0.6 CNY")}}, want: "18.00 USD "},
		{name: "a negative price", price: guard.EgressPrice{PerGB: guard.MustMoney("-1 USD"), Source: "api"}, sent: []uint64{100}, want: "and more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := guard.Metered{Resource: sender}
			for i, sent := range c.sent {
				price := c.price
				if c.prices != nil {
					price = c.prices[i]
				}
				in := Sent{Egress: told(march.Add(time.Duration(i+2)*time.Hour), sent*gb, sent*gb), Metered: m, Price: price, Lease: "L1",
					Others: func(time.Time) uint64 { return c.others }, AtMost: c.atMost}
				m = Count(in)
				in.Metered = m
				if again := Count(in); !reflect.DeepEqual(again, m) {
					t.Fatalf("counted twice: %v, %v", again.Traffic, m.Traffic)
				}
			}
			if got := owes(m); got != c.want {
				t.Errorf("owes %q, want %q: %+v", got, c.want, m.Traffic)
			}
		})
	}
}

// What one lease has sent stays its own, and what was nobody's is the first one's.
func TestCountLease(t *testing.T) {
	m := guard.Metered{Resource: sender}
	for i, lease := range []string{"", "L1", "L2", "L2"} {
		m = Count(Sent{Egress: told(march.Add(time.Duration(i+2)*time.Hour), uint64(i+1)*10*gb, 0), Metered: m, Price: usd9, Lease: lease, Others: alone})
	}
	for lease, want := range map[string]string{"L1": "1.80 USD", "L2": "1.80 USD"} {
		if got := Spent(Of(lease, m), march.AddDate(0, 1, 0)).In("USD").String(); got != want {
			t.Errorf("%s owes %s, want %s", lease, got, want)
		}
	}
	if len(m.Traffic) != 2 {
		t.Errorf("%d quantities: %+v", len(m.Traffic), m.Traffic)
	}
}

// Traffic breaks no run of what bills by the hour.
func TestTrafficBreaksNoRun(t *testing.T) {
	hour := guard.Segment{Resource: sender, State: guard.StateRunning, From: march, To: march.Add(90 * time.Minute), Granularity: time.Hour,
		Rate: guard.Rate{Amount: guard.MustMoney("1 USD"), Per: time.Hour}}
	later := hour
	later.From, later.To = hour.To, march.Add(110*time.Minute)
	m := guard.Metered{Resource: sender, Segments: []guard.Segment{hour, later},
		Traffic: []guard.Quantity{{From: march.Add(time.Hour), To: march.Add(100 * time.Minute), Sent: 100 * gb, Price: usd9}}}
	if got := owes(m); got != "11.00 USD " {
		t.Errorf("owes %s", got)
	}
}

// However it is told, in whatever steps, with whatever neighbours: the quantities of a
// month add up to its bytes, money never falls, and the free tier is given once.
func TestLawCountIsExact(t *testing.T) {
	price := usd9
	price.FreeGB = 3
	rapid.Check(t, func(t *rapid.T) {
		boxes := [2]guard.Metered{{Resource: sender}, {Resource: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-2"}}}
		var meters [2]guard.Egress
		at, was := march.AddDate(0, 1, -1), guard.ZeroMoney("USD")
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.Int64Range(1, int64(4*time.Hour)).Draw(t, "gap")))
			i := rapid.IntRange(0, 1).Draw(t, "box")
			e := &meters[i]
			if e.First.IsZero() {
				e.First = at
			}
			n := uint64(rapid.Int64Range(0, gb).Draw(t, "bytes"))
			e.At, e.Sent = at, e.Sent+n
			if k := len(e.Months); k == 0 || !e.Months[k-1].From.Equal(guard.CalendarMonth(at)) {
				e.Months = append(e.Months, guard.Bytes{From: guard.CalendarMonth(at)})
			}
			e.Months[len(e.Months)-1].Sent += n
			others := func(month time.Time) (sent uint64) {
				for _, q := range boxes[1-i].Traffic {
					if guard.CalendarMonth(q.From).Equal(month) {
						sent += q.Sent
					}
				}
				return sent
			}
			boxes[i] = Count(Sent{Egress: *e, Metered: boxes[i], Price: price, Others: others})
			now := Spent(append(Segments(boxes[0]), Segments(boxes[1])...), at.AddDate(1, 0, 0)).In("USD")
			if n, err := now.Cmp(was); err != nil || n < 0 {
				t.Fatalf("fell from %s to %s", was, now)
			}
			was = now
		}
		var sent, free = map[time.Time]uint64{}, map[time.Time]uint64{}
		for i, m := range boxes {
			var all uint64
			for _, q := range m.Traffic {
				all += q.Sent
				sent[guard.CalendarMonth(q.From)] += q.Sent
				free[guard.CalendarMonth(q.From)] += q.Free
				if !q.To.After(q.From) || q.Free > q.Sent {
					t.Fatalf("%+v", q)
				}
			}
			if all != meters[i].Sent {
				t.Fatalf("box %d: %d of %d are counted", i, all, meters[i].Sent)
			}
		}
		for month, n := range sent {
			if free[month] != min(n, 3*gb) {
				t.Fatalf("%s: %d of %d were free", month, free[month], n)
			}
		}
	})
}

// A cap is crossed when traffic and time together owe it, and what was not told yet is
// kept back.
func TestAhead(t *testing.T) {
	limit := guard.MustMoney("100 USD")
	running := guard.Segment{Resource: sender, State: guard.StateRunning, From: march, Rate: guard.Rate{Amount: guard.MustMoney("1 USD"), Per: time.Hour}}
	f := Flow{Resource: sender, Price: usd9, From: march, Rate: 1e9 / 3600 / 0.09, Peak: 1e9 / 60 / 0.09, Lag: time.Minute} // 1 USD an hour, 1 USD in the lag
	landing := func(f Flow) time.Duration {
		d, ok := Landing(append(Ahead([]Flow{f}, limit, march), running), limit, 0, march)
		if !ok {
			t.Fatal("no landing")
		}
		return d.Due.Sub(march).Round(time.Minute)
	}
	if got := landing(f); got != 99*time.Hour/2 {
		t.Errorf("with 1 USD kept back: due after %s", got)
	}
	f.Peak *= 100
	if got := landing(f); got != 49*time.Hour {
		t.Errorf("with 2 %% kept back: due after %s", got)
	}
	f.Peak, f.Left = 0, 500*gb // 45 hours' worth
	if got := landing(f); got != 72*time.Hour+30*time.Minute {
		t.Errorf("with a free tier: due after %s", got)
	}
	f.Price = guard.EgressPrice{PerGB: guard.MustMoney("0.6 CNY")}
	if got := landing(f); got != 100*time.Hour {
		t.Errorf("in another currency: due after %s", got)
	}
}
