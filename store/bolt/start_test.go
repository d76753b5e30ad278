package bolt_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// fleet writes what the ledger holds of n things, as meter and observe leave them.
func fleet(b *testing.B, path string, n int) {
	b.Helper()
	l := storetest.Ledger(b, open(b, path, bolt.Options{}))
	err := l.UpdateEach(b.Context(), n, func(tx *store.Tx, i int) error {
		o := seen(i)
		o.Resource.ID.ID = fmt.Sprintf("i-%016x", i)
		o.Resource.Tags = map[string]string{"team": "nlp", "project": fmt.Sprint(i % 200)}
		if err := tx.Observed.Put(o); err != nil {
			return err
		}
		s := guard.Segment{Resource: o.Resource.ID, State: guard.StateRunning, Rate: o.Resource.Rate, From: o.Seen, Granularity: time.Second, Minimum: time.Minute}
		if err := tx.Metered.Put(guard.Metered{Resource: o.Resource.ID, Segments: []guard.Segment{s}}); err != nil {
			return err
		}
		e := entry(i)
		e.Subject = o.Resource.ID.String()
		return tx.Journal(e)
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart proves, opens and reads a ledger of 90,000 things.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger.db")
	fleet(b, path, 90_000)
	start(b, path)
}

// start measures what guardd needs to have a ledger before it: to prove and open the
// file, and to take the open tables into memory, in milliseconds and over (x-bare)
// reading the file once and its CRC.
func start(b *testing.B, path string) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	var bare, file, ledger time.Duration
	for b.Loop() {
		began := time.Now()
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
		bare += time.Since(began)

		began = time.Now()
		f, err := bolt.Open(b.Context(), path, bolt.Options{})
		if err != nil {
			b.Fatal(err)
		}
		file += time.Since(began)
		began = time.Now()
		l, err := store.Open(b.Context(), f, storetest.At)
		if err != nil {
			b.Fatal(err)
		}
		ledger += time.Since(began)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) / float64(b.N) }
	b.ReportMetric(float64(info.Size()>>20), "MiB")
	b.ReportMetric(ms(file), "open-ms")
	b.ReportMetric(ms(ledger), "mirror-ms")
	b.ReportMetric(float64(file)/float64(bare), "file-x-bare")
	b.ReportMetric(float64(ledger)/float64(bare), "ledger-x-bare")
}
