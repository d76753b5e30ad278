package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard"
	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) egress() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "egress",
		Short: "What is sent out of instances, and what that costs",
		Long: `Egress shows what is sent and received, as metered by the byte counters of
each box. Bytes are of 1000 to the kB and months are those of UTC, as
providers bill them: guard egress ls, guard egress show research/i-0abc,
guard egress estimate 140GB research/i-0abc.`,
		Example: "  guard egress",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.egressLs(), a.egressShow(), a.egressEstimate())
	return cmd
}

func (a *app) egressLs() *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "The traffic of every instance, the most first",
		Example: "  guard egress ls\n  guard egress ls --account research -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.EgressList, error) { return c.Egress(ctx, account) })
			if err != nil {
				return err
			}
			if out.Items == nil {
				out.Items = []wire.Egress{}
			}
			if done, err := a.json(out.Items); done {
				return err
			}
			if len(out.Items) == 0 {
				a.say("nothing has told of any traffic: it takes guard agent on the box, Prometheus' node-exporter, or a provider that has byte counters")
				return nil
			}
			var rows [][]string
			for _, e := range out.Items {
				rows = append(rows, []string{e.ID, e.Name, e.Owner, guard.ByteText(e.Hour), guard.ByteText(e.Day), guard.ByteText(e.Month),
					orUnknown(e.Cost), orUnknown(e.CostEnd), e.Finding})
			}
			a.table([]column{{title: "id"}, {title: "name", least: 8, drop: 4}, {title: "owner", least: 6, drop: 3}, {title: "hour", drop: 2, right: true},
				{title: "24 hours", drop: 5, right: true}, {title: "month", right: true}, {title: "cost", right: true}, {title: "at its end", right: true},
				{title: "finding", least: 10, drop: 1}}, rows)
			return nil
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "only of this account")
	a.completeFlag(cmd, "account", a.accounts)
	return cmd
}

func orUnknown(s *string) string {
	if s == nil {
		return "unknown"
	}
	return *s
}

func (a *app) egressShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show ACCOUNT/ID",
		Short:             "The traffic of one instance: today, this month, its price",
		Example:           "  guard egress show research/i-0abc",
		Args:              usageArgs(oneID),
		ValidArgsFunction: a.complete(a.resources),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.EgressList, error) {
				return c.EgressOf(ctx, args[0])
			})
			if err != nil || len(out.Items) == 0 {
				return err
			}
			if done, err := a.json(out.Items[0]); done {
				return err
			}
			a.traffic(out.Now, out.Items[0])
			return nil
		},
	}
}

