package bolt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

func seen(i int) guard.Observed {
	return guard.Observed{FirstSeen: storetest.At.Wall, Seen: storetest.At.Wall, Identity: "123456789012",
		Resource: guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, Scope: "east", ID: fmt.Sprintf("i-%06d", i%1000)},
			Name: "trainer", State: guard.StateRunning, Type: "p4d.24xlarge", GPUs: 8, HasGPU: guard.Yes,
			Rate: guard.Rate{Amount: guard.MustMoney("32.77 USD"), Per: time.Hour, Unit: "machine"}}}
}

func entry(i int) guard.JournalEntry {
	return guard.JournalEntry{At: storetest.At.Wall, Who: "guard", Verb: "observed",
		Subject: fmt.Sprintf("lab/i-%06d", i%1000), Text: "running, 32.77 USD per hour"}
}

// BenchmarkUpdate is one durable update of the ledger (a record and its journal
// entry) against a bare bbolt transaction that puts the same bytes; x-bare is
// how many times as long ours takes.
func BenchmarkUpdate(b *testing.B) {
	ctx := context.Background()
	l := storetest.Ledger(b, open(b, filepath.Join(b.TempDir(), "ledger.db"), bolt.Options{}))
	bare, err := bbolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, &bbolt.Options{
		NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close() //nolint:errcheck // not what is measured
	var ours, theirs time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		err := l.Update(ctx, func(tx *store.Tx) error {
			if err := tx.Observed.Put(seen(i)); err != nil {
				return err
			}
			return tx.Journal(entry(i))
		})
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)

		b.StopTimer()
		record, _ := json.Marshal(seen(i))
		line, _ := json.Marshal(entry(i))
		start = time.Now()
		err = bare.Update(func(tx *bbolt.Tx) error {
			for _, p := range []struct {
				table, key string
				value      []byte
			}{
				{"observed", seen(i).Resource.ID.Key(), record}, {"journal", fmt.Sprintf("%016x", i), line},
				{"journal_of", fmt.Sprintf("%s %016x", entry(i).Subject, i), nil}, {"meta", "journal_head", []byte(fmt.Sprint(i))},
			} {
				t, err := tx.CreateBucketIfNotExists([]byte(p.table))
				if err != nil {
					return err
				}
				if err := t.Put([]byte(p.key), p.value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
}

// BenchmarkUpdateTogether is 32 goroutines that update at once: what sharing a
// flush brings.
func BenchmarkUpdateTogether(b *testing.B) {
	ctx := context.Background()
	l := storetest.Ledger(b, open(b, filepath.Join(b.TempDir(), "ledger.db"), bolt.Options{}))
	const goroutines = 32
	rounds := 0
	start := time.Now()
	for b.Loop() {
		rounds++
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				if err := l.Update(ctx, func(tx *store.Tx) error { return tx.Observed.Put(seen(i)) }); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(rounds*goroutines)/time.Since(start).Seconds(), "updates/s")
}
