package observe

import (
	"cmp"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
	"guard/store"
)

func (b *bench) bill(id string) (bill guard.Bill, known bool) {
	b.t.Helper()
	b.view(func(v *store.View) error {
		var err error
		bill, known, err = v.Bills.Get(b.cloud.ID(guard.Instance, id).Key())
		return err
	})
	return bill, known
}

// TestTheBillIsReadByTheHour: what is settled of the last days counts, a thing at a time,
// and the reading before stays beside the newest.
func TestTheBillIsReadByTheHour(t *testing.T) {
	b := newBench(t, func(s *fake.Script) { s.Bill = time.Hour })
	for at := time.Minute; at <= 6*time.Hour; at += 10 * time.Minute {
		b.once(at)
	}
	if n := len(b.cloud.CallsOf(fake.CallCharges, "")); n != 6 {
		t.Errorf("%d readings in six hours", n)
	}
	bill, _ := b.bill("i-1")
	if got := bill.Last.To.Sub(b.cloud.At(0).Wall); got != 2*time.Hour {
		t.Errorf("settled until %v", got)
	}
	if !bill.Last.Amount.IsPositive() || bill.Before.Read.IsZero() || !bill.Before.Read.Before(bill.Last.Read) || !bill.Before.To.Before(bill.Last.To) || !bill.Last.From.Before(bill.Last.To) {
		t.Errorf("%+v", bill)
	}
}

// TestABillThatCannotBeRead is no bill of nothing.
func TestABillThatCannotBeRead(t *testing.T) {
	for name, reply := range map[string]fake.Reply{
		"a failure":            {Status: 500},
		"a line without a sum": {NullFields: []string{"amount"}},
		"a line without a day": {SetFields: map[string]any{"to": "someday"}},
	} {
		b := newBench(t, func(s *fake.Script) {
			s.Bill = time.Hour
			s.Faults = []fake.Fault{{Call: fake.CallCharges, Reply: reply}}
		})
		for at := time.Minute; at <= 6*time.Hour; at += 10 * time.Minute {
			b.once(at)
		}
		if bill, known := b.bill("i-1"); known {
			t.Errorf("%s: %+v", name, bill)
		}
	}
}

// TestTheBillOfAPriceThatIsNotBelieved: only what is billed since it is reported says
// anything of it.
func TestTheBillOfAPriceThatIsNotBelieved(t *testing.T) {
	at := func(h int) time.Time { return fake.DefaultStart.Add(time.Duration(h) * time.Hour) }
	ten := guard.MustMoney("10 CNY")
	lines := []guard.Charge{{From: at(0), To: at(1), Amount: ten}, {From: at(1), To: at(2), Amount: ten}, {From: at(2), To: at(3), Amount: ten}}
	if b, ok := sum(lines, guard.Metered{}); !ok || b.Amount.String() != "30.00 CNY" || !b.From.Equal(at(0)) || !b.To.Equal(at(3)) {
		t.Errorf("%+v", b)
	}
	odd := guard.Metered{Odd: &guard.Rate{}, OddSince: at(1).Add(-time.Minute)}
	if b, ok := sum(lines, odd); !ok || b.Amount.String() != "20.00 CNY" || !b.From.Equal(at(1)) {
		t.Errorf("%+v", b)
	}
	odd.OddSince = at(5)
	if b, ok := sum(lines, odd); ok {
		t.Errorf("%+v", b)
	}
	lines[1].Amount = guard.MustMoney("10 USD")
	if b, ok := sum(lines, guard.Metered{}); !ok || b.Amount.IsSet() {
		t.Errorf("two currencies: %+v", b)
	}
}

// TestTheBillEnds: where only an absence proved an end, two late readings of the bill that have
// nothing after it prove that the meter stopped, with the receipt of the release.
func TestTheBillEnds(t *testing.T) {
	const end = 10 * time.Hour
	for name, c := range map[string]struct {
		lines func(b *bench) []guard.Charge
		proof string
	}{
		"at its end": {func(b *bench) []guard.Charge {
			return []guard.Charge{b.hourOf("i-9", 8*time.Hour, "2 CNY"), b.hourOf("i-9", 9*time.Hour, "1 CNY"), b.hourOf("i-1", 11*time.Hour, "2 CNY")}
		}, guard.ProofCharge},
		"with the hour that it ended in": {func(b *bench) []guard.Charge {
			return []guard.Charge{b.hourOf("i-9", end-time.Minute, "1 CNY"), b.hourOf("i-1", 11*time.Hour, "2 CNY")}
		}, guard.ProofCharge},
		"and has reached no later time": {func(b *bench) []guard.Charge { return []guard.Charge{b.hourOf("i-9", 9*time.Hour, "2 CNY")} }, guard.ProofAbsence},
		"after it": {func(b *bench) []guard.Charge {
			return []guard.Charge{b.hourOf("i-9", 11*time.Hour, "2 CNY"), b.hourOf("i-1", 13*time.Hour, "2 CNY")}
		}, guard.ProofAbsence},
		"of which it has nothing": {func(b *bench) []guard.Charge { return []guard.Charge{b.hourOf("i-1", 11*time.Hour, "2 CNY")} }, guard.ProofAbsence},
	} {
		b := newBench(t, nil)
		bill := &bills{lines: c.lines(b)}
		b.account.Biller = bill
		b.restart()
		id := b.cloud.ID(guard.Instance, "i-9")
		b.put(func(tx *store.Tx) error {
			return cmp.Or(
				tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id}, Identity: "acct-1", Gone: &guard.Gone{At: b.cloud.At(end).Wall, Proof: guard.ProofAbsence}}),
				tx.Releases.Put(guard.Release{ID: "r", Target: id, State: guard.ReleaseDone, Receipt: &guard.Receipt{Proof: guard.ProofAbsence}}))
		})
		proof := func() string {
			var receipt string
			b.view(func(v *store.View) error {
				r, _, err := v.Releases.Get(id.Key())
				if r.Receipt != nil {
					receipt = r.Receipt.Proof
				}
				return err
			})
			if got := b.box("i-9").Gone.Proof; got != receipt {
				t.Errorf("%s: proven by %q, and the receipt says %q", name, got, receipt)
			}
			return receipt
		}
		b.once(13 * time.Hour) // too soon
		b.once(16 * time.Hour)
		if got := proof(); got != guard.ProofAbsence {
			t.Errorf("%s: proven by %q at once", name, got)
		}
		b.once(20 * time.Hour)
		b.once(22 * time.Hour)
		if got := proof(); got != c.proof {
			t.Errorf("%s: proven by %q, want %q", name, got, c.proof)
		}
	}
}
