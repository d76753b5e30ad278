package api_test

import (
	"net/http"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

// TestBalanceOfAnAccount: what is left and until when, and that nobody knows it where the
// last reading is old or there never was one.
func TestBalanceOfAnAccount(t *testing.T) {
	b := newBench(t)
	balance := func(w guard.Wallet) *wire.Balance {
		t.Helper()
		w.Account = "lab"
		b.put(func(tx *store.Tx) error { return tx.Wallets.Put(w) })
		return good[wire.Status](b, "ana", http.MethodGet, "/status", nil).Accounts[0].Balance
	}
	if got := good[wire.Status](b, "ana", http.MethodGet, "/status", nil).Accounts[0].Balance; got != nil {
		t.Errorf("an account that does not pay ahead: %+v", got)
	}
	hundred := guard.Balance{Amount: guard.MustMoney("100 CNY")}
	fresh := balance(guard.Wallet{Balance: hundred, Read: start})
	if fresh.Left != "100.00 CNY" || !fresh.Known || fresh.Empty == nil || !fresh.Empty.After(start) || fresh.UsedUp {
		t.Errorf("%+v", fresh)
	}
	if got := balance(guard.Wallet{Balance: hundred, Read: start.Add(-2 * time.Hour), Failing: start, Error: "403"}); got.Known || got.Error != "403" || !got.Empty.Equal(fresh.Empty.Add(-2*time.Hour)) {
		t.Errorf("an old reading: %+v", got)
	}
	if got := balance(guard.Wallet{Failing: start, Error: "403"}); got.Known || got.Left != "" || got.UsedUp || got.Empty != nil || got.Error != "403" {
		t.Errorf("never read: %+v", got)
	}
	if got := balance(guard.Wallet{Balance: guard.Balance{Amount: guard.MustMoney("-1 CNY")}, Read: start}); !got.UsedUp || got.Empty != nil {
		t.Errorf("in debt: %+v", got)
	}
}

// TestWhatIsPaidAheadIsShown: until when, how much, whether again, and when the provider
// ends it.
func TestWhatIsPaidAheadIsShown(t *testing.T) {
	b := newBench(t)
	id := b.cloud.ID(guard.Instance, "i-1")
	show := func(l guard.Lump) wire.Item {
		t.Helper()
		b.put(func(tx *store.Tx) error {
			o, _, err := tx.Observed.Get(id.Key())
			if err != nil {
				return err
			}
			o.Resource.Lump, o.Resource.PlatformEnds = l, guard.PlatformEnd{At: start.Add(time.Hour), Why: "stopped for 15 days"}
			return tx.Observed.Put(o)
		})
		return good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil).Item
	}
	it := show(guard.Lump{Amount: guard.MustMoney("3000 CNY"), From: start, Until: start.Add(720 * time.Hour), Renews: guard.Yes})
	if it.PaidUntil == nil || !it.PaidUntil.Equal(start.Add(720*time.Hour)) || it.Paid == nil || *it.Paid != "3000.00 CNY" || it.Renews != "yes" {
		t.Errorf("%+v", it)
	}
	if it.PlatformEnds == nil || !it.PlatformEnds.Equal(start.Add(time.Hour)) || it.PlatformWhy != "stopped for 15 days" {
		t.Errorf("%+v", it)
	}
	if it = show(guard.Lump{From: start, Until: start.Add(720 * time.Hour)}); it.Paid != nil || it.Renews != "unknown" {
		t.Errorf("an unknown amount: %+v", it)
	}
	if it = show(guard.Lump{Amount: guard.MustMoney("3000 CNY"), From: start.Add(-720 * time.Hour), Until: start.Add(-time.Minute)}); it.PaidUntil != nil {
		t.Errorf("it is over: %+v", it)
	}
}
