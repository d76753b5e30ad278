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
