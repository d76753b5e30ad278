package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) register() *cobra.Command {
	var r wire.RegisterRequest
	var tags []string
	cmd := &cobra.Command{
		Use:   "register ACCOUNT/ID",
		Short: "Say what a machine is for, who owns it and when it must end",
		Long: `Register says what a machine is for, who owns it, until when and up to how much
money. It prints what the machine costs an hour, when each limit is reached,
what guard then does and what that erases.

The same command again updates the registration and says what changed; what is
left out stays as it is. Durations are 90s, 10h, 2d, 1w2d. A time for --until is
RFC 3339, or a date and time in guardd's time zone.`,
		Example: `  guard register research/i-0abc --purpose "lora 70b" --ttl 10h --budget 40USD
  guard register lab/i-1 --purpose eval --until "2026-03-09 18:00" --tag team=nlp
  guard register pods/x1 --purpose sweep --budget 300CNY --price 12.50CNY/h --on-limit stop`,
		Args: usageArgs(oneID),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if r.Tags, err = tagsOf("tag", tags); err != nil {
				return err
			}
			if err := empties(cmd); err != nil {
				return err
			}
			r.ID = args[0]
			out, err := ask(a, cmd, "reading "+clean(r.ID)+" at the provider",
				func(ctx context.Context, c *client.Client) (wire.Registered, error) { return c.Register(ctx, r) })
			if err != nil {
				return err
			}
			if out.Item.Mode == "observe" {
				a.loud("OBSERVE: guard will not release anything in account " + out.Item.Account + "; it only tells. (mode: enforce in guardd's configuration changes that)")
			}
			for _, w := range out.Warnings {
				a.loud("WARNING: " + w)
			}
			if done, err := a.json(out); done {
				return err
			}
			a.registered(out)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Purpose, "purpose", "", "what it is for, for people to read")
	f.StringVar(&r.Owner, "owner", "", "whose it is (default: you)")
	f.StringVar(&r.TTL, "ttl", "", "how long from now: 90s, 10h, 2d, 1w2d")
	f.StringVar(&r.Until, "until", "", "until when; instead of --ttl")
	f.StringVar(&r.Budget, "budget", "", "the most it may cost, with currency: 40USD, 2400CNY")
	f.StringVar(&r.Price, "price", "", "the whole machine's price, where the provider does not tell: 2.50USD/h")
	f.StringArrayVar(&tags, "tag", nil, "KEY=VALUE, may be repeated")
	f.StringVar(&r.OnLimit, "on-limit", "", "release, stop or alert")
	f.StringVar(&r.Grace, "grace", "", "how long before a limit people are told, at least")
	f.BoolVar(&r.NoGPUOK, "no-gpu-ok", false, "it has no GPU, and guard may release it all the same")
	f.BoolVar(&r.AllowUnprotect, "allow-unprotect", false, "guard may lift the provider's protection (only where its configuration allows too)")
	f.BoolVar(&r.Reassign, "reassign", false, "take over what somebody else has registered")
	return cmd
}

// empties refuses flags that are there with nothing in them: a script's unset
// variable must not become a default.
func empties(cmd *cobra.Command) error {
	for _, name := range []string{"purpose", "owner", "ttl", "until", "budget", "price", "on-limit", "grace", "by", "for"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

func (a *app) registered(r wire.Registered) {
	it := r.Item
	verb := map[string]string{"created": "registered", "updated": "updated", "unchanged": "nothing changed:"}[r.Outcome]
	fmt.Fprintf(a.Out, "%s %s\n", verb, clean(named(it)))
	f := fields{a, 9}
	for _, c := range r.Changes {
		f.put("changed", c.Field+": "+none(c.From)+" → "+none(c.To))
	}
	f.put("purpose", it.Purpose)
	f.put("owner", it.Owner)
	f.put("price", price(it))
	f.put("spent", spent(it))
	a.limits(f, r.Now, r.Limits, it.Budget)
	f.put("erases", r.Erases...)
	f.put("survives", r.Survives...)
	if len(r.Defaults) > 0 {
		f.put("defaults", strings.Join(r.Defaults, ", ")+" (not given, so guardd's own)")
	}
	f.put("note", r.Notes...)
}

// limits prints when each limit is reached and what then happens.
func (a *app) limits(f fields, now time.Time, limits []wire.Limit, budget *string) {
	for _, l := range limits {
		label := l.Reason
		s := ""
		if l.Reason == "budget" && budget != nil {
			s = *budget + ", "
		}
		switch {
		case l.Reached == nil:
			s += "not known when"
		default:
			s += moment(now, *l.Reached)
		}
		if l.Text != "" {
			s += ": " + l.Text
		}
		f.put(label, s)
	}
}

func named(it wire.Item) string {
	s := it.Account + "/" + it.ID
	if it.Name != "" && it.Name != it.ID {
		s += " (" + it.Name + ")"
	}
	return s
}

func price(it wire.Item) string {
	if it.Rate == nil {
		return "unknown"
	}
	s := *it.Rate + " per hour, quoted for the whole of it"
	if it.RateQuote != *it.Rate+" per hour" {
		s = *it.Rate + " per hour for the whole of it, quoted as " + it.RateQuote
	}
	if it.RateSource != "" {
		s += " (" + it.RateSource + ")"
	}
	return s
}

func spent(it wire.Item) string {
	s := "unknown"
	if it.Spend != nil {
		s = *it.Spend
		if it.SpendAtLeast {
			s = "at least " + s
		}
	}
	for _, o := range it.OtherSpend {
		s += " and " + o
	}
	if it.CreatedAt != nil {
		s += " since it began at " + clock(*it.CreatedAt)
	}
	return s
}

func none(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
