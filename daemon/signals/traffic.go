package signals

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"guard"
	"guard/policy/egress"
	"guard/store"
)

// A poll that tells of little traffic is not worth a write: what its counters moved, the
// next ones tell again. It waits for the first poll of another five minutes, which is how
// finely traffic is kept, for the end of the machine, or until there is something of it that money could notice: at
// 10 MB that is a tenth of a cent where the large clouds are cheap, and less than a cent
// wherever a GB costs less than a dollar.
const (
	seldom = 5 * time.Minute
	little = 10_000_000 // bytes
)

// counted is how far an instance's byte counters are in the ledger, and what waits. The
// zero value: nobody knows, as after a start.
type counted struct {
	last    guard.Sample   // the newest that was folded into the ledger's meter
	waiting []guard.Sample // newer ones, oldest first
}

// due reports whether the ledger has to hear of a sample now. What no later sample would
// tell again is never put off: rates, the end of a boot, a counter that ran backwards,
// another source.
func (c counted) due(x guard.Sample, paysIn bool) bool {
	if len(x.NICs) == 0 || x.Source != c.last.Source || x.Boot != c.last.Boot || !x.At.Truncate(seldom).Equal(c.last.At.Truncate(seldom)) {
		return true
	}
	var sent, in uint64
	for _, n := range x.NICs {
		i := slices.IndexFunc(c.last.NICs, func(o guard.NICSample) bool { return o.Name == n.Name })
		if i < 0 {
			return true
		}
		// One that ran backwards has moved by more than any.
		sent, in = max(sent, n.Tx-c.last.NICs[i].Tx), max(in, n.Rx-c.last.NICs[i].Rx)
	}
	return sent >= little || paysIn && in >= little
}

// wait is a state with a sample that waits.
func (c counted) wait(x guard.Sample) counted {
	c.waiting = append(slices.Clip(c.waiting), traffic(x))
	return c
}

// traffic is what of a sample its meter needs.
func traffic(x guard.Sample) guard.Sample {
	return guard.Sample{At: x.At, Interval: x.Interval, Source: x.Source, Boot: x.Boot, NICs: x.NICs, Tx: x.Tx, Rx: x.Rx}
}

// meter folds the byte counters in fresh samples into the ledger's meters of traffic,
// all instances of a poll in as few updates as hold them. It reports whether any moved.
func (b *Book) meter(ctx context.Context, at time.Time, changed map[string]*entry, fresh map[string][]guard.Sample) (moved bool, err error) {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(fresh)) {
		e, due := changed[key], false
		for _, x := range fresh[key] {
			if counts(x) {
				due = due || e.counted.due(x, e.paysIn)
				e.counted = e.counted.wait(x)
			}
		}
		if due {
			keys = append(keys, key)
		}
	}
	return b.count(ctx, at, changed, keys)
}

// settle folds what waits of instances that run no more: no later poll tells it again.
func (b *Book) settle(ctx context.Context, at time.Time, changed map[string]*entry) (moved bool, err error) {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if e := changed[key]; e != nil && !e.box.Running && len(e.counted.waiting) > 0 {
			keys = append(keys, key)
		}
	}
	return b.count(ctx, at, changed, keys)
}

// count folds what waits of some instances into the ledger.
func (b *Book) count(ctx context.Context, at time.Time, changed map[string]*entry, keys []string) (moved bool, err error) {
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
		for _, x := range changed[key].counted.waiting {
			next = egress.Fold(next, x, egress.Options{Spike: spike.Since, At: at})
		}
		if reflect.DeepEqual(rec, next) || next.First.IsZero() {
			return nil
		}
		moved = true
		return tx.Egress.Put(next)
	})
	if err != nil {
		return false, err
	}
	for _, key := range keys {
		all := changed[key].counted.waiting
		changed[key].counted = counted{last: all[len(all)-1]}
	}
	return moved, nil
}

// counts reports whether a sample says anything of traffic.
func counts(x guard.Sample) bool { return len(x.NICs) > 0 || x.Tx.OK }
