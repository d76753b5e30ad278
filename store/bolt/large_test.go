package bolt_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// row is the name of one of the values that a large ledger is made of.
func row(i int) string { return fmt.Sprintf("%07d", i) }

// shrink makes three quarters of a large ledger's values small.
func shrink(l *store.Ledger, rows int) error {
	return l.UpdateEach(context.Background(), rows*3/4, func(tx *store.Tx, i int) error { return tx.SetValue(row(i), nil) })
}

// large is an open ledger whose file has about 300 MiB, in rows of 1 KiB.
func large(b *testing.B) (l *store.Ledger, backend *bolt.Backend, rows int) {
	b.Helper()
	const some = 10 * store.MaxWrites
	backend = open(b, filepath.Join(b.TempDir(), "ledger.db"), bolt.Options{})
	l = storetest.Ledger(b, backend)
	text := strings.Repeat("x", 1<<10)
	for ; stats(b, backend).Size < 300<<20; rows += some {
		err := l.UpdateEach(b.Context(), some, func(tx *store.Tx, i int) error { return tx.SetValue(row(rows+i), text) })
		if err != nil {
			b.Fatal(err)
		}
	}
	return l, backend, rows
}

// meanwhile runs fn while one update after the other is written, and tells how long
// it took and the longest of these.
func meanwhile(b *testing.B, l *store.Ledger, fn func() error) (took, longest time.Duration) {
	b.Helper()
	var done atomic.Bool
	worst := make(chan time.Duration)
	go func() {
		var longest time.Duration
		for n := 0; !done.Load(); n++ {
			start := time.Now()
			if err := l.Update(context.Background(), func(tx *store.Tx) error { return tx.SetValue("meanwhile", n) }); err != nil {
				b.Error(err)
			}
			longest = max(longest, time.Since(start))
		}
		worst <- longest
	}()
	start := time.Now()
	err := fn()
	took = time.Since(start)
	done.Store(true)
	longest = <-worst
	if err != nil {
		b.Fatal(err)
	}
	return took, longest
}

// BenchmarkLarge is how long a backup, a restore and a compaction of a ledger of
// 300 MiB take, and the longest that an update waits meanwhile; quiet is the longest
// without any of them. In milliseconds.
func BenchmarkLarge(b *testing.B) {
	ctx := context.Background()
	l, backend, rows := large(b)
	backup := filepath.Join(b.TempDir(), "backup.db")
	report := func(name string, d time.Duration) { b.ReportMetric(float64(d.Milliseconds()), name) }
	for b.Loop() {
		_, quiet := meanwhile(b, l, func() error { <-time.NewTimer(2 * time.Second).C; return nil })
		report("quiet-write-ms", quiet)
		took, longest := meanwhile(b, l, func() error { return backend.BackupTo(ctx, backup) })
		report("backup-ms", took)
		report("backup-write-ms", longest)

		start := time.Now()
		if _, err := bolt.Restore(ctx, backup, filepath.Join(b.TempDir(), "restored.db"), bolt.RestoreOptions{At: storetest.At}); err != nil {
			b.Fatal(err)
		}
		report("restore-ms", time.Since(start))

		// A quarter of it stays.
		if err := shrink(l, rows); err != nil {
			b.Fatal(err)
		}
		took, longest = meanwhile(b, l, func() error { return backend.Compact(ctx) })
		report("compact-ms", took)
		report("compact-write-ms", longest)
		report("compacted-MiB", time.Duration(stats(b, backend).Size>>20)*time.Millisecond)
	}
}
