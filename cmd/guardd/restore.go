package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"guard/daemon"
	"guard/store"
	"guard/store/bolt"
)

func restoreCommand() *cobra.Command {
	var file string
	var other bool
	cmd := &cobra.Command{
		Use: "restore FROM", Short: "Put the ledger back from a backup", Args: usage(oneBackup),
		Long: `Put a copy of the backup FROM in the place of the ledger. guardd must not run. The
copy is proven first, and the ledger that is there now is kept beside it under
another name. A backup of another guard is refused, for the boxes that this one has
tagged would become another's.

A ledger from a backup does not know what people did since. So guard starts in
observe mode, whatever the configuration says, until somebody says guard resume.`,
		Example: `  systemctl stop guardd
  guardd restore --config /etc/guard/guard.yaml /var/lib/guard/backups/ledger-0f3a9c21-20260306T030000Z.db
  systemctl start guardd && guard ls
  guard resume`,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := filepath.Abs(args[0])
			if err != nil {
				return usageError{err}
			}
			return restore(cmd.Context(), cmd.OutOrStdout(), file, from, other)
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&other, "other-deployment", false, "take the ledger of another guard, too")
	return cmd
}

func oneBackup(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("restore from what? Name the backup FROM")
	case 1:
		return nil
	}
	return fmt.Errorf("one backup FROM, not %d", len(args))
}

func restore(ctx context.Context, out io.Writer, file, from string, other bool) error {
	c, err := load(file)
	if err != nil {
		return err
	}
	at := daemon.Now()
	done, err := bolt.Restore(ctx, from, c.Ledger.Path, bolt.RestoreOptions{At: at, Other: other,
		Mark: func(ctx context.Context, l *store.Ledger) error {
			return daemon.MarkRestored(ctx, l, at, filepath.Base(from))
		}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is a copy of %s now, of deployment %s\n", done.Path, from, done.Deployment)
	if done.Upgraded.From != 0 {
		fmt.Fprintf(out, "its records were brought from schema %d to %d; the backup itself is as it was\n", done.Upgraded.From, store.Schema())
	}
	if done.Kept != "" {
		fmt.Fprintf(out, "the ledger that was there is kept as %s\n", done.Kept)
	}
	_, err = fmt.Fprint(out, `Next:
  1. start guardd: it watches and tells, and acts nowhere
  2. guard ls: register, extend, hold and protect again what people did since the backup
  3. guard resume: it names what would end, and gives everything overdue fresh notice
`)
	return err
}
