package store_test

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/store"
)

// full is a ledger with one record of every type, and the rows below it.
func full(t testing.TB) (rows, *store.Ledger) {
	t.Helper()
	r, at := rows{}, time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	l, err := store.Open(t.Context(), r, guard.Instant{Wall: at})
	if err != nil {
		t.Fatal(err)
	}
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	other := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-2"}
	err = l.Update(t.Context(), func(tx *store.Tx) error {
		closed := guard.Finding{ID: "f-0", Rule: "budget", Subject: id.Key(), Closed: at}
		return errors.Join(
			tx.Leases.Put(guard.Lease{ID: "l-1", Resource: id, Owner: "ana", Status: guard.LeaseActive, Budget: guard.MustMoney("40USD"), ExpiresAt: at}),
			tx.Observed.Put(guard.Observed{Resource: guard.Resource{ID: id, State: guard.StateRunning}, FirstSeen: at}),
			tx.Metered.Put(guard.Metered{Resource: id}),
			tx.Plans.Put(guard.Plan{Lease: "l-1"}),
			tx.Findings.Put(guard.Finding{ID: "f-1", Rule: "expiry", Subject: id.Key()}),
			tx.CloseFinding(closed),
			tx.Releases.Put(guard.Release{ID: "r-1", Target: id, Lease: "l-1", State: guard.ReleaseIntended}),
			tx.EndRelease(guard.Release{ID: "r-0", Target: other, State: guard.ReleaseDone}),
			tx.Queue(guard.Message{ID: "m-1"}),
			tx.Sent(guard.Message{ID: "m-0"}),
			tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "zone-a"}),
			tx.Accounts.Put(guard.AccountStatus{Name: "lab", Identity: guard.Identity{ID: "acct"}}),
			tx.Journal(guard.JournalEntry{At: at, Who: "ana", Verb: "registered", Subject: "lab/i-1", Lease: "l-1"}),
			tx.SetValue("clock", map[string]int{"a": 1}),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, l
}

// readers read each table in both ways: what stands under a key, and all there is.
var readers = map[string]func(v *store.View, key string) reading{
	"leases":          func(v *store.View, key string) reading { return read(v.Leases, key) },
	"observed":        func(v *store.View, key string) reading { return read(v.Observed, key) },
	"metered":         func(v *store.View, key string) reading { return read(v.Metered, key) },
	"plans":           func(v *store.View, key string) reading { return read(v.Plans, key) },
	"findings":        func(v *store.View, key string) reading { return read(v.Findings, key) },
	"findings_closed": func(v *store.View, key string) reading { return read(v.ClosedFindings, key) },
	"releases":        func(v *store.View, key string) reading { return read(v.Releases, key) },
	"releases_ended":  func(v *store.View, key string) reading { return read(v.EndedReleases, key) },
	"outbox":          func(v *store.View, key string) reading { return read(v.Outbox, key) },
	"outbox_sent":     func(v *store.View, key string) reading { return read(v.SentMessages, key) },
	"scopes":          func(v *store.View, key string) reading { return read(v.Scopes, key) },
	"accounts":        func(v *store.View, key string) reading { return read(v.Accounts, key) },
}

// reading is what was read: the record, whether there was one, and how many errors
// and records there were in all.
type reading struct {
	record       any
	ok           bool
	err          error
	wrong, sound int
	firstOfAll   error
}

func read[T any](t interface {
	Get(string) (T, bool, error)
	All(string) iter.Seq2[T, error]
}, key string) reading {
	var r reading
	r.record, r.ok, r.err = t.Get(key)
	for _, err := range t.All("") {
		if err == nil {
			r.sound++
			continue
		}
		r.firstOfAll = err
		r.wrong++
	}
	return r
}

// FuzzRecord: a record of garbage is said to be damaged, by whoever reads it: it
// is never a zero value, and never not there.
func FuzzRecord(f *testing.F) {
	r, _ := full(f)
	for table := range readers {
		for _, garbage := range []string{"", "null", "{}", "[]", "0", `""`, "{", `{"id":"l-2"}`, "\x00\xff", "true", `{"id":null}`, `{"id":{"id":"i-1"}}`} {
			f.Add(table, []byte(garbage))
		}
		for k, v := range r {
			if k[0] == table {
				f.Add(table, v)
				f.Add(table, v[:len(v)/2])
				f.Add(table, append(slices.Clone(v), v...))
			}
		}
	}
	f.Fuzz(func(t *testing.T, table string, garbage []byte) {
		look, known := readers[table]
		if !known {
			return
		}
		r, _ := full(t)
		keys := r.sorted(table)
		key := keys[0]
		whole := slices.Clone(r[[2]string{table, key}])
		r[[2]string{table, key}] = slices.Clone(garbage)
		if garbage == nil {
			r[[2]string{table, key}] = []byte{}
		}
		l, err := store.Open(t.Context(), r, guard.Instant{}) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		var got reading
		if err := l.View(t.Context(), func(v *store.View) error { got = look(v, key); return nil }); err != nil {
			t.Fatal(err)
		}
		switch {
		case got.err != nil && (got.ok || !errors.Is(got.err, guard.ErrDamaged) || got.wrong != 1 || !errors.Is(got.firstOfAll, guard.ErrDamaged)):
			t.Errorf("%q in %s: %v, and among all %d times %v", garbage, table, got.err, got.wrong, got.firstOfAll)
		case got.err == nil && (!got.ok || got.wrong != 0 || got.sound != len(keys)):
			t.Errorf("%q in %s is read as nothing", garbage, table)
		case got.err == nil && (!json.Valid(garbage) || reflect.ValueOf(got.record).IsZero()):
			t.Errorf("%q in %s is read as %+v", garbage, table, got.record)
		case got.err != nil:
			if err := l.Check(t.Context()); !errors.Is(err, guard.ErrDamaged) {
				t.Errorf("the whole ledger is fine: %v", err)
			}
		case string(garbage) != string(whole):
			_ = l.Check(t.Context()) // must end
		}
	})
}

// FuzzMeta: what says what the ledger is, is believed or the ledger is not opened:
// it never becomes an empty ledger of today's schema.
func FuzzMeta(f *testing.F) {
	r, _ := full(f)
	whole := r[[2]string{"meta", "schema"}]
	f.Add(whole)
	for _, s := range []string{"", "null", "{}", "0", `{"schema":1}`, `{"schema":0,"deployment":"x"}`, `{"schema":99,"deployment":"x"}`, `{"schema":1e3,"deployment":"x"}`, `{"schema":-1,"deployment":"x"}`, `{"schema":1,"deployment":"x","created":7}`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := maps.Clone(r)
		r[[2]string{"meta", "schema"}] = append([]byte{}, b...)
		before := maps.Clone(r)
		l, err := store.Open(t.Context(), r, guard.Instant{})
		if err != nil {
			if !errors.Is(err, guard.ErrDamaged) && !errors.Is(err, guard.ErrRefused) {
				t.Errorf("%q: %v", b, err)
			}
		} else if l.Deployment() == "" {
			t.Errorf("%q opens a ledger of nobody", b)
		}
		if store.Schema() == 1 && !maps.EqualFunc(r, before, func(a, b []byte) bool { return string(a) == string(b) }) {
			t.Errorf("%q was changed", b)
		}
	})
}
