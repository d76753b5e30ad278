package cli

import (
	"context"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) veto() *cobra.Command {
	var r wire.MuteRequest
	cmd := &cobra.Command{
		Use:   "veto ACCOUNT/ID [RULE]",
		Short: "Keep a rule from acting on one resource, until a time",
		Long: `Veto keeps one rule from acting on one resource, registered or not, for two
hours unless told otherwise and for seven days at most. Without a RULE it is the
one whose release is coming. What is due when it ends happens with fresh notice.
A ceiling heeds no veto.`,
		Example: `  guard veto research/i-0abc --reason "one more epoch"
  guard veto research/i-0abc budget_exceeded --for 4h`,
		Args:              usageArgs(idAndRule),
		ValidArgsFunction: a.complete(a.resources, a.vetoable),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.muted(cmd, args, &r, "vetoed", (*client.Client).Veto)
		},
	}
	muteFlags(cmd, &r)
	return cmd
}

func (a *app) unveto() *cobra.Command {
	var r wire.MuteRequest
	return &cobra.Command{
		Use:               "unveto ACCOUNT/ID [RULE]",
		Short:             "End vetoes: of one rule, or all of them",
		Example:           "  guard unveto research/i-0abc",
		Args:              usageArgs(idAndRule),
		ValidArgsFunction: a.complete(a.resources, a.vetoable),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.muted(cmd, args, &r, "ended the veto on", (*client.Client).Unveto)
		},
	}
}

func (a *app) snooze() *cobra.Command {
	var r wire.MuteRequest
	cmd := &cobra.Command{
		Use:   "snooze ACCOUNT/ID",
		Short: "Say nothing that is not urgent about one resource, until a time",
		Long: `Snooze keeps back what guard would say about one resource, registered or not,
for two hours unless told otherwise and for seven days at most. What is urgent,
and each release, is told all the same. It puts nothing off: that is hold or
veto.`,
		Example:           "  guard snooze research/i-0abc --for 8h",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.muted(cmd, args, &r, "snoozed", (*client.Client).Snooze)
		},
	}
	muteFlags(cmd, &r)
	return cmd
}

func (a *app) unsnooze() *cobra.Command {
	var r wire.MuteRequest
	return &cobra.Command{
		Use:               "unsnooze ACCOUNT/ID",
		Short:             "End a snooze",
		Example:           "  guard unsnooze research/i-0abc",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.muted(cmd, args, &r, "ended the snooze on", (*client.Client).Unsnooze)
		},
	}
}

func (a *app) ack() *cobra.Command {
	var r wire.MuteRequest
	cmd := &cobra.Command{
		Use:   "ack ACCOUNT/ID",
		Short: "Say that you see to what is wrong with one resource",
		Long: `Ack says that you see to what is wrong with one resource, for a day unless told
otherwise and for seven days at most: nobody else is called for it meanwhile. It
keeps back no message and puts nothing off: that is snooze, hold or veto. What
goes wrong later calls people again.`,
		Example:           "  guard ack research/i-0abc --reason \"asking the provider\"",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.muted(cmd, args, &r, "acknowledged", (*client.Client).Ack)
		},
	}
	muteFlags(cmd, &r)
	cmd.Flags().Lookup("for").Usage = "how long (default 24h)"
	return cmd
}

func muteFlags(cmd *cobra.Command, r *wire.MuteRequest) {
	cmd.Flags().StringVar(&r.For, "for", "", "how long (default 2h)")
	cmd.Flags().StringVar(&r.Until, "until", "", "until when; instead of --for")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why, for people to read")
}

// idAndRule is the check of what takes a resource and perhaps a rule.
func idAndRule(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		if args[1] == "" {
			return usagef("the RULE is empty: name one, or leave it out")
		}
		args = args[:1]
	}
	return oneID(cmd, args)
}

func (a *app) muted(cmd *cobra.Command, args []string, r *wire.MuteRequest, done string, call func(*client.Client, context.Context, wire.MuteRequest) (wire.Changed, error)) error {
	if err := empties(cmd); err != nil {
		return err
	}
	if r.For != "" && r.Until != "" {
		return usagef("--for and --until contradict each other: give one of them")
	}
	r.ID = args[0]
	if len(args) > 1 {
		r.Rule = args[1]
	}
	return a.changed(cmd, done, func(ctx context.Context, c *client.Client) (wire.Changed, error) { return call(c, ctx, *r) })
}
