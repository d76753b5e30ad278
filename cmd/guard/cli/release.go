package cli

import (
	"cmp"
	"context"
	"errors"
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
guard show tells when the end is proven. What is gone already is no error. Of a
machine that is only expected it ends the waiting.

In an account where nobody but a person can end a machine guard asks people to.
--confirm-gone is your word that it is done: it ends the count, and the receipt
has your name for its proof.

--all --match shows its plan first, what goes and what is spared and why, and
does exactly that: where anything else would go by then, nothing is ordered. It
fails where all that matches is spared. Tags are compared exactly; what has none
matches nothing.`,
		Example: `  guard release research/i-0abc
  guard release --all --match team=nlp --dry-run
  guard release desk/autodl-3f2a --confirm-gone`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			for _, id := range args {
				if err := checkID(id); err != nil {
					return err
				}
			}
			return nil
		}),
		ValidArgsFunction: a.completeMany(a.resources),
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
			case r.All && r.ConfirmGone:
				return usagef("--confirm-gone is about what is named: leave out --all")
			case r.All && len(r.Match) == 0:
				return usagef("--all needs --match KEY=VALUE: guard does not release everything there is")
			}
			r.IDs = args
			if !r.DryRun && !r.ConfirmGone && (r.All || a.Ask && !yes) {
				if ok, err := a.plan(cmd, &r, a.Ask && !yes); err != nil || !ok {
					return err
				}
			}
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.ReleaseAnswer, error) { return c.Release(ctx, r) })
			if err != nil {
				return err
			}
			return a.released(out, r)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.All, "all", false, "every instance that --match names")
	f.StringArrayVar(&match, "match", nil, "KEY=VALUE that its tags must have; may be repeated")
	f.StringVar(&r.Reason, "reason", "", "why, for people to read")
	f.BoolVar(&r.DryRun, "dry-run", false, "say what would be released and do nothing")
	f.BoolVar(&r.ConfirmGone, "confirm-gone", false, "they are gone: you know, and nobody else can tell")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// plan shows what would go, asks if there is somebody to ask, and binds the order to
// exactly that.
func (a *app) plan(cmd *cobra.Command, r *wire.ReleaseRequest, confirm bool) (bool, error) {
	dry := *r
	dry.DryRun = true
	out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.ReleaseAnswer, error) { return c.Release(ctx, dry) })
	if err != nil {
		return false, err
	}
	for _, o := range out.Results {
		if o.Outcome == wire.OutcomeWould {
			r.Goes = append(r.Goes, o.ID)
		}
	}
	r.Plan = out.Plan
	if len(r.Goes) == 0 {
		return true, nil // nothing to lose: let the daemon answer
	}
	if confirm || a.output != "json" {
		a.planned(a.Err, out)
	}
	if !confirm {
		return true, nil
	}
	line, err := a.question(cmd, fmt.Sprintf("Release %s for good? [y/N] ", count(len(r.Goes), "machine", "machines")))
	if err != nil && !errors.Is(err, errSilent) {
		return false, err
	}
	switch strings.ToLower(line) {
	case "y", "yes":
		return true, nil
	}
	a.say("nothing released")
	return false, errSilent
}

// planned prints what goes, then what is spared, then what that saves.
func (a *app) planned(w io.Writer, out wire.ReleaseAnswer) {
	spared := func(o wire.ReleaseOutcome) bool { return o.Outcome != wire.OutcomeWould }
	for _, o := range out.Results {
		if !spared(o) {
			fmt.Fprintln(w, clean(o.ID+prefixed(" ", paren(o.Name))+": "+o.Text))
			losses(w, o)
		}
	}
	for _, o := range out.Results {
		if spared(o) {
			fmt.Fprintln(w, clean(o.ID+prefixed(" ", paren(o.Name))+": spared: "+o.Text))
		}
	}
	saves := strings.Join(out.Saves, " and ")
	switch {
	case saves != "" && out.NoPrice > 0:
		saves = fmt.Sprintf("saves %s per hour, and what %d of unknown price cost", saves, out.NoPrice)
	case saves != "":
		saves = "saves " + saves + " per hour"
	}
	if saves != "" {
		fmt.Fprintln(w, clean(saves))
	}
	for _, n := range out.Notes {
		fmt.Fprintln(w, clean("note: "+n))
	}
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

func (a *app) released(out wire.ReleaseAnswer, r wire.ReleaseRequest) error {
	var failed error
	refused := 0
	for _, o := range out.Results {
		if o.Outcome == wire.OutcomeRefused {
			refused++
		}
	}
	// What matches and is spared is as it should be, but for all of it.
	if refused > 0 && (!r.All || refused == len(out.Results)) {
		failed = errSilent
	}
	if done, err := a.json(out); done {
		return cmp.Or(err, failed)
	}
	if len(out.Results) == 0 {
		a.say("nothing matches " + tagList(r.Match))
		for _, n := range out.Notes {
			a.say("note: " + n)
		}
	}
	if r.DryRun && r.All {
		a.planned(a.Out, out)
		return failed
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
		if r.All && failed == nil {
			a.say("spared: " + text)
			continue
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
