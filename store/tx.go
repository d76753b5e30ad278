package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"guard"
)

// Tx changes the ledger inside an Update. It is valid inside that function only
// and not for several goroutines.
type Tx struct {
	Leases   Rows[guard.Lease]         // key Lease.ID
	Observed Rows[guard.Observed]      // key Resource.ID.Key()
	Metered  Rows[guard.Metered]       // key Resource.Key()
	Plans    Rows[guard.Plan]          // key Lease
	Findings Rows[guard.Finding]       // open ones, key Finding.Key()
	Releases Rows[guard.Release]       // open ones, key Target.Key()
	Outbox   Rows[guard.Message]       // pending ones, key Message.ID
	Scopes   Rows[guard.ScopeStatus]   // key ScopeKey
	Accounts Rows[guard.AccountStatus] // key Name
	Mutes    Rows[guard.Mute]          // key Mute.Key()
	Tokens   Rows[guard.Token]         // key ID
	Egress   Rows[guard.Egress]        // key Resource.Key()
	Wallets  Rows[guard.Wallet]        // key Account
	Bills    Rows[guard.Bill]          // key Resource.Key()

	o *overlay
}

func newTx(w Writer, pub *publisher) *Tx {
	tx := &Tx{o: &overlay{w: w, pub: pub, writes: map[place]written{}}}
	tx.Leases = Rows[guard.Lease]{t: leases, o: tx.o, change: tx.indexLease}
	tx.Observed = Rows[guard.Observed]{t: observed, o: tx.o}
	tx.Metered = Rows[guard.Metered]{t: metered, o: tx.o}
	tx.Plans = Rows[guard.Plan]{t: plans, o: tx.o}
	tx.Findings = Rows[guard.Finding]{t: findings, o: tx.o, change: keepFinding}
	tx.Releases = Rows[guard.Release]{t: releases, o: tx.o, change: keepRelease}
	tx.Outbox = Rows[guard.Message]{t: outbox, o: tx.o}
	tx.Scopes = Rows[guard.ScopeStatus]{t: scopes, o: tx.o}
	tx.Accounts = Rows[guard.AccountStatus]{t: accounts, o: tx.o}
	tx.Mutes = Rows[guard.Mute]{t: mutes, o: tx.o}
	tx.Tokens = Rows[guard.Token]{t: tokens, o: tx.o}
	tx.Egress = Rows[guard.Egress]{t: egress, o: tx.o}
	tx.Wallets = Rows[guard.Wallet]{t: wallets, o: tx.o}
	tx.Bills = Rows[guard.Bill]{t: bills, o: tx.o}
	return tx
}

// CloseFinding moves an open finding to the archive. The caller has set Closed.
func (tx *Tx) CloseFinding(f guard.Finding) error {
	if f.Closed.IsZero() {
		return fmt.Errorf("%w: close finding %q: no time is set", guard.ErrInvalid, f.ID)
	}
	if err := keepID(tx.Findings, f.Key(), f.ID, findingID); err != nil {
		return fmt.Errorf("close finding %q: %w", f.ID, err)
	}
	return errors.Join(closedFindings.put(tx.o, f), tx.o.delete(findings.name, f.Key()))
}

// EndRelease moves an open release to the archive. The caller has set its last
// state.
func (tx *Tx) EndRelease(r guard.Release) error {
	if r.State.Open() {
		return fmt.Errorf("%w: end release %q: it is still %s", guard.ErrInvalid, r.ID, r.State)
	}
	if err := keepID(tx.Releases, resourceKey(r.Target), r.ID, releaseID); err != nil {
		return fmt.Errorf("end release %q: %w", r.ID, err)
	}
	return errors.Join(endedReleases.put(tx.o, r), tx.o.delete(releases.name, r.Target.Key()))
}

// Queue adds a message to the outbox, unless one of that ID is pending or was
// sent: saying the same thing for the same cause twice changes nothing. An edit takes
// the place of the one that waits: the newest state is what is shown.
func (tx *Tx) Queue(m guard.Message) error {
	if m.Edit {
		return outbox.put(tx.o, m)
	}
	for _, t := range []table[guard.Message]{outbox, sentMessages} {
		if _, ok, err := t.now(tx.o, m.ID); err != nil || ok {
			return err
		}
	}
	return outbox.put(tx.o, m)
}

// Sent moves a message from the outbox to the archive of sent ones.
func (tx *Tx) Sent(m guard.Message) error {
	return errors.Join(sentMessages.put(tx.o, m), tx.o.delete(outbox.name, m.ID))
}

// Acked is when a channel acknowledged a message; zero while none has.
func (tx *Tx) Acked(id string) (time.Time, error) {
	m, _, err := sentMessages.now(tx.o, id)
	return m.Acked, err
}

// SetValue keeps a small value under a name, as JSON.
func (tx *Tx) SetValue(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: value %q for the ledger: %v", guard.ErrInvalid, name, err)
	}
	return tx.o.put(valuesTable, name, written{value: b})
}

// Value reads the value of a name into the pointer v, and tells whether there
// is one.
func (tx *Tx) Value(name string, v any) (bool, error) { return value(tx.o, name, v) }

func value(g Getter, name string, v any) (bool, error) {
	b, err := g.Get(valuesTable, name)
	if err != nil || b == nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, fmt.Errorf("%w: value %q in the ledger cannot be read: %v", guard.ErrDamaged, name, err)
	}
	return true, nil
}

func findingID(f guard.Finding) string { return f.ID }
func releaseID(r guard.Release) string { return r.ID }

// keepFinding and keepRelease refuse to write one open thing over another: it
// would be dropped without an end, and a release is never dropped.
func keepFinding(old, new *guard.Finding) error {
	if old != nil && new != nil && old.ID != new.ID {
		return otherOpen("finding", new.ID, old.ID)
	}
	return nil
}

func keepRelease(old, new *guard.Release) error {
	if old != nil && new != nil && old.ID != new.ID {
		return otherOpen("release", new.ID, old.ID)
	}
	return nil
}

func keepID[T any](rows Rows[T], key, id string, idOf func(T) string) error {
	old, ok, err := rows.Get(key)
	if err != nil || !ok || idOf(old) == id {
		return err
	}
	return otherOpen(rows.t.name, id, idOf(old))
}

func otherOpen(what, id, open string) error {
	return fmt.Errorf("%w: %s %q: %q of the same subject is still open and must end first", guard.ErrConflict, what, id, open)
}
