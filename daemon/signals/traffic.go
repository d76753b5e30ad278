package signals

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"guard"
	"guard/policy/egress"
	"guard/store"
)

// meter folds the byte counters in fresh samples into the ledger's meters of traffic,
// all instances of a poll in as few updates as hold them. It reports whether any moved.
func (b *Book) meter(ctx context.Context, changed map[string]*entry, fresh map[string][]guard.Sample) (moved bool, err error) {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(fresh)) {
		if slices.ContainsFunc(fresh[key], counts) {
			keys = append(keys, key)
		}
	}
	err = b.Ledger.UpdateEach(ctx, len(keys), func(tx *store.Tx, i int) error {
		key := keys[i]
		rec, _, err := tx.Egress.Get(key)
		if err != nil {
			return err
		}
		spike, _, err := tx.Findings.Get(guard.Finding{Rule: guard.RuleEgressSpike, Resource: changed[key].id}.Key())
		if err != nil {
			return err
		}
		next := rec
		next.Resource = changed[key].id
		for _, x := range fresh[key] {
			next = egress.Fold(next, x, egress.Options{Line: b.Line(), Spike: spike.Since})
		}
		if reflect.DeepEqual(rec, next) || next.First.IsZero() {
			return nil
		}
		moved = true
		return tx.Egress.Put(next)
	})
	return moved, err
}

// counts reports whether a sample says anything of traffic.
func counts(x guard.Sample) bool { return len(x.NICs) > 0 || x.Tx.OK }
