package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Whether guard sees and does everything, and what needs a person",
		Long: `Status says what guard sees, what it costs an hour and what needs a person:
blocked releases, messages that no channel has taken, accounts that cannot be
reached or are somebody else's, scopes that cannot be listed, loops that stand
still, a disk that fills up. It exits with 1 when there is any, with 0 when all
is well. It asks nobody outside; guard doctor does.`,
		Example: "  guard status || echo look at it",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Status, error) { return c.Status(ctx) })
			if err != nil {
				return err
			}
			var needs error
			if len(out.Attention) > 0 {
				needs = errSilent
			}
			if done, err := a.json(out); done {
				if err != nil {
					return err
				}
				return needs
			}
			a.stands(out)
			return needs
		},
	}
}

func (a *app) stands(s wire.Status) {
	f := fields{a, 9}
	switch unread := unreadable(s.Accounts); {
	case len(s.Attention) > 0:
		fmt.Fprintln(a.Out, count(len(s.Attention), "thing needs", "things need")+" a person")
		for _, x := range s.Attention {
			f.put("!", x)
		}
	case len(unread) > 0:
		fmt.Fprintln(a.Out, "nothing needs a person yet, but guard cannot see "+clean(strings.Join(unread, ", ")))
	default:
		fmt.Fprintln(a.Out, "all is well")
	}
	c := s.Counts
	f.put("watches", count(c.Instances, "instance", "instances")+fmt.Sprintf(" (%d registered, %d not)", c.Registered, c.Unregistered))
	burn := strings.Join(s.Burn, " and ")
	if burn == "" {
		burn = "nothing known"
	} else {
		burn += " per hour"
	}
	if c.NoPrice > 0 {
		burn += fmt.Sprintf(", and %d at an unknown price", c.NoPrice)
	}
	f.put("costs", burn)
	for i, x := range s.Stopped {
		if i == mostStopped {
			f.put("stopped", fmt.Sprintf("and %d more: guard findings", len(s.Stopped)-i))
			break
		}
		f.put("stopped", x)
	}
	f.put("open", fmt.Sprintf("%s, %s (%d blocked), %s to deliver", count(c.Findings, "finding", "findings"),
		count(c.Releases, "release", "releases"), c.Blocked, count(c.Pending, "message", "messages")))
	for _, x := range s.Accounts {
		line := x.Name + " (" + x.Provider + "), " + x.Mode + ", " + x.State
		switch {
		case x.Polled == nil:
		case x.State == blind:
			line += ", asked " + ahead(s.Now, *x.Polled)
		default:
			line += ", read " + ahead(s.Now, *x.Polled)
		}
		line += prefixed(", ", left(s.Now, x.Balance))
		if x.Self != "" {
			line += ", guard itself runs on " + x.Self
		}
		if len(x.Blind) > 0 {
			line += ", cannot list " + strings.Join(x.Blind, ", ")
		}
		line += reason(x.Error)
		if x.BillError != "" {
			line += ", its bill cannot be read" + reason(x.BillError)
		}
		f.put("account", line)
	}
	f.put("tells", a.tells(s))
	f.put("loops", inTime(s.Loops))
	if s.Storage != nil {
		f.put("ledger", room(s.Now, *s.Storage))
	}
	f.put("clock", clock(s.Now)+prefixed(", ", s.TimeZone))
	f.put("version", s.Version)
}

// blind is an account that answers, and does not tell all that runs in it.
const blind = "blind"

// unreadable are the accounts of which guard does not see, at the moment, what runs in them
// or in a part of them. A person is called when that lasts; that all is well nobody should
// read before.
func unreadable(accounts []wire.Account) []string {
	var out []string
	for _, x := range accounts {
		switch x.State {
		case blind:
			out = append(out, x.Name+enclosed(x.Blind))
		case "unreachable", "mismatch":
			out = append(out, x.Name)
		}
	}
	return out
}

// left is what is left in an account that pays ahead, and until when; "" for another.
func left(now time.Time, b *wire.Balance) string {
	switch {
	case b == nil:
		return ""
	case b.Left == "":
		return "balance not known" + reason(b.Error)
	}
	text := b.Left + " left"
	switch {
	case b.UsedUp:
		text += ", used up"
	case b.Empty != nil:
		text += ", empty " + soon(now, *b.Empty)
		if b.AtLatest {
			text += " at the latest"
		}
	}
	if !b.Known && b.At != nil {
		text += " by the reading of " + ahead(now, *b.At) + reason(b.Error)
	}
	return text
}

