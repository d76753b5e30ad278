package store

import (
	"context"
	"encoding/json"
	"fmt"

	"guard"
)

// findingsByKind leads from schema 1 to 2: the key of an open finding names the
// kind of its resource, so that an instance and a volume of one ID have a finding
// each. Records keep their bytes. A finding is moved in one update: cut off
// anywhere, each is under one of its two keys.
func findingsByKind(ctx context.Context, b Backend) error {
	const table = "findings"
	type move struct{ from, to string }
	var moves []move
	err := b.View(ctx, func(r Reader) error {
		var bad error
		err := r.Scan(table, "", "", func(key string, value []byte) bool {
			var to string
			if to, bad = findingKey2(key, value); bad == nil && to != key {
				moves = append(moves, move{key, to})
			}
			return bad == nil
		})
		if err == nil {
			err = bad
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := 0; i < len(moves); {
		next := min(i+MaxWrites/2, len(moves)) // each takes two writes
		err := b.Update(ctx, func(w Writer) error {
			for _, m := range moves[i:next] {
				value, err := w.Get(table, m.from)
				if err != nil || value == nil {
					return err
				}
				if err := w.Put(table, m.to, value); err != nil {
					return err
				}
				if err := w.Delete(table, m.from); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// findingKey2 is the key of an open finding in schema 2.
func findingKey2(key string, value []byte) (string, error) {
	var f struct {
		Rule, Subject string
		Resource      struct{ Account, Kind, ID string }
	}
	if err := json.Unmarshal(value, &f); err != nil || f.Rule == "" {
		return "", fmt.Errorf("%w: record %q in the ledger's table findings cannot be read (%q): restore a backup", guard.ErrDamaged, key, clip(value))
	}
	if f.Resource.ID == "" {
		return f.Rule + "|" + f.Subject, nil
	}
	return f.Rule + "|" + f.Resource.Account + "/" + f.Resource.Kind + "/" + f.Resource.ID, nil
}

// batches leads from schema 2 to 3: what is pending of a resource may stay in its
// record when it is metered, under the number that the meter's record then has. No
// record changes: what has no number is pending as before. But an older guard would
// meter what is numbered once more.
func batches(context.Context, Backend) error { return nil }
