package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) register() *cobra.Command {
	var r wire.RegisterRequest
	var e wire.ExpectRequest
	var tags []string
	var self, expect bool
	cmd := &cobra.Command{
		Use:   "register [ACCOUNT/ID | ID | self | ACCOUNT --expect]",
		Short: "Say what a machine is for, who owns it and when it must end",
		Long: `Register says what a machine is for, who owns it, until when and up to how much
money. It prints what the machine costs an hour, when each limit is reached,
what guard then does and what that erases.

The same command again updates the registration and says what changed; what is
left out stays as it is. Durations are 90s, 10h, 2d, 1w2d. A time for --until is
RFC 3339, or a date and time in guardd's time zone.

Without an ID it lists what nobody has registered, and lets a person at a
terminal choose. An ID alone will do where only one account has it. "self" is
the machine that this runs on. --expect registers one that is about to be made:
guard knows it by the tag that is printed, or by its name, and tells people if
it does not come.

Where guardd cannot be reached the registration is kept in a file, and delivered
once guardd is back (guard spool).`,
		Example: `  guard register research/i-0abc --purpose "lora 70b" --ttl 10h --budget 40USD
  guard register lab/i-1 --until "2026-03-09 18:00" --tag team=nlp
  guard register pods/x1 --budget 300CNY --price 12.50CNY/h --on-limit stop
  guard register self --purpose sweep --ttl 1d
  guard register lab --expect --name trainer-7 --within 30m --ttl 10h
  guard register`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("one ACCOUNT/ID at a time, not %d", len(args))
			}
			return nil
		}),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if expect {
				return a.complete(a.accounts)(cmd, args, typed)
			}
			if out, how := a.complete(a.unclaimed)(cmd, args, typed); len(out) > 0 || typed == "" {
				return out, how
			}
			return a.complete(a.alone)(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if r.Tags, err = tagsOf("tag", tags); err != nil {
				return err
			}
			if err := empties(cmd); err != nil {
				return err
			}
			if r.ID = strings.Join(args, ""); r.ID == "self" {
				self, r.ID = true, ""
			}
			switch {
			case expect && (self || r.ID == "" || strings.Contains(r.ID, "/")):
				return usagef("--expect names the account alone, such as guard register lab --expect --name trainer-7")
			case expect:
				r.Expect = &e
			case e != wire.ExpectRequest{}:
				return usagef("--name and --within go with --expect")
			case self && r.ID != "":
				return usagef("--self is the machine that this runs on: leave out %q", clean(r.ID))
			case self:
				if r.ID, err = a.whereabouts(cmd, "guard register"); err != nil {
					return err
				}
			case r.ID == "":
				if done, err := a.pick(cmd, &r); done || err != nil {
					return err
				}
			default:
				if r.ID, err = a.whole(cmd, r.ID); err != nil {
					return err
				}
			}
			return a.submit(cmd, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Purpose, "purpose", "", "what it is for, for people to read")
	f.StringVar(&r.Owner, "owner", "", "whose it is (default: you)")
	f.StringVar(&r.TTL, "ttl", "", "how long from now: 90s, 10h, 2d, 1w2d")
	f.StringVar(&r.Until, "until", "", "until when; instead of --ttl")
	f.StringVar(&r.Budget, "budget", "", "the most it may cost: 40USD, 2400CNY")
	f.StringVar(&r.Price, "price", "", "the whole machine's, where nobody tells: 2.50USD/h")
	f.StringArrayVar(&tags, "tag", nil, "KEY=VALUE, may be repeated")
	f.StringVar(&r.OnLimit, "on-limit", "", "release, stop or alert")
	f.StringVar(&r.Grace, "grace", "", "how long before a limit people are told, at least")
	f.BoolVar(&r.NoGPUOK, "no-gpu-ok", false, "it has no GPU, and guard may release it")
	f.BoolVar(&r.AllowUnprotect, "allow-unprotect", false, "guard may lift the provider's protection, where its\nconfiguration allows that too")
	f.BoolVar(&r.Reassign, "reassign", false, "take over what somebody else has registered")
	f.BoolVar(&self, "self", false, "the machine that this runs on")
	f.BoolVar(&expect, "expect", false, "a machine that is about to be made")
	f.StringVar(&e.Name, "name", "", "with --expect: the name that it will have")
	f.StringVar(&e.Within, "within", "", "with --expect: how long it may take (default 30m)")
	a.completeFlag(cmd, "owner", a.owners)
	a.completeFlag(cmd, "on-limit", words("release", "stop", "alert"))
	return cmd
}