// soon is a moment as people say it: Tue 03:40, with the date where it is six days away or
// more.
func soon(now, t time.Time) string {
	if t.Sub(now).Abs() < 6*24*time.Hour {
		return t.Format("Mon 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// mostStopped is how many of those that do not run and go on billing are shown.
const mostStopped = 5

// tells is who is told, and what waits for each.
func (a *app) tells(s wire.Status) string {
	told := make([]string, 0, len(s.Channels))
	waits := map[string]wire.Channel{}
	names := s.Channels
	for _, c := range s.Delivery {
		waits[c.Name] = c
		if !slices.Contains(names, c.Name) {
			names = append(slices.Clone(names), c.Name)
		}
	}
	for _, name := range names {
		c := waits[name]
		told = append(told, name+enclosed(waitsFor(s.Now, c)))
	}
	if len(told) == 0 {
		return "nobody: no channel is configured"
	}
	return strings.Join(told, ", ")
}

// waitsFor is what waits for a channel, as parts of a sentence.
func waitsFor(now time.Time, c wire.Channel) []string {
	var out []string
	if due := c.Undelivered - c.Held; due > 0 {
		out = append(out, fmt.Sprintf("%d to deliver", due))
		if c.Urgent > 0 {
			out = append(out, fmt.Sprintf("%d of them urgent", c.Urgent))
		}
		if c.Oldest != nil {
			out = append(out, "the oldest of "+ahead(now, *c.Oldest))
		}
		if c.NextTry != nil && c.NextTry.After(now) {
			out = append(out, "next try "+ahead(now, *c.NextTry))
		}
	}
	if c.Held > 0 && c.HeldUntil != nil {
		out = append(out, fmt.Sprintf("%d held until %s", c.Held, soon(now, *c.HeldUntil)))
	}
	if c.Edits > 0 {
		out = append(out, count(c.Edits, "post", "posts")+" to bring up to date")
	}
	if c.Dropped > 0 && c.Undelivered > 0 {
		out = append(out, fmt.Sprintf("%d never told, for newer ones", c.Dropped))
	}
	if c.StandIn != "" {
		out = append(out, c.StandIn+" is told in its place")
	}
	return out
}

// enclosed puts parts in brackets after a name; "" for none.
func enclosed(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// inTime tells how the loops run.
func inTime(loops []wire.Loop) string {
	var late []string
	for _, l := range loops {
		switch {
		case l.Stale:
			late = append(late, l.Name+" stands still")
		case l.Error != "":
			late = append(late, l.Name+" fails")
		}
	}
	if len(late) > 0 {
		return fmt.Sprintf("%d, of them: %s", len(loops), strings.Join(late, ", "))
	}
	if len(loops) == 0 {
		return ""
	}
	return fmt.Sprintf("%d, all in time", len(loops))
}

// room is how large the ledger is and when it was copied last.
func room(now time.Time, s wire.Storage) string {
	if s.Error != "" {
		return s.Path + ": " + s.Error
	}
	text := fmt.Sprintf("%s of %s, %s free", s.Path, sizeOf(s.Size), sizeOf(s.Free))
	switch {
	case s.Newest != nil:
		text += fmt.Sprintf("; %s, the newest %s", count(s.Backups, "backup", "backups"), ahead(now, *s.Newest))
	case s.Folder != "":
		text += "; no backup in " + s.Folder
	}
	return text
}

// sizeOf is a size in the unit that people say it in.
func sizeOf(n int64) string {
	for _, u := range []struct {
		name string
		of   int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= u.of {
			return fmt.Sprintf("%d.%d %s", n/u.of, n%u.of*10/u.of, u.name)
		}
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Which guard this is",
		Example: "  guard version -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": buildVersion(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			if done, err := a.json(v); done {
				return err
			}
			_, err := fmt.Fprintf(a.Out, "guard %s (%s, %s)\n", v["version"], v["go"], v["platform"])
			return err
		},
	}
}

// buildVersion is the module's version, or the commit where there is none.
func buildVersion() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := b.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v += "+" + s.Value[:12]
			}
		}
	}
	return v
}
