package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"guard"
)

// metaSchema is the meta key of what the ledger is.
const metaSchema = "schema"

// meta says what the ledger is. It is the first record ever written.
type meta struct {
	Schema     int       `json:"schema"`
	Deployment string    `json:"deployment"`
	Created    time.Time `json:"created"`
}

// upgrade rewrites a ledger of one schema to the next. It may be cut off at any
// point and run again from the start, so it must find its own half-done work; the
// version is raised after it returns.
type upgrade func(ctx context.Context, b Backend) error

// upgrades[i] leads from schema i+1 to i+2. The present schema is one more than
// there are steps. A step, once released, is never changed.
var upgrades = []upgrade{}

// Schema is the version of the ledger's records that this build writes.
func Schema() int { return len(upgrades) + 1 }

// prepare brings a backend to the present schema.
func prepare(ctx context.Context, b Backend, at guard.Instant, steps []upgrade) (meta, error) {
	present := len(steps) + 1
	m, err := create(ctx, b, at, present)
	if err != nil {
		return meta{}, err
	}
	if m.Schema > present {
		return meta{}, fmt.Errorf("%w: the ledger has schema %d and this guard knows up to %d: nothing was changed; start a guard that is at least as new as the one that wrote it, or restore a backup from before",
			guard.ErrRefused, m.Schema, present)
	}
	for m.Schema < present {
		if err := steps[m.Schema-1](ctx, b); err != nil {
			return meta{}, fmt.Errorf("upgrade the ledger from schema %d to %d: %w", m.Schema, m.Schema+1, err)
		}
		m.Schema++
		if err := b.Update(ctx, func(w Writer) error { return writeMeta(w, m) }); err != nil {
			return meta{}, fmt.Errorf("upgrade the ledger to schema %d: %w", m.Schema, err)
		}
	}
	return m, nil
}

// create returns what the ledger is and makes it so where it is empty.
func create(ctx context.Context, b Backend, at guard.Instant, present int) (meta, error) {
	var m meta
	found := false
	err := b.View(ctx, func(r Reader) error {
		var err error
		if m, found, err = readMeta(r); err != nil || found {
			return err
		}
		for _, t := range everyTable {
			if key, _, err := r.Last(t); err != nil {
				return err
			} else if key != "" {
				return fmt.Errorf("%w: the ledger has records in table %s and none that says which schema they are in: restore a backup", guard.ErrDamaged, t)
			}
		}
		return nil
	})
	if err != nil || found {
		return m, err
	}
	id := make([]byte, 16)
	rand.Read(id) // never fails: crypto/rand crashes the program instead
	fresh := meta{Schema: present, Deployment: hex.EncodeToString(id), Created: at.Wall.UTC()}
	err = b.Update(ctx, func(w Writer) error {
		var err error
		if m, found, err = readMeta(w); err != nil || found {
			return err // somebody else was first
		}
		m = fresh
		return writeMeta(w, fresh)
	})
	return m, err
}

func readMeta(g Getter) (meta, bool, error) {
	b, err := g.Get(metaTable, metaSchema)
	if err != nil || b == nil {
		return meta{}, false, err
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil || m.Schema < 1 || m.Deployment == "" {
		return meta{}, false, fmt.Errorf("%w: the record that says what the ledger is cannot be read (%q): restore a backup", guard.ErrDamaged, clip(b))
	}
	return m, true, nil
}

func writeMeta(w Writer, m meta) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return w.Put(metaTable, metaSchema, b)
}

func clip(b []byte) string {
	const most = 60
	if len(b) > most {
		b = b[:most]
	}
	return string(b)
}

// everyTable is what an empty ledger has nothing in.
var everyTable = []string{metaTable, valuesTable, journalIndex,
	leases.name, leaseIndex.name, observed.name, metered.name, plans.name,
	findings.name, closedFindings.name, releases.name, endedReleases.name,
	outbox.name, sentMessages.name, scopes.name, accounts.name, mutes.name, tokens.name, journal.name}
