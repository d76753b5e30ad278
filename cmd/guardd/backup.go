package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"guard"
	"guard/daemon/client"
	"guard/store/bolt"
)

func backupCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "backup TO", Short: "Copy the ledger while the daemon works", Args: usage(oneFile),
		Long: `Write a consistent copy of the ledger to the file TO. The copy is checked before
it gets its name, so TO is never half a backup. A running daemon makes the copy
itself and goes on working; without one the ledger's file is copied directly.`,
		Example: "  guardd backup --config /etc/guard/guard.yaml /backup/ledger-monday.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := filepath.Abs(args[0])
			if err != nil {
				return usageError{err}
			}
			if err := backup(cmd.Context(), file, to); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s holds a checked copy of the ledger\n", to)
			return err
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func oneFile(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("back up to where? Name the file TO")
	case 1:
		return nil
	}
	return fmt.Errorf("one file TO, not %d", len(args))
}

func backup(ctx context.Context, file, to string) error {
	c, err := load(file)
	if err != nil {
		return err
	}
	// Opening makes a ledger where there is none; a backup of that helps nobody.
	if _, err := os.Stat(c.Ledger.Path); err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	backend, err := bolt.Open(ctx, c.Ledger.Path, bolt.Options{Backups: c.Backup.Dir})
	if err == nil {
		return errors.Join(backend.BackupTo(ctx, to), backend.Close())
	}
	if !errors.Is(err, guard.ErrLocked) {
		return err
	}
	// A daemon has it open: it is asked.
	cl, err := client.New(client.Options{Addr: "unix:" + c.Listen.Unix})
	if err != nil {
		return err
	}
	if err := cl.Backup(ctx, to); err != nil {
		if unreachable := (*client.UnreachableError)(nil); errors.As(err, &unreachable) {
			return fmt.Errorf("%w: %w", errNobody, err)
		}
		return err
	}
	return nil
}
