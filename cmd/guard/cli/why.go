package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) why() *cobra.Command {
	return &cobra.Command{
		Use:               "why ACCOUNT/ID",
		Short:             "What guard decides about one resource, and on which facts",
		Example:           "  guard why research/i-0abc",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Why, error) { return c.Why(ctx, args[0]) })
			if err != nil {
				return err
			}
			if done, err := a.json(out); done {
				return err
			}
			fmt.Fprintln(a.Out, clean(out.ID))
			f := fields{a, 0}
			for _, l := range out.Lines {
				f.put("", l)
			}
			if len(out.Facts) == 0 {
				return nil
			}
			if len(out.Lines) > 0 {
				fmt.Fprintln(a.Out)
			}
			var rows [][]string
			for _, x := range out.Facts {
				age := ""
				if x.At != nil {
					age = ahead(out.Now, *x.At)
				}
				rows = append(rows, []string{x.Name, x.Value, x.Source, age})
			}
			a.table([]column{{title: "fact"}, {title: "value", least: 16}, {title: "source", least: 8, drop: 1}, {title: "true", drop: 2}}, rows)
			return nil
		},
	}
}
