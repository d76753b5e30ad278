package storetest

import (
	"errors"
	"strings"
	"testing"

	"guard"
	"guard/store"
)

// testUndecodable puts records that are no records beside good ones.
func testUndecodable(t *testing.T, s Suite) {
	for name, record := range map[string]string{
		"cut":       `{"id":"l2"`,
		"null":      `null`,
		"empty":     ``,
		"other":     `{"id":"l3"}`,
		"wrongType": `{"id":"l2","grace":"an hour"}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := s.open(t)
			l, err := store.Open(ctx, b, At)
			if err != nil {
				t.Fatal(err)
			}
			change(t, l, func(tx *store.Tx) error {
				return errors.Join(tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)),
					tx.Leases.Put(lease("l3", "i-3", 0, guard.LeaseActive)))
			})
			put(t, b, "leases", "l2", record)
			if l, err = store.Open(ctx, b, At); err != nil {
				t.Fatal(err)
			}
			look(t, l, func(v *store.View) error {
				_, ok, err := v.Leases.Get("l2")
				want(t, ok, false)
				wantError(t, err, guard.ErrDamaged, "leases", `"l2"`)
				var good []string
				var bad error
				for r, err := range v.Leases.All("") {
					if err != nil {
						bad = err
						continue
					}
					good = append(good, r.ID)
				}
				want(t, good, []string{"l1", "l3"})
				wantError(t, bad, guard.ErrDamaged, "leases", `"l2"`)
				return nil
			})
			// Writing over it would hide the damage.
			wantError(t, l.Update(ctx, func(tx *store.Tx) error {
				return tx.Leases.Put(lease("l2", "i-2", 0, guard.LeaseActive))
			}), guard.ErrDamaged)
			wantError(t, l.Check(ctx), guard.ErrDamaged, `"l2"`)
		})
	}
}

// testCheck plants what cannot be true and wants it found.
func testCheck(t *testing.T, s Suite) {
	const open = `{"id":"r9","target":{"account":"lab","kind":"instance","id":"i-9"},"state":"planned"}`
	for name, c := range map[string]struct{ table, key, value, says string }{
		"release of nothing":    {"releases", "lab/instance/i-9", open, "r9"},
		"release open and over": {"releases_ended", "r1", `{"id":"r1","state":"released"}`, "open and in the archive"},
		"archive still open":    {"releases_ended", "r7", `{"id":"r7","state":"issued"}`, "r7"},
		"index of no lease":     {"lease_of", "lab/instance/i-9", `{"resource":"lab/instance/i-9","leases":[{"id":"l9"}]}`, "l9"},
		"index of ended lease":  {"lease_of", "lab/instance/i-1", `{"resource":"lab/instance/i-1","leases":[{"id":"l1"}]}`, "l1"},
		"lease not in index":    {"leases", "l8", `{"id":"l8","resource":{"account":"lab","kind":"instance","id":"i-1"}}`, "l8"},
		"journal gap":           {"journal", "0000000000000003", `{"seq":3}`, "from entry 1 to 3"},
		"journal head":          {"meta", "journal_head", `7`, "7"},
		"journal index":         {"journal_of", "lab/i-1\x00fffffffffffffff0", ``, "index"},
		"closed among open":     {"findings", "expired|lab/i-1", `{"id":"f1","rule":"expired","subject":"lab/i-1","closed":"2026-01-01T00:00:00Z"}`, "f1"},
		"sent and pending":      {"outbox_sent", "m1", `{"id":"m1"}`, "m1"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			b := s.open(t)
			l, err := store.Open(ctx, b, At)
			if err != nil {
				t.Fatal(err)
			}
			change(t, l, func(tx *store.Tx) error {
				return errors.Join(tx.Leases.Put(lease("l1", "i-1", 0, guard.LeaseActive)),
					tx.Releases.Put(release("r1", guard.ReleasePlanned)), tx.Queue(guard.Message{ID: "m1"}),
					tx.Journal(guard.JournalEntry{Subject: "lab/i-1", Text: "one"}))
			})
			if err := l.Check(ctx); err != nil {
				t.Fatalf("before: %v", err)
			}
			put(t, b, c.table, c.key, c.value)
			wantError(t, l.Check(ctx), guard.ErrDamaged, c.says)
		})
	}
}
