package observe

import (
	"context"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/fake"
	"guard/store"
)

func TestIdentityStrong(t *testing.T) {
	b := newBench(t, nil)
	b.once(time.Minute)
	if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
		t.Fatal(err)
	}
	b.kicks = nil
	b.put(func(tx *store.Tx) error { // it did not answer before that
		a := b.status()
		a.Failing, a.Error = b.now.Wall.Add(-time.Hour), "no route"
		return tx.Accounts.Put(a)
	})
	b.until(20 * time.Minute)
	if a := b.status(); a.Mismatch != "acct-2" || a.Identity.ID != "acct-1" || !a.Failing.IsZero() || a.Error != "" || len(a.Outages) != 1 {
		t.Errorf("got %+v", a)
	}
	b.wantVerbs("lab", "account_mismatch") // once
	if !slices.Contains(b.kicks, "decide") {
		t.Error("decide does not hear of it")
	}
	if n := len(b.cloud.CallsOf(fake.CallList, "")); n != 6 { // one instance list, five kinds swept
		t.Errorf("%d lists: someone else's account is listed", n)
	}
	// Also to a daemon that starts now.
	b.restart()
	b.once(21 * time.Minute)
	b.wantVerbs("lab", "account_mismatch")
	if err := b.cloud.Do(fake.Event{Identity: "acct-1"}); err != nil {
		t.Fatal(err)
	}
	b.until(23 * time.Minute)
	if a := b.status(); a.Mismatch != "" {
		t.Errorf("got %+v", a)
	}
	b.wantVerbs("lab", "account_mismatch", "account_matches")
}

func TestIdentityWeak(t *testing.T) {
	weak := func(s *fake.Script) {
		s.IdentityKind = "weak"
		// The same account under a new key: one box is visible under both.
		s.Resources = append(s.Resources, fake.Resource{ID: "i-7", Identity: "acct-2", Created: -time.Hour})
	}
	t.Run("a key that sees nothing of ours is a mismatch", func(t *testing.T) {
		b := newBench(t, weak)
		b.once(time.Minute)
		if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
			t.Fatal(err)
		}
		b.until(20 * time.Minute)
		if a := b.status(); a.Mismatch != "acct-2" {
			t.Errorf("got %+v", a)
		}
		if o := b.box("i-7"); !o.FirstSeen.IsZero() {
			t.Error("someone else's box was taken in")
		}
	})
	t.Run("a key that reads a live box of ours is adopted", func(t *testing.T) {
		b := newBench(t, weak)
		b.once(time.Minute)
		b.register("i-1", nil)
		b.put(func(tx *store.Tx) error {
			// i-7 as it was recorded under the first key.
			return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: b.cloud.ID(guard.Instance, "i-7"), State: guard.StateRunning,
				Created: b.cloud.At(-time.Hour).Wall}, Identity: "acct-1", FirstSeen: b.now.Wall, Seen: b.now.Wall})
		})
		if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
			t.Fatal(err)
		}
		b.once(2 * time.Minute)
		a := b.status()
		if a.Mismatch != "" || a.Identity.ID != "acct-2" {
			t.Fatalf("got %+v", a)
		}
		if o, l := b.box("i-1"), b.lease("L-i-1"); o.Identity != "acct-2" || l.Identity != "acct-2" {
			t.Errorf("left under the old key: %q %q", o.Identity, l.Identity)
		}
		b.wantVerbs("lab", "new_key")
	})
}

// Credentials that become another account's, which can
// read a box under one of our IDs: IDs are not the account.
func TestIdentityStrongIsNotTalkedOver(t *testing.T) {
	b := newBench(t, func(s *fake.Script) {
		s.Resources = append(s.Resources, fake.Resource{ID: "i-7", Identity: "acct-2", Created: -time.Hour})
	})
	b.once(time.Minute)
	b.put(func(tx *store.Tx) error {
		return tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: b.cloud.ID(guard.Instance, "i-7"), State: guard.StateRunning,
			Created: b.cloud.At(-time.Hour).Wall}, Identity: "acct-1", FirstSeen: b.now.Wall, Seen: b.now.Wall})
	})
	if err := b.cloud.Do(fake.Event{Identity: "acct-2"}); err != nil {
		t.Fatal(err)
	}
	b.once(2 * time.Minute)
	if a := b.status(); a.Mismatch != "acct-2" || a.Identity.ID != "acct-1" {
		t.Errorf("got %+v", a)
	}
}

// turncoat answers with other credentials right after the list.
type turncoat struct {
	providers.Provider
	turned bool
}

func (p *turncoat) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	inv, err := p.Provider.List(ctx, q)
	for i := range inv.Results {
		if p.turned {
			inv.Results[i].Resources = nil
		}
	}
	return inv, err
}

func (p *turncoat) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	if !p.turned {
		return p.Provider.Get(ctx, ids...)
	}
	var out []guard.Lookup
	for _, id := range ids {
		out = append(out, guard.Lookup{ID: id, Verdict: guard.VerdictAbsent})
	}
	return out
}

// asks counts: each poll asks first, and each proof once more.
type asks struct {
	*turncoat
	n int
}

func (p *asks) Identity(ctx context.Context) (guard.Identity, error) {
	p.n++
	if p.turned && p.n%2 == 0 {
		return guard.Identity{ID: "acct-2", Strong: true}, nil
	}
	return p.Provider.Identity(ctx)
}

func TestCredentialsThatTurnInTheMiddleProveNothing(t *testing.T) {
	b := newBench(t, nil)
	b.once(10 * time.Minute)
	p := &asks{turncoat: &turncoat{Provider: b.account.Provider, turned: true}}
	b.account.Provider = p
	for i := 11; i < 20; i++ {
		p.n = 0
		b.once(time.Duration(i) * time.Minute)
		if p.n != 2 {
			t.Fatalf("asked %d times whose the credentials are", p.n)
		}
	}
	for _, id := range []string{"i-1", "i-2", "i-3"} {
		if o := b.box(id); o.Gone != nil || len(o.Absent) > 0 {
			t.Errorf("%s: %+v", id, o)
		}
	}
}
