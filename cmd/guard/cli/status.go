package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

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
still. It exits with 1 when there is any, with 0 when all is well.`,
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
	if len(s.Attention) == 0 {
		fmt.Fprintln(a.Out, "all is well")
	} else {
		fmt.Fprintln(a.Out, count(len(s.Attention), "thing needs", "things need")+" a person")
		for _, x := range s.Attention {
			f.put("!", x)
		}
	}
	c := s.Counts
	f.put("watches", count(c.Instances, "instance", "instances")+fmt.Sprintf(" (%d registered, %d not)", c.Registered, c.Unregistered))
	burn := strings.Join(s.Burn, " and ")
	if burn == "" {
		burn = "nothing known"
	}
	burn += " per hour"
	if c.NoPrice > 0 {
		burn += fmt.Sprintf(", and %d at an unknown price", c.NoPrice)
	}
	f.put("costs", burn)
	f.put("open", fmt.Sprintf("%s, %s (%d blocked), %s to deliver", count(c.Findings, "finding", "findings"),
		count(c.Releases, "release", "releases"), c.Blocked, count(c.Pending, "message", "messages")))
	for _, x := range s.Accounts {
		line := x.Name + " (" + x.Provider + "), " + x.Mode + ", " + x.State
		if x.Polled != nil {
			line += ", read " + ahead(s.Now, *x.Polled)
		}
		if x.Self != "" {
			line += ", guard itself runs on " + x.Self
		}
		f.put("account", line+reason(x.Error))
	}
	if len(s.Channels) == 0 {
		f.put("tells", "nobody: no channel is configured")
	} else {
		f.put("tells", strings.Join(s.Channels, ", "))
	}
	f.put("clock", clock(s.Now)+prefixed(", ", s.TimeZone))
	f.put("version", s.Version)
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
