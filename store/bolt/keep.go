package bolt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"guard/store"
)

// schemaCopy names the copy of a ledger as it was before an upgrade.
func schemaCopy(path string, schema int) string { return fmt.Sprintf("%s.schema-%d", path, schema) }

// KeepSchema implements [store.Keeper]: the copy lies beside the ledger and never
// takes the place of another one.
func (b *Backend) KeepSchema(ctx context.Context, schema int) (kept string, err error) {
	name := schemaCopy(b.path, schema)
	err = b.backupTo(ctx, name, func(temp, path string) error {
		kept, err = linkAside(temp, path)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keep the ledger as %s: %w", name, err)
	}
	return kept, nil
}

// KeptSchema implements [store.Keeper].
func (b *Backend) KeptSchema(ctx context.Context, schema int) string {
	var own store.Description
	err := b.View(ctx, func(r store.Reader) (err error) {
		own, _, err = store.Describe(r)
		return err
	})
	if err != nil {
		return ""
	}
	// The error is about the ledger, not about what could not be found for it.
	found, _ := Backups(ctx, dirOf(b.path), own.Deployment)
	found = slices.DeleteFunc(found, func(c Backup) bool {
		return c.Schema > schema || !strings.HasPrefix(c.Path, b.path+".schema-")
	})
	slices.SortStableFunc(found, func(a, b Backup) int { return cmp.Compare(b.Schema, a.Schema) })
	for _, c := range found {
		if Verify(ctx, c.Path) == nil {
			return c.Path
		}
	}
	return ""
}

var _ store.Keeper = (*Backend)(nil)
