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
	// From is the schema that an upgrade has begun from and not ended; 0 where none
	// is under way. Schema is the new one from its first step on: an older guard must
	// not take records for its own of which some are rewritten.
	From int `json:"from,omitzero"`
}

// Upgrade is what [Open] did to a ledger of an earlier schema.
type Upgrade struct {
	From, To int
	// Kept is the copy of the ledger as it was, the way back to the guard from
	// before; "" where the backend keeps none, or where an earlier start made it.
	Kept string
}

// Keeper is a [Backend] that can keep what it is before an upgrade changes it.
type Keeper interface {
	// KeepSchema makes a proven copy of a ledger of the schema and returns its name.
	// Where it cannot, nothing is upgraded.
	KeepSchema(ctx context.Context, schema int) (string, error)
	// KeptSchema is the name of the newest such copy that is of the schema or an
	// earlier one; "" where there is none.
	KeptSchema(ctx context.Context, schema int) string
}

// Description is what a ledger says of itself, for whoever has only its file.
type Description struct {
	// Schema is of its records; a half-upgraded one is of the new schema.
	Schema int
	// From is the schema that it is half-upgraded from; 0 where it is not.
	From       int
	Deployment string
	Created    time.Time // of its first start
}

// Describe reads what a ledger is, and whether it says so at all. A description
// that cannot be read is guard.ErrDamaged.
func Describe(g Getter) (Description, bool, error) {
	m, ok, err := readMeta(g)
	return Description{m.Schema, m.From, m.Deployment, m.Created}, ok, err
}

// upgrade rewrites a ledger of one schema to the next. It may be cut off at any
// point and run again from the start, so it must find its own half-done work.
type upgrade func(ctx context.Context, b Backend) error

// upgrades[i] leads from schema i+1 to i+2. The present schema is one more than
// there are steps. A step, once released, is never changed.
var upgrades = []upgrade{findingsByKind, batches}

// Schema is the version of the ledger's records that this build writes.
func Schema() int { return len(upgrades) + 1 }

// prepare brings a backend to the present schema.
func prepare(ctx context.Context, b Backend, at guard.Instant, steps []upgrade) (meta, Upgrade, error) {
	present := len(steps) + 1
	m, err := create(ctx, b, at, present)
	if err != nil {
		return meta{}, Upgrade{}, err
	}
	if m.Schema > present {
		return meta{}, Upgrade{}, newer(ctx, b, m.Schema, present)
	}
	done := Upgrade{From: m.Schema}
	if m.From > 0 {
		done.From, m.Schema = m.From, m.From
	} else if k, ok := b.(Keeper); ok && m.Schema < present {
		if done.Kept, err = k.KeepSchema(ctx, m.Schema); err != nil {
			return meta{}, Upgrade{}, fmt.Errorf("upgrade the ledger from schema %d to %d: nothing was changed, since it cannot be kept as it is first: %w", m.Schema, present, err)
		}
	}
	// A ledger between two steps says so: what is half-upgraded is not kept again.
	write := func() error { return b.Update(ctx, func(w Writer) error { return writeMeta(w, m) }) }
	for m.Schema < present {
		m.From = m.Schema
		m.Schema++
		err := write()
		if err == nil {
			err = steps[m.From-1](ctx, b)
		}
		if err == nil && m.Schema == present {
			m.From = 0
			err = write()
		}
		if err != nil {
			return meta{}, Upgrade{}, fmt.Errorf("upgrade the ledger from schema %d to %d: %w", m.Schema-1, m.Schema, err)
		}
	}
	done.To = m.Schema
	return m, done, nil
}

// newer refuses a ledger that a later guard has written.
func newer(ctx context.Context, b Backend, schema, present int) error {
	back := "restore a backup from before"
	if k, ok := b.(Keeper); ok {
		if name := k.KeptSchema(ctx, present); name != "" {
			back = fmt.Sprintf("restore %s, a copy from before the upgrade: what happened since is not in it", name)
		}
	}
	return fmt.Errorf("%w: the ledger has schema %d and this guard knows up to %d: nothing was changed; start a guard that is at least as new as the one that wrote it, or %s",
		guard.ErrRefused, schema, present, back)
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
	if err := json.Unmarshal(b, &m); err != nil || m.Schema < 1 || m.Deployment == "" || m.From != 0 && (m.From < 1 || m.From != m.Schema-1) {
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
	outbox.name, sentMessages.name, scopes.name, accounts.name, mutes.name, tokens.name, egress.name, wallets.name, bills.name, journal.name}
