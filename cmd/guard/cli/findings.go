package cli

import (
	"context"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) findings() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "findings",
		Short:   "What is wrong now",
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
				wastes, closed := "", ""
				if x.Wastes != nil {
					wastes = *x.Wastes
				}
				if x.Closed != nil {
					closed = ahead(out.Now, *x.Closed)
				}
				rows = append(rows, []string{x.Rule, x.Subject, ahead(out.Now, x.Since), closed, wastes, x.Title})
			}
			a.table([]column{{title: "finding"}, {title: "about"}, {title: "since", drop: 2}, {title: "closed", drop: 3},
				{title: "per hour", drop: 1, right: true}, {title: "what", least: 20}}, rows)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "closed ones, too")
	return cmd
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
