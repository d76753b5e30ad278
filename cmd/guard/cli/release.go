package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) release() *cobra.Command {
	var r wire.ReleaseRequest
	var match []string
	var yes bool
	cmd := &cobra.Command{
		Use:   "release ACCOUNT/ID... | --all --match KEY=VALUE",
		Short: "End machines for good, now",
		Long: `Release ends machines for good: what is on their own disks is lost. It respects
the same protections as every rule, and asks before it acts where a person sits
at a terminal. The command returns when the order is durable in guardd's ledger;
guard show tells when the end is proven. What is gone already is no error.`,
		Example: `  guard release research/i-0abc
  guard release --all --match team=nlp --dry-run`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			for _, id := range args {
				if err := checkID(id); err != nil {
					return err
				}
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if r.Match, err = tagsOf("match", match); err != nil {
				return err
			}
			switch {
			case len(args) == 0 && !r.All:
				return usagef("release what? Name ACCOUNT/ID, or give --all --match KEY=VALUE")
			case len(args) > 0 && (r.All || len(r.Match) > 0):
				return usagef("name resources or give --all --match, not both")
			case r.All && len(r.Match) == 0:
				return usagef("--all needs --match KEY=VALUE: guard does not release everything there is")
			}
			r.IDs = args
			if a.Ask && !yes && !r.DryRun {
				if ok, err := a.confirm(cmd, r); err != nil || !ok {
					return err
				}
			}
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.ReleaseAnswer, error) { return c.Release(ctx, r) })
			if err != nil {
				return err
			}
			return a.released(out)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.All, "all", false, "every instance that --match names")
	f.StringArrayVar(&match, "match", nil, "KEY=VALUE that its tags must have, compared exactly; may be repeated")
	f.StringVar(&r.Reason, "reason", "", "why, for people to read")
	f.BoolVar(&r.DryRun, "dry-run", false, "say what would be released and do nothing")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// confirm shows what would be lost and asks.
func (a *app) confirm(cmd *cobra.Command, r wire.ReleaseRequest) (bool, error) {
	dry := r
	dry.DryRun = true
	out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.ReleaseAnswer, error) { return c.Release(ctx, dry) })
	if err != nil {
		return false, err
	}
	would := 0
	for _, o := range out.Results {
		fmt.Fprintln(a.Err, clean(o.ID+prefixed(" ", paren(o.Name))+": "+o.Text))
		losses(a.Err, o)
		if o.Outcome == wire.OutcomeWould {
			would++
		}
	}
	if would == 0 {
		return true, nil // nothing to lose: let the daemon answer
	}
	fmt.Fprintf(a.Err, "Release %s for good? [y/N] ", count(would, "machine", "machines"))
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	a.say("nothing released")
	return false, errSilent
}

// losses prints what a release would erase and what it would leave.
func losses(w io.Writer, o wire.ReleaseOutcome) {
	for _, e := range o.Erases {
		fmt.Fprintln(w, "  erases "+clean(e))
	}
	for _, s := range o.Survives {
		fmt.Fprintln(w, "  leaves "+clean(s))
	}
}

func (a *app) released(out wire.ReleaseAnswer) error {
	var failed error
	for _, o := range out.Results {
		if o.Outcome == wire.OutcomeRefused {
			failed = errSilent
		}
	}
	if done, err := a.json(out); done {
		if err != nil {
			return err
		}
		return failed
	}
	if len(out.Results) == 0 {
		a.say("nothing matches")
	}
	for _, o := range out.Results {
		if o.Outcome != wire.OutcomeRefused {
			fmt.Fprintln(a.Out, clean(o.ID+prefixed(" ", paren(o.Name))+": "+o.Text))
			if o.Outcome == wire.OutcomeWould {
				losses(a.Out, o)
			}
			continue
		}
		text := o.Text
		if !strings.Contains(text, o.ID) {
			text = o.ID + ": " + text
		}
		fmt.Fprintln(a.Err, "guard: "+clean(text))
		if o.Error != nil && o.Error.Hint != "" {
			fmt.Fprintln(a.Err, clean(o.Error.Hint))
		}
	}
	return failed
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
