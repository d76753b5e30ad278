package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) findings() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "findings",
		Short: "What is wrong now, and what money is at stake",
		Long: `Findings shows what is wrong. What is urgent stands first, for only a person
ends it: a blocked release, a cap that is passed, a running machine of unknown
price. Then comes what most is at stake for: of an instance what it has cost
since that began, of a disk, a snapshot and the like what it costs a month.
Amounts of several currencies are compared by exchange, where guardd has
rates; what has no known price stands last, and what is over after that.
With -o json an amount is text, "12.50 USD", and null where it is not known.`,
		Example: "  guard findings\n  guard findings --all -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Findings, error) { return c.Findings(ctx, all) })
			if err != nil {
				return err
			}
			if out.Findings == nil {
				out.Findings = []wire.Finding{}
			}
			if done, err := a.json(out.Findings); done {
				return err
			}
			if len(out.Findings) == 0 {
				a.say("nothing is wrong")
				return nil
			}
			var rows [][]string
			for _, x := range out.Findings {
				wastes, closed, snoozed, stake := "", "", "", "unknown"
				if x.Wastes != nil {
					wastes = *x.Wastes
				}
				if x.AtStake != nil {
					stake = *x.AtStake
				}
				if x.Stake == "a month" {
					stake += " a month"
				}
				if x.Closed != nil {
					closed = ahead(out.Now, *x.Closed)
				}
				if x.Snoozed != nil {
					snoozed = "for " + span(x.Snoozed.Sub(out.Now))
				}
				rows = append(rows, []string{x.Rule, x.Subject, stake, wastes, ahead(out.Now, x.Since), closed, snoozed, x.Title})
			}
			a.table([]column{{title: "finding"}, {title: "about"}, {title: "at stake", right: true}, {title: "per hour", drop: 4, right: true},
				{title: "since", drop: 2}, {title: "closed", drop: 3}, {title: "snoozed", drop: 1}, {title: "what", least: 16}}, rows)
			a.atStake(out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "closed ones, too")
	return cmd
}

// atStake is the total: each thing counts once, however many findings it has.
func (a *app) atStake(out wire.Findings) {
	var parts []string
	for _, x := range []struct {
		sums []string
		all  *string
		word string
	}{{out.SoFar, out.SoFarAll, " so far"}, {out.AMonth, out.AMonthAll, " a month"}} {
		if len(x.sums) == 0 {
			continue
		}
		part := strings.Join(x.sums, " + ") + x.word
		if x.all != nil {
			part += " (together " + *x.all + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		fmt.Fprintln(a.Out, "At stake: "+clean(strings.Join(parts, "; ")))
	}
}

func (a *app) log() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "log [ACCOUNT/ID]",
		Short:   "Who did what, newest first",
		Example: "  guard log research/i-0abc\n  guard log -n 100 -o json",
		Args: usageArgs(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneID(cmd, args)
		}),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 1000 {
				return usagef("-n %d: from 1 to 1000 entries at a time", limit)
			}
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Log, error) { return c.Log(ctx, id, limit) })
			if err != nil {
				return err
			}
			if out.Entries == nil {
				out.Entries = []wire.Entry{}
			}
			if done, err := a.json(out.Entries); done {
				return err
			}
			if len(out.Entries) == 0 {
				a.say("nothing is on record")
				return nil
			}
			var rows [][]string
			for _, e := range out.Entries {
				if id != "" {
					e.Subject = "" // the same on every line, and told by the question
				}
				rows = append(rows, []string{clock(e.At), e.Who, e.Verb, e.Subject, e.Text})
			}
			a.table([]column{{title: "when"}, {title: "who", least: 6, drop: 1}, {title: "did", least: 8, drop: 2}, {title: "what", least: 12},
				{title: "how", least: 20}}, rows)
			return nil
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many entries")
	return cmd
}
