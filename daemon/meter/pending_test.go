package meter

import (
	"errors"
	"testing"
	"time"

	"guard"
	"guard/store"
)

// unmetered is what is pending of an instance.
func (b *bench) unmetered(id string) (left []guard.Change) {
	b.view(func(v *store.View) error {
		key := b.cloud.ID(guard.Instance, id).Key()
		o, _, err := v.Observed.Get(key)
		m, _, err2 := v.Metered.Get(key)
		left = o.Unmetered(m)
		return errors.Join(err, err2)
	})
	return left
}

// What is numbered is metered once and without another write of what was observed; what
// is not, as a ledger of before has it, is taken away.
func TestWhatIsPendingIsMeteredOnce(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		b := newBench(t)
		b.see(guard.Instance, "i-1", 0, cny("10", hour), nil)
		b.lease("i-1", "1000 CNY", 0, nil)
		key := b.cloud.ID(guard.Instance, "i-1").Key()
		if !numbered {
			b.put(func(tx *store.Tx) error {
				o, _, err := tx.Observed.Get(key)
				o.Batch = 0
				return errors.Join(err, tx.Observed.Put(o))
			})
		}
		var version store.Version
		b.view(func(v *store.View) error {
			version = v.Version()
			return nil
		})
		b.once(hour)
		b.view(func(v *store.View) error {
			written, _ := v.Observed.Changed(version)
			if len(written) > 0 == numbered {
				t.Errorf("numbered %t: the meter wrote %v", numbered, written)
			}
			return nil
		})
		if left := b.unmetered("i-1"); len(left) > 0 {
			t.Errorf("numbered %t: still pending: %+v", numbered, left)
		}
		b.see(guard.Instance, "i-1", 2*hour, cny("11", hour), nil)
		b.once(2 * hour)
		b.once(2*hour + 3*time.Minute)
		if got := b.spent("i-1", 3*hour); got != "31.00 CNY" {
			t.Errorf("numbered %t: spent %s", numbered, got)
		}
	}
}
