package store

import (
	"context"

	"guard"
)

// OpenWith is Open with other upgrade steps than those of this build.
func OpenWith(ctx context.Context, b Backend, at guard.Instant, steps ...func(context.Context, Backend) error) (*Ledger, error) {
	var upgrades []upgrade
	for _, s := range steps {
		upgrades = append(upgrades, s)
	}
	return open(ctx, b, at, upgrades)
}
