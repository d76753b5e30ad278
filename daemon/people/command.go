package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
)

// mostRows bounds a list; the channel cuts what is too long for it, too.
const mostRows = 40

// command carries out what was typed after /guard.
func (v *visit) command(ctx context.Context) wire.ClickAnswer {
	args, err := words(v.click.Command)
	if err != nil {
		return v.tell("guard cannot read that: %s", err.Error())
	}
	verb := "help"
	if len(args) > 0 {
		verb = strings.ToLower(args[0])
	}
	switch verb {
	case "ls", "mine":
		return v.list(ctx, verb == "mine", args[1:])
	case "register":
		return v.typed(ctx, args[1:])
	case "report":
		return v.report(ctx)
	case "help":
		return v.help()
	}
	out := v.help()
	out.Done, out.Text = false, v.say("guard does not know %s here. It knows:", clip(verb))
	return out
}

func (v *visit) help() wire.ClickAnswer {
	return wire.ClickAnswer{Done: true, Aligned: true, Text: v.say("What guard does here; the command line does more (guard help)."), Lines: columns([][]string{
		{"/guard ls", v.say("the machines, what they cost and when they end")},
		{"/guard mine", v.say("those that are registered to you")},
		{"/guard register", v.say("asks for a machine, its purpose, life and budget")},
		{`/guard register ACCOUNT/ID --purpose "lora 70b" --ttl 10h --budget 2400CNY`, ""},
		{"/guard report", v.say("what was spent and released, what ends today, what is wrong")},
	})}
}

// list is the machines that live, of everybody or of whoever asks.
func (v *visit) list(ctx context.Context, mine bool, rest []string) wire.ClickAnswer {
	if len(rest) > 0 {
		return v.tell("guard does not know %s here. It knows:", clip(strings.Join(rest, " ")))
	}
	all, err := v.As(v.who, v.click.Channel, v.click.User, "").Live(ctx)
	if err != nil {
		return v.failed(ctx, err, nil, "")
	}
	items := slices.DeleteFunc(all.Items, func(i wire.Item) bool {
		return i.Kind != string(guard.Instance) || mine && i.Owner != v.who.Name
	})
	if len(items) == 0 && mine {
		return wire.ClickAnswer{Done: true, Text: v.say("Nothing that lives is registered to you (%s).", v.who.Name)}
	}
	if len(items) == 0 {
		return wire.ClickAnswer{Done: true, Text: v.say("guard knows of no machine that lives.")}
	}
	slices.SortStableFunc(items, func(a, b wire.Item) int { return sooner(a.Deadline, b.Deadline) })
	rows := [][]string{{v.say("MACHINE"), v.say("PURPOSE"), v.say("OWNER"), v.say("STATE"), v.say("AN HOUR"), v.say("SPENT"), v.say("ENDS")}}
	for _, i := range items[:min(len(items), mostRows)] {
		rows = append(rows, []string{i.Account + "/" + i.ID, cmp.Or(i.Purpose, i.Name), cmp.Or(i.Owner, v.say("nobody")), i.State,
			v.amount(i.Rate), v.amount(i.Spend), v.ends(all.Now, i)})
	}
	out := wire.ClickAnswer{Done: true, Aligned: true, Text: v.say("%d machines; what ends first comes first.", len(items)), Lines: columns(rows)}
	if p := all.Paused; p != nil {
		out.Text += " " + v.say("guard acts nowhere: %s.", p.Why)
	}
	if n := len(items) - mostRows; n > 0 {
		out.Lines = append(out.Lines, v.say("and %d more: guard ls", n))
	}
	return out
}

// sooner orders times, those that there are first.
func sooner(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// amount is an amount as the API writes it; what is not known is never zero.
func (v *visit) amount(s *string) string {
	if s == nil {
		return v.say("unknown")
	}
	return *s
}

// ends is when guard acts on an item next, from now.
func (v *visit) ends(now time.Time, i wire.Item) string {
	switch {
	case i.Protected:
		return v.say("protected")
	case i.Deadline == nil:
		return "-"
	}
	left := i.Deadline.Sub(now).Round(time.Minute)
	if left <= 0 {
		return v.say("now (%s)", i.DeadlineReason)
	}
	return fmt.Sprintf("%s (%s)", span(left), i.DeadlineReason)
}

// typed registers what was typed, or asks for it where only a machine was.
func (v *visit) typed(ctx context.Context, args []string) wire.ClickAnswer {
	var r wire.RegisterRequest
	fields := map[string]*string{"--purpose": &r.Purpose, "--ttl": &r.TTL, "--until": &r.Until, "--budget": &r.Budget, "--owner": &r.Owner}
	flags := 0
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		to := fields[name]
		switch {
		case to == nil && r.ID == "" && !strings.HasPrefix(args[0], "-"):
			r.ID = args[0]
			args = args[1:]
			continue
		case to == nil:
			return v.tell("guard does not know %s here. It reads: register ACCOUNT/ID --purpose TEXT --ttl 10h --budget 2400CNY --until TIME --owner NAME", clip(args[0]))
		case joined:
			*to, args = value, args[1:]
		case len(args) < 2:
			return v.tell("%s wants a value, such as %s 10h.", name, name)
		default:
			*to, args = args[1], args[2:]
		}
		flags++
	}
	v.click.Offer, v.click.Key = string(guard.ClickRegister), r.ID
	if flags == 0 {
		return v.registered(ctx, r.ID, guard.ResourceID{}, "")
	}
	if r.ID == "" {
		return v.tell("Register which machine? Write register ACCOUNT/ID first; /guard ls shows them.")
	}
	return v.register(ctx, r, nil, "")
}

// report is the daily digest as of now.
func (v *visit) report(ctx context.Context) wire.ClickAnswer {
	out, err := v.As(v.who, v.click.Channel, v.click.User, "").Report(ctx, v.lang)
	if err != nil {
		return v.failed(ctx, err, nil, "")
	}
	return wire.ClickAnswer{Done: true, Text: out.Title, Lines: out.Lines}
}
