package meter

import (
	"testing"
	"time"

	"guard"
	"guard/policy/egress"
	"guard/policy/spend"
	"guard/store"
)

// send lets a box's counter go on by so many GB, evenly since it was last told of.
func (b *bench) send(id string, at time.Duration, gb uint64) {
	b.t.Helper()
	b.put(func(tx *store.Tx) error {
		rid := b.cloud.ID(guard.Instance, id)
		e, _, err := tx.Egress.Get(rid.Key())
		if err != nil {
			return err
		}
		last := e.Last["eth0"].Tx
		e.Resource = rid
		return tx.Egress.Put(egress.Fold(e, guard.Sample{At: b.wall(at), Source: "agent", NICs: []guard.NICSample{{Name: "eth0", Tx: last + gb*guard.GB}}}, egress.Options{}))
	})
}

// owes is what a lease's family owes, traffic and all.
func (b *bench) owes(id string, at time.Duration) string {
	b.t.Helper()
	return b.total(id, at).In("CNY").Round().String()
}

func (b *bench) total(id string, at time.Duration) spend.Total {
	b.t.Helper()
	var segs []guard.Segment
	b.view(func(v *store.View) error {
		for m, err := range v.Metered.All("") {
			if err != nil {
				return err
			}
			segs = append(segs, spend.Of("L-"+id, m)...)
		}
		return nil
	})
	return spend.Spent(segs, b.wall(at))
}

func priced(free int64) func(*guard.Observed) {
	return func(o *guard.Observed) {
		o.Resource.Egress = guard.EgressPrice{PerGB: guard.MustMoney("1 CNY"), FreeGB: free, Source: "api"}
	}
}

// Traffic counts to the lease once, however often the meter runs or begins anew, and the
// crossing of the cap comes as it goes on.
func TestTrafficCountsOnce(t *testing.T) {
	b := newBench(t)
	b.see(guard.Instance, "i-1", 0, cny("10", hour), priced(0))
	b.lease("i-1", "100 CNY", 0, nil)
	b.send("i-1", 0, 0)
	b.once(time.Minute)
	if d := b.budget("i-1"); !d.Limit.Equal(b.wall(10 * hour)) {
		t.Fatalf("without traffic the cap is crossed at %s", d.Limit)
	}
	for i := range 3 {
		at := time.Duration(i+1) * hour
		b.send("i-1", at, 10)
		b.poll(at)
		b.once(at)
		if i == 1 {
			b.restart() // it begins anew with what the ledger has
		}
		b.once(at + time.Second)
	}
	if got := b.owes("i-1", 3*hour); got != "60.00 CNY" {
		t.Errorf("3 hours and 30 GB owe %s", got)
	}
	// 20 CNY an hour from here on, less 2 % that are kept back for what is not told yet.
	if d := b.budget("i-1"); d.Limit.Before(b.wall(4*hour+50*time.Minute)) || d.Limit.After(b.wall(5*hour)) {
		t.Errorf("with traffic the cap is crossed at %s after the start", d.Limit.Sub(b.wall(0)))
	}
	if got := b.plan("i-1").Unknown; len(got) > 0 {
		t.Errorf("lacks %v", got)
	}
}

// What comes in moves the crossing as it goes on, too, where it costs: of a box that
// sends for nothing, or at a price that nobody tells.
func TestTrafficThatComesIn(t *testing.T) {
	for _, price := range []guard.EgressPrice{{PerGB: guard.MustMoney("0 CNY"), InPerGB: guard.MustMoney("1 CNY"), Source: "api"}, {InPerGB: guard.MustMoney("1 CNY"), Source: "api"}} {
		b := newBench(t)
		b.see(guard.Instance, "i-1", 0, cny("10", hour), func(o *guard.Observed) { o.Resource.Egress = price })
		b.lease("i-1", "100 CNY", 0, nil)
		for i := range uint64(3) {
			at := time.Duration(i) * hour
			b.put(func(tx *store.Tx) error {
				e, _, err := tx.Egress.Get(b.cloud.ID(guard.Instance, "i-1").Key())
				if err != nil {
					return err
				}
				e.Resource = b.cloud.ID(guard.Instance, "i-1")
				return tx.Egress.Put(egress.Fold(e, guard.Sample{At: b.wall(at), Source: "agent",
					NICs: []guard.NICSample{{Name: "eth0", Tx: 1, Rx: 1 + i*10*guard.GB}}}, egress.Options{}))
			})
			b.poll(at)
			b.once(at)
		}
		if got := b.owes("i-1", 2*hour); got != "40.00 CNY" {
			t.Errorf("2 hours and 20 GB owe %s", got)
		}
		if d := b.budget("i-1"); d.Limit.Before(b.wall(4*hour+50*time.Minute)) || d.Limit.After(b.wall(5*hour)) {
			t.Errorf("with what comes in the cap is crossed at %s after the start", d.Limit.Sub(b.wall(0)))
		}
	}
}