// whole is the ACCOUNT/ID of an ID that may stand alone, where only one account has an
// instance of it. One that was just made may not be known yet.
func (a *app) whole(cmd *cobra.Command, id string) (string, error) {
	if strings.Contains(id, "/") {
		return id, checkID(id)
	}
	name := clean(id)
	list, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.List, error) {
		return c.List(ctx, client.Filter{Kind: "instance"})
	})
	if err != nil {
		a.say(fmt.Sprintf("which account %s is in only guardd knows. To do without, name it: guard register ACCOUNT/%s", name, name))
		return "", err
	}
	var found []string
	for _, it := range list.Items {
		if it.ID == id && it.EndedAt == nil && it.Expect == nil {
			found = append(found, it.Account+"/"+it.ID)
		}
	}
	switch len(found) {
	case 0:
		return a.only(cmd, id)
	case 1:
		return found[0], nil
	}
	return "", usagef("%s could be %s: name the one that you mean", name, strings.Join(found, " or "))
}

// only is an ID of no instance that guard knows, in the one account that there is.
func (a *app) only(cmd *cobra.Command, id string) (string, error) {
	status, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Status, error) { return c.Status(ctx) })
	if err == nil && len(status.Accounts) == 1 {
		return status.Accounts[0].Name + "/" + id, nil
	}
	all, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.List, error) {
		return c.List(ctx, client.Filter{All: true})
	})
	if i := slices.IndexFunc(all.Items, func(it wire.Item) bool { return it.ID == id }); err == nil && i >= 0 {
		switch it := all.Items[i]; {
		case it.Kind != "instance":
			return "", usagef("%s/%s is of kind %s. Name the instance; what hangs on it counts to its lease", clean(it.Account), clean(id), clean(it.Kind))
		case it.EndedAt != nil:
			return "", usagef("%s/%s is gone since %s", clean(it.Account), clean(id), clock(*it.EndedAt))
		}
	}
	return "", usagef("guard knows of no instance %s. One that was just made is found as ACCOUNT/%s", clean(id), clean(id))
}

// empties refuses flags that are there with nothing in them: a script's unset
// variable must not become a default.
func empties(cmd *cobra.Command) error {
	for _, name := range []string{"purpose", "owner", "ttl", "until", "budget", "price", "on-limit", "grace", "by", "for", "name", "within"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// submit sends a registration. One that does not reach the daemon is kept.
func (a *app) submit(cmd *cobra.Command, r wire.RegisterRequest) error {
	typed := time.Now()
	if a.Spool && r.Expect == nil {
		r.Key = newKey()
	}
	doing := "reading " + clean(r.ID) + " at the provider"
	out, err := ask(a, cmd, doing, func(ctx context.Context, c *client.Client) (wire.Registered, error) { return c.Register(ctx, r) })
	if nobody := (*client.UnreachableError)(nil); errors.As(err, &nobody) && r.Key != "" {
		return a.keep(r, typed, nobody)
	}
	if err != nil {
		return err
	}
	if out.Item.Mode == "observe" {
		a.loud("OBSERVE: guard will not release anything in account " + out.Item.Account + "; it only tells. (mode: enforce in guardd's configuration changes that)")
	}
	warnings := out.Warnings
	if other := otherUnit(out); other != "" && r.Budget != "" {
		warnings = append(warnings, other)
	}
	for _, w := range warnings {
		a.loud("WARNING: " + w)
	}
	if done, err := a.json(out); done {
		return err
	}
	a.registered(out)
	return nil
}

func (a *app) registered(r wire.Registered) {
	it := r.Item
	verb := map[string]string{"created": "registered", "updated": "updated", "unchanged": "nothing changed:"}[r.Outcome]
	if it.Expect != nil && r.Outcome == "created" {
		verb = "expected:"
	}
	fmt.Fprintf(a.Out, "%s %s\n", verb, clean(named(it)))
	f := fields{a, 9}
	for _, c := range r.Changes {
		f.put("changed", c.Field+": "+none(c.From)+" → "+none(c.To))
	}
	f.put("purpose", it.Purpose)
	f.put("owner", it.Owner)
	if it.Expect != nil {
		a.expected(f, r.Now, it)
	} else {
		f.put("price", price(it))
		f.put("spent", spent(it))
	}
	a.limits(f, r.Now, r.Limits, it.Budget)
	f.put("erases", r.Erases...)
	f.put("survives", r.Survives...)
	if len(r.Defaults) > 0 {
		f.put("defaults", strings.Join(r.Defaults, ", ")+" (not given, so guardd's own)")
	}
	f.put("note", r.Notes...)
}

// expected prints how a machine that is about to be made will be known.
func (a *app) expected(f fields, now time.Time, it wire.Item) {
	f.put("tag", it.Expect.Tag+" (put it on the machine when you make it)")
	how := "when a machine with that tag appears, this registration is taken for it"
	if it.Expect.Name != "" {
		how += fmt.Sprintf("; without the tag, one named %q that is made in that time", it.Expect.Name)
	}
	f.put("then", how)
	f.put("missing", "if none has come by "+moment(now, it.Expect.Until)+", people are told (expected_missing)")
	f.put("cancel", "guard release "+it.Account+"/"+it.ID)
}
