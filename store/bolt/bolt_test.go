package bolt_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

func open(t testing.TB, path string, opt bolt.Options) *bolt.Backend {
	t.Helper()
	b, err := bolt.Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T) store.Backend {
			return open(t, filepath.Join(t.TempDir(), "ledger.db"), bolt.Options{})
		},
		Restore: func(t *testing.T, backup []byte) (store.Backend, error) {
			path := filepath.Join(t.TempDir(), "restored.db")
			if err := os.WriteFile(path, backup, 0o600); err != nil {
				return nil, err
			}
			b, err := bolt.Open(context.Background(), path, bolt.Options{})
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	})
}