func (a *app) traffic(now time.Time, e wire.Egress) {
	fmt.Fprintln(a.Out, clean(strings.TrimSpace(e.ID+" "+e.Name)))
	f := fields{a, 10}
	f.put("sent", fmt.Sprintf("%s in the last hour, %s in 24 hours, %s this month", guard.ByteText(e.Hour), guard.ByteText(e.Day), guard.ByteText(e.Month)))
	cost := orUnknown(e.Cost)
	if e.CostEnd != nil {
		cost += fmt.Sprintf(" this month; %s at its end, if it goes on like in the last hour (%s)", *e.CostEnd, guard.ByteText(e.MonthEnd))
	}
	f.put("cost", cost)
	f.put("price", egressPrice(e))
	if e.UsualHour != nil && e.UsualDay != nil {
		f.put("usual", fmt.Sprintf("%s an hour, %s a day at most", guard.ByteText(*e.UsualHour), guard.ByteText(*e.UsualDay)))
	} else {
		f.put("usual", "not known yet: it takes a day of traffic that no spike was told of")
	}
	f.put("by hour", chart(e.Hours))
	f.put("metered", fmt.Sprintf("%s sent and %s received since %s, by %s; read %s", guard.ByteText(e.Sent), guard.ByteText(e.Received), clock(e.First), orDash(e.Source), moment(now, e.At)))
	var odd []string
	for _, x := range []struct {
		n    int
		what string
	}{{e.Resets, "began anew"}, {e.Wraps, "ran over"}, {e.Dropped, "told what no line carries"}} {
		if x.n > 0 {
			odd = append(odd, fmt.Sprintf("%s %d×", x.what, x.n))
		}
	}
	if len(odd) > 0 {
		f.put("counters", "they "+strings.Join(odd, ", "))
	}
	for _, j := range e.Doubtful {
		f.put("in doubt", fmt.Sprintf("%s sent and %s received between %s and %s, while nothing was read: no cap has it", guard.ByteText(j.Sent), guard.ByteText(j.Received), clock(j.From), clock(j.To)))
	}
	f.put("finding", e.Finding)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func egressPrice(e wire.Egress) string {
	s := "nobody tells what it costs"
	switch {
	case e.Price != nil:
		s = *e.Price + " per GB"
	case e.UpTo != nil:
		s = "not known; at most " + *e.UpTo + " per GB"
	}
	if e.FreeGB > 0 {
		s += fmt.Sprintf(", after %d GB a month for the whole account (%s left)", e.FreeGB, guard.ByteText(e.FreeLeft))
	}
	return s
}

// chart draws numbers as a line of bars, the highest full.
func chart(ns []uint64) string {
	var most uint64
	for _, n := range ns {
		most = max(most, n)
	}
	if most == 0 {
		return ""
	}
	bars := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range ns {
		i := int(float64(n)/float64(most)*float64(len(bars)-1) + 0.5)
		if n > 0 {
			i = max(i, 1)
		}
		b.WriteRune(bars[i])
	}
	return "|" + b.String() + "| the last 24 hours, " + guard.ByteText(most) + " at most"
}

func (a *app) egressEstimate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "estimate SIZE ACCOUNT/ID",
		Short: "What it would cost to send something out of an instance",
		Long: `Estimate tells what it would cost to send so much out of an instance: what is
left of the free tier, the price, the share of its budget and how long it
takes at the rate of the last hour.`,
		Example: "  guard egress estimate 140GB research/i-0abc\n  guard egress estimate 1.5TB research/i-0abc -o json",
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("write how much and from where: guard egress estimate 140GB research/i-0abc")
			}
			if _, err := guard.ParseBytes(args[0]); err != nil {
				return usagef("%q is no amount of traffic: write 500MB, 140GB or 1.5TB", clean(args[0]))
			}
			return checkID(args[1])
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Estimate, error) {
				return c.Estimate(ctx, args[1], args[0])
			})
			if err != nil {
				return err
			}
			if done, err := a.json(out); done {
				return err
			}
			a.estimated(out)
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if _, arg, ok := strings.Cut(err.Error(), " in -"); ok && arg != "" && strings.Contains("0123456789.", arg[:1]) {
			return usagef("\"-%s\" is no amount of traffic: write 500MB, 140GB or 1.5TB", clean(arg))
		}
		return &usageError{err.Error()}
	})
	return cmd
}

func (a *app) estimated(e wire.Estimate) {
	fmt.Fprintf(a.Out, "%s out of %s\n", guard.ByteText(e.Bytes), clean(e.ID))
	f := fields{a, 10}
	switch {
	case e.Cost != nil:
		f.put("cost", *e.Cost)
	case e.AtMost != nil:
		f.put("cost", "at most "+*e.AtMost)
	case e.Assumed != nil:
		f.put("cost", "not known; it would be "+*e.Assumed+" at a large cloud")
	}
	if e.Price != nil {
		f.put("price", *e.Price+" per GB")
	}
	if e.Free > 0 {
		f.put("free", guard.ByteText(e.Free)+" of it are in the free tier")
	}
	if e.Budget != nil && e.Left != nil {
		line := *e.Left + " of " + *e.Budget + " are left"
		if e.Percent != nil {
			line += fmt.Sprintf("; this is %d %% of that", *e.Percent)
		}
		f.put("budget", line)
	}
	if e.Takes != nil {
		f.put("takes", span(time.Duration(*e.Takes)*time.Second)+" at the rate of the last hour")
	}
	f.put("note", e.Notes...)
}

// trafficLines is an instance's traffic in a line or two, for show.
func trafficLines(e *wire.Egress, it wire.Item) []string {
	if e == nil {
		return nil
	}
	line := guard.ByteText(e.Month) + " sent this month"
	if e.Cost != nil {
		line += ": " + *e.Cost
	}
	lines := []string{line + "; " + egressPrice(*e)}
	if len(it.TrafficSpend) > 0 {
		lines = append(lines, "of what is spent: "+strings.Join(it.TrafficSpend, " and "))
	}
	return lines
}