// The free tier is the account's: two boxes in one run do not both have it.
func TestTrafficFreeTier(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"i-1", "i-2"} {
		b.see(guard.Instance, id, 0, cny("10", hour), priced(100))
		b.lease(id, "1000 CNY", 0, nil)
		b.send(id, 0, 0)
	}
	b.once(time.Minute)
	for _, id := range []string{"i-1", "i-2"} {
		b.send(id, hour, 80)
	}
	b.once(hour)
	if one, two := b.owes("i-1", hour), b.owes("i-2", hour); one != "10.00 CNY" || two != "70.00 CNY" {
		t.Errorf("the first owes %s, the second %s", one, two)
	}
	b.restart()
	b.send("i-1", 2*hour, 5)
	b.once(2 * hour)
	if one := b.owes("i-1", 2*hour); one != "25.00 CNY" {
		t.Errorf("after a restart the first owes %s", one)
	}
}

// What every box sends is no alarm: traffic of unknown price is told where at the most it
// could be 2 % of a cap, and is never left out of the spend.
func TestLittleTrafficOfUnknownPrice(t *testing.T) {
	for _, c := range []struct {
		budget string
		most   string
		sent   uint64
		lacks  int
	}{{"100 CNY", "1 CNY", 2, 0}, {"100 CNY", "1 CNY", 3, 1}, {"", "1 CNY", 3, 0}, {"100 CNY", "", 1, 1}} {
		b := newBench(t)
		b.see(guard.Instance, "i-1", 0, cny("10", hour), func(o *guard.Observed) {
			o.Resource.Egress = guard.EgressPrice{Source: "api"}
			if c.most != "" {
				o.Resource.Egress.UpTo = guard.MustMoney(c.most)
			}
		})
		b.lease("i-1", c.budget, 0, nil)
		b.send("i-1", 0, 0)
		b.send("i-1", hour, c.sent)
		b.once(hour)
		if got := b.plan("i-1").Unknown; len(got) != c.lacks {
			t.Errorf("%d GB at most %q of %q: lacks %v", c.sent, c.most, c.budget, got)
		}
		if unknown := b.total("i-1", hour).Unknown; len(unknown) != 1 {
			t.Errorf("of the spend %v is unknown", unknown)
		}
	}
}

// A price that nobody tells counts to no cap, and the plan says what it lacks; counted at
// the most that it can be, it does.
func TestTrafficOfUnknownPrice(t *testing.T) {
	for _, most := range []bool{false, true} {
		b := newBench(t)
		b.see(guard.Instance, "i-1", 0, cny("10", hour), func(o *guard.Observed) {
			o.Resource.Egress = guard.EgressPrice{UpTo: guard.MustMoney("1 CNY"), Source: "api"}
		})
		b.loop.rules.Budget.EgressAtMost = most
		b.lease("i-1", "100 CNY", 0, nil)
		b.send("i-1", 0, 0)
		b.send("i-1", hour, 10)
		b.once(hour)
		want, lacks := "10.00 CNY", 1
		if most {
			want, lacks = "20.00 CNY", 0
		}
		if got := b.owes("i-1", hour); got != want || len(b.plan("i-1").Unknown) != lacks {
			t.Errorf("at most %t: owes %s, lacks %v", most, got, b.plan("i-1").Unknown)
		}
	}
}
