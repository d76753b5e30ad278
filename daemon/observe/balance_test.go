package observe

import (
	"context"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
	"guard/store"
)

func paid(t *testing.T, faults ...fake.Fault) *bench {
	return newBench(t, func(s *fake.Script) { s.Balance, s.Faults = "10000 CNY", append(s.Faults, faults...) })
}

func (b *bench) wallet() (w guard.Wallet, known bool) {
	b.t.Helper()
	b.view(func(v *store.View) error {
		var err error
		w, known, err = v.Wallets.Get("lab")
		return err
	})
	return w, known
}

func TestABalanceIsReadNowAndThen(t *testing.T) {
	b := paid(t)
	for at := time.Minute; at <= 31*time.Minute; at += time.Minute {
		b.once(at)
	}
	if n := len(b.cloud.CallsOf(fake.CallBalance, "")); n != 4 {
		t.Errorf("%d readings in half an hour", n)
	}
	w, _ := b.wallet()
	if !w.Balance.Amount.IsPositive() || !w.Read.Equal(b.cloud.At(31*time.Minute).Wall) || !w.Failing.IsZero() || w.Error != "" {
		t.Errorf("%+v", w)
	}
}

// TestABalanceThatCannotBeRead: the last one stays, and since when it is old; nothing is
// made of a reading that fails, and the poll goes on.
func TestABalanceThatCannotBeRead(t *testing.T) {
	b := paid(t, fake.Fault{Call: fake.CallBalance, From: 5 * time.Minute, For: 30 * time.Minute, Reply: fake.Reply{Status: 403}})
	b.once(time.Minute)
	was, _ := b.wallet()
	for at := 2 * time.Minute; at <= 30*time.Minute; at += time.Minute {
		b.once(at)
	}
	w, _ := b.wallet()
	if !w.Balance.Amount.Equal(was.Balance.Amount) || !w.Read.Equal(was.Read) || !w.Failing.Equal(b.cloud.At(11*time.Minute).Wall) || !strings.Contains(w.Error, "403") {
		t.Errorf("%+v, and it was %+v", w, was)
	}
	for at := 31 * time.Minute; at <= 45*time.Minute; at += time.Minute {
		b.once(at)
	}
	if w, _ = b.wallet(); !w.Failing.IsZero() || w.Error != "" || !w.Read.Equal(b.cloud.At(41*time.Minute).Wall) {
		t.Errorf("%+v", w)
	}
}

// TestNothingIsNoBalance: an amount that is not told, and an account that does not pay
// ahead, are no balance of nothing.
func TestNothingIsNoBalance(t *testing.T) {
	b := paid(t, fake.Fault{Call: fake.CallBalance, Reply: fake.Reply{NullFields: []string{"amount"}}})
	b.once(time.Minute)
	if w, known := b.wallet(); !known || w.Balance.Amount.IsSet() || !w.Read.IsZero() || w.Failing.IsZero() || w.Error == "" {
		t.Errorf("%+v", w)
	}
	b = paid(t)
	b.loop.account.Balancer = blank{}
	b.once(time.Minute)
	if w, known := b.wallet(); !known || w.Balance.Amount.IsSet() || !w.Read.IsZero() || w.Error == "" {
		t.Errorf("%+v", w)
	}
	b = newBench(t, nil)
	b.once(time.Minute)
	if w, known := b.wallet(); known {
		t.Errorf("%+v", w)
	}
}

// blank tells of a balance without an amount.
type blank struct{}

func (blank) Balance(context.Context) (guard.Balance, error) { return guard.Balance{}, nil }

// TestDeletedForWantOfBalance: where a provider that keeps no tombstones deletes at 0, the
// balance is read once more when something is missing, and tells what became of it. A
// provider that asked for time is not asked before.
func TestDeletedForWantOfBalance(t *testing.T) {
	later := fake.Fault{Call: fake.CallBalance, From: 15 * time.Minute, For: 10 * time.Minute, Reply: fake.Reply{Status: 429, RetryAfter: "3600"}}
	for _, c := range []struct {
		atZero guard.AtZero
		faults []fake.Fault
		how    guard.How
		reads  int
	}{
		{guard.ZeroDeletes, nil, guard.ByPlatform, 4},
		{guard.ZeroDeletes, []fake.Fault{later}, guard.ByOutside, 3},
		{guard.ZeroNothing, nil, guard.ByOutside, 3},
	} {
		b := newBench(t, func(s *fake.Script) {
			s.Balance, s.AtZero, s.Faults = "50 CNY", c.atZero, c.faults
			s.Resources = []fake.Resource{{ID: "i-1", Rate: &fake.Rate{Amount: "120", Per: "hour"}}}
			if c.atZero == guard.ZeroNothing {
				s.Timeline = []fake.Event{{At: 25 * time.Minute, ID: "i-1", Delete: true}}
			}
		})
		b.once(time.Minute)
		b.until(30 * time.Minute)
		o, reads := b.box("i-1"), len(b.cloud.CallsOf(fake.CallBalance, ""))
		if o.Gone == nil || o.Gone.How != c.how || !o.Gone.At.Before(b.cloud.At(27*time.Minute).Wall) || reads != c.reads {
			t.Errorf("%+v: %+v, after %d readings of the balance", c, o.Gone, reads)
		}
	}
}

// TestABalanceOfOldEndsNothing: one that was used up when it could last be read may be paid
// by now, so it is no reason for what is missing.
func TestABalanceOfOldEndsNothing(t *testing.T) {
	for failing, how := range map[time.Duration]guard.How{0: guard.ByPlatform, time.Second: guard.ByOutside} {
		b := newBench(t, func(s *fake.Script) {
			s.Balance, s.AtZero = "10000 CNY", guard.ZeroDeletes
			s.Timeline = []fake.Event{{At: 5 * time.Minute, ID: "i-1", Delete: true}}
		})
		b.account.Balancer = nil // what is known stays as it is here
		b.restart()
		b.put(func(tx *store.Tx) error {
			w := guard.Wallet{Account: "lab", Balance: guard.Balance{Amount: guard.MustMoney("0 CNY")}, Read: b.cloud.At(0).Wall}
			if failing > 0 {
				w.Failing = b.cloud.At(failing).Wall
			}
			return tx.Wallets.Put(w)
		})
		b.once(time.Minute)
		b.until(10 * time.Minute)
		if o := b.box("i-1"); o.Gone == nil || o.Gone.How != how {
			t.Errorf("failing since %s: %+v", failing, o.Gone)
		}
	}
}
