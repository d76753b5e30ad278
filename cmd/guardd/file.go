package main

import (
	"context"

	"guard/daemon/keep"
	"guard/store/bolt"
)

// ledgerFile is what guardd does with the file of its ledger.
func ledgerFile(b *bolt.Backend) keep.File {
	return keep.File{
		Backup:  b.BackupTo,
		Compact: b.Compact,
		Worth: func(ctx context.Context) (bool, error) {
			s, err := b.Stats(ctx)
			return err == nil && s.Worth(), err
		},
		Trouble: func(ctx context.Context) error {
			s, err := b.Stats(ctx)
			if err != nil {
				return nil //nolint:nilerr // that nothing can be read is told by whoever has to
			}
			return s.Trouble()
		},
	}
}
