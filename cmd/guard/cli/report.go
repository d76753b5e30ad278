package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"guard"
	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) report() *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "The daily digest, as of now",
		Long: `Report tells what the daily digest of the channels tells, as of now: what
yesterday cost by team (the tag team of a lease) and purpose, what is open and
what it costs per hour, what ends today, what guard ended yesterday and what
that saves, whom to ask, and how guard itself does. A day is a calendar day in
guard's time zone. Amounts of several currencies are never added up without
exchange rates. With -o json amounts have all their digits.`,
		Example: "  guard report\n  guard report --lang zh\n  guard report -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Report, error) {
				return c.Report(ctx, guard.Lang(lang))
			})
			if err != nil {
				return err
			}
			if done, err := a.json(out); done {
				return err
			}
			for _, line := range append([]string{out.Title}, out.Lines...) {
				for i, part := range a.wrapped(clean(line), 2) {
					fmt.Fprintln(a.Out, strings.Repeat(" ", 2*min(i, 1))+part)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "the language: en or zh")
	return cmd
}
