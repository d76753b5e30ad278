package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

// TestWhatCannotBeReadIsToldAtOnce: with its account, from the first poll that fails on;
// that it needs a person waits until it lasts.
func TestWhatCannotBeReadIsToldAtOnce(t *testing.T) {
	long, now := start.Add(-time.Hour), start.Add(-time.Second)
	account := guard.AccountStatus{Name: "lab", Polled: long}
	for name, c := range map[string]struct {
		change func(a *guard.AccountStatus)
		scopes []guard.ScopeStatus
		want   wire.Account
	}{
		"nothing fails": {func(*guard.AccountStatus) {}, nil, wire.Account{State: "ok"}},
		"the account":   {func(a *guard.AccountStatus) { a.Failing, a.Error = now, "no route" }, nil, wire.Account{State: "unreachable", Error: "no route"}},
		"scopes": {func(*guard.AccountStatus) {}, []guard.ScopeStatus{
			{Account: "lab", Kind: guard.Instance, Scope: "a", Complete: now},
			{Account: "lab", Kind: guard.Address, Scope: "a", Complete: long, Failing: now, Error: "403"},
			{Account: "lab", Kind: guard.Volume, Complete: long, Failing: now, Error: "503"},
		}, wire.Account{State: "ok", Error: "403", Blind: []string{"a addresses", "everywhere volumes"}}},
		"a scope, and then the account, of which nothing more is told": {func(a *guard.AccountStatus) { a.Failing, a.Error = now, "no route" }, []guard.ScopeStatus{
			{Account: "lab", Kind: guard.Volume, Complete: long, Failing: now, Error: "503"},
		}, wire.Account{State: "unreachable", Error: "no route"}},
		"its bill": {func(a *guard.AccountStatus) { a.Bill = guard.BillStatus{Read: long, Failing: now, Error: "403"} }, nil,
			wire.Account{State: "ok", BillError: "403"}},
	} {
		b := newBench(t)
		b.put(func(tx *store.Tx) error {
			a := account
			c.change(&a)
			for _, s := range c.scopes {
				if err := tx.Scopes.Put(s); err != nil {
					return err
				}
			}
			return tx.Accounts.Put(a)
		})
		out := good[wire.Status](b, "ana", http.MethodGet, "/status", nil)
		if len(out.Attention) > 0 {
			t.Errorf("%s: %q", name, out.Attention)
		}
		a := out.Accounts[0]
		if a.State != c.want.State || a.Error != c.want.Error || a.BillError != c.want.BillError || !slices.Equal(a.Blind, c.want.Blind) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
