package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) extend() *cobra.Command {
	var r wire.ExtendRequest
	cmd := &cobra.Command{
		Use:   "extend ACCOUNT/ID [--by LENGTH | --until TIME] [--budget AMOUNT]",
		Short: "Move the limits of a lease",
		Long: `Extend moves the expiry of a lease, its budget, or both. --by counts from the
present expiry (from now, where that has passed); --budget +500CNY adds to the
cap, --budget 3000CNY sets it.`,
		Example: `  guard extend research/i-0abc --by 2h
  guard extend lab/i-1 --until "2026-03-09 18:00" --budget +500CNY`,
		Args: usageArgs(oneID), ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := empties(cmd); err != nil {
				return err
			}
			switch {
			case r.By != "" && r.Until != "":
				return usagef("--by and --until contradict each other: give one of them")
			case r.By == "" && r.Until == "" && r.Budget == "":
				return usagef("extend it to what? Give --by 2h, --until TIME or --budget +500CNY")
			}
			r.ID = args[0]
			return a.changed(cmd, "extended", func(ctx context.Context, c *client.Client) (wire.Changed, error) { return c.Extend(ctx, r) })
		},
	}
	cmd.Flags().StringVar(&r.By, "by", "", "how much longer: 90m, 2h, 1d")
	cmd.Flags().StringVar(&r.Until, "until", "", "until when; instead of --by")
	cmd.Flags().StringVar(&r.Budget, "budget", "", "+500CNY more, or 3000CNY instead")
	return cmd
}

func (a *app) hold() *cobra.Command {
	var r wire.HoldRequest
	cmd := &cobra.Command{
		Use:   "hold ACCOUNT/ID",
		Short: "Put off what limits would do, until a time",
		Long: `Hold puts off what the limits of a lease would do. It ends by itself, after two
hours unless told otherwise; what is due then happens with fresh notice.`,
		Example:           `  guard hold research/i-0abc --for 4h --reason "demo at 15:00"`,
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := empties(cmd); err != nil {
				return err
			}
			if r.For != "" && r.Until != "" {
				return usagef("--for and --until contradict each other: give one of them")
			}
			r.ID = args[0]
			return a.changed(cmd, "held", func(ctx context.Context, c *client.Client) (wire.Changed, error) { return c.Hold(ctx, r) })
		},
	}
	cmd.Flags().StringVar(&r.For, "for", "", "how long (default 2h)")
	cmd.Flags().StringVar(&r.Until, "until", "", "until when; instead of --for")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why, for people to read")
	return cmd
}

func (a *app) unhold() *cobra.Command {
	return a.simple("unhold ACCOUNT/ID", "End all holds on a lease", "unheld", (*client.Client).Unhold)
}

func (a *app) protect() *cobra.Command {
	return a.simple("protect ACCOUNT/ID", "Keep guard from ever touching a registered resource", "protected", (*client.Client).Protect)
}

func (a *app) unprotect() *cobra.Command {
	return a.simple("unprotect ACCOUNT/ID", "Let limits act again", "unprotected", (*client.Client).Unprotect)
}

// simple is a verb that needs nothing but a resource.
func (a *app) simple(use, short, done string, call func(*client.Client, context.Context, string) (wire.Changed, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: "  guard " + use[:len(use)-len("ACCOUNT/ID")] + "research/i-0abc",
		Args: usageArgs(oneID), ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changed(cmd, done, func(ctx context.Context, c *client.Client) (wire.Changed, error) { return call(c, ctx, args[0]) })
		},
	}
}

// changed runs a verb that changes a lease and prints what it did.
func (a *app) changed(cmd *cobra.Command, verb string, call func(context.Context, *client.Client) (wire.Changed, error)) error {
	out, err := ask(a, cmd, "waiting for guardd", call)
	if err != nil {
		return err
	}
	if done, err := a.json(out); done {
		return err
	}
	if len(out.Changes) == 0 {
		verb = "nothing changed:"
	}
	fmt.Fprintf(a.Out, "%s %s\n", verb, clean(named(out.Item)))
	f := fields{a, 9}
	for _, c := range out.Changes {
		f.put("changed", c.Field+": "+none(c.From)+" → "+none(c.To))
	}
	a.limits(f, out.Now, out.Limits, out.Item.Budget)
	f.put("note", out.Notes...)
	return nil
}
