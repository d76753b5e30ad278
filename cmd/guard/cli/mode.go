package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) enforce() *cobra.Command {
	var r wire.ModeRequest
	cmd := &cobra.Command{
		Use:   "enforce ACCOUNT",
		Short: "Let guard act in an account",
		Long: `Enforce lets guard release and stop what crosses its limits in an account that it
only watched so far. It names what is over a limit already, or soon will be, and
wants --accept with exactly that number; all of it gets fresh notice first.

The word is kept in the ledger, across restarts. It counts until the mode that the
configuration gives the account changes: then the configuration counts again.`,
		Example: `  guard enforce research
  guard enforce research --accept 3`,
		Args: usageArgs(oneAccount), ValidArgsFunction: a.complete(a.accounts),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Account = args[0]
			return a.switched(cmd, r.Accept, func(ctx context.Context, c *client.Client) (wire.ModeAnswer, error) { return c.Enforce(ctx, r) })
		},
	}
	accept(cmd, &r.Accept)
	return cmd
}

func (a *app) observe() *cobra.Command {
	return &cobra.Command{
		Use:   "observe ACCOUNT",
		Short: "Make guard only watch an account",
		Long: `Observe is the brake: guard goes on watching, counting and telling, and releases
and stops nothing in the account any more, whoever asks. What it has told the
provider already is not undone. The word counts like that of guard enforce.`,
		Example:           "  guard observe research",
		Args:              usageArgs(oneAccount),
		ValidArgsFunction: a.complete(a.accounts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.switched(cmd, 0, func(ctx context.Context, c *client.Client) (wire.ModeAnswer, error) {
				return c.Observe(ctx, wire.ModeRequest{Account: args[0]})
			})
		},
	}
}

func (a *app) resume() *cobra.Command {
	var r wire.AcceptRequest
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let guard act again after a restore",
		Long: `After its ledger was restored, woke up on another machine, or was found in use by a
second guard, guard only watches until somebody says resume. It names what limits
end then, and wants --accept with exactly that number; all of it gets fresh notice
first. Before that, look at guard ls: what was registered, extended or held since
the backup is not known any more.`,
		Example: `  guard resume
  guard resume --accept 3`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.switched(cmd, r.Accept, func(ctx context.Context, c *client.Client) (wire.ModeAnswer, error) { return c.Resume(ctx, r) })
		},
	}
	accept(cmd, &r.Accept)
	return cmd
}

func (a *app) reload() *cobra.Command {
	var r wire.AcceptRequest
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make guardd read its configuration again",
		Long: `Reload makes guardd read its configuration again. One that has a mistake, drops an
account which leases still need, or newly ends leases that the present one spares is
refused, and nothing changes. The last is taken with --accept and exactly their
number; they get fresh notice first. SIGHUP is a reload that accepts nothing.`,
		Example: `  guard reload
  guard reload --accept 2`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.switched(cmd, r.Accept, func(ctx context.Context, c *client.Client) (wire.ModeAnswer, error) { return c.Reload(ctx, r) })
		},
	}
	accept(cmd, &r.Accept)
	return cmd
}

func accept(cmd *cobra.Command, n *int) {
	cmd.Flags().IntVar(n, "accept", 0, "`N` leases are doomed by it, and may be")
}

func oneAccount(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("name one account (guard status shows them)")
	}
	return nil
}

// switched makes the call and tells what came of it.
func (a *app) switched(cmd *cobra.Command, accept int, call func(context.Context, *client.Client) (wire.ModeAnswer, error)) error {
	if accept < 0 {
		return usagef("--accept %d: write how many leases may go", accept)
	}
	out, err := ask(a, cmd, "waiting for guardd", call)
	if err != nil {
		return err
	}
	if done, err := a.json(out); done {
		return err
	}
	fmt.Fprintln(a.Out, clean(out.Text))
	for _, d := range out.Doomed {
		fmt.Fprintln(a.Out, "  "+clean(d.ID+": "+d.Why))
	}
	return nil
}
