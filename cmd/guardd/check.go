package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"guard/configs"
	"guard/daemon"
	"guard/daemon/notify/url"
)

func checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check", Short: "Check a configuration file, all mistakes at once", Args: usage(cobra.NoArgs),
		Long: `Read a configuration file, with the secrets, price books, keys and certificates that
it names, and print every mistake in it with its line. No provider is called.`,
		Example: "  guardd check --config guard.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load(file)
			if err != nil {
				return err
			}
			if _, err := sources(c); err != nil {
				return fmt.Errorf("%w: %s: %w", errFile, file, err)
			}
			for _, n := range c.Notes {
				fmt.Fprintln(cmd.ErrOrStderr(), n.Error())
			}
			out := cmd.OutOrStdout()
			accounts := "1 account"
			if n := len(c.Accounts); n != 1 {
				accounts = fmt.Sprintf("%d accounts", n)
			}
			fmt.Fprintf(out, "%s is right: %s\n", file, accounts)
			table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
			for _, a := range c.Accounts {
				fmt.Fprintf(table, "  %s\t%s\t%s\n", a.Name, a.Provider, a.Mode)
			}
			for _, s := range c.Signals.Sources {
				fmt.Fprintf(table, "  %s\t%s\t\n", s.Name, s.Kind)
			}
			if err := table.Flush(); err != nil {
				return err
			}
			fmt.Fprint(out, places(c))
			fmt.Fprint(out, readers(c, daemon.Now().Wall))
			return nil
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// places tells where the API is served, and under which certificate; nothing where
// only guardd's own user may ask.
func places(c *configs.Config) string {
	out := ""
	if c.Listen.Group != "" {
		out = fmt.Sprintf("listens at unix:%s for the group %s\n", c.Listen.Unix, c.Listen.Group)
	}
	if c.Listen.TCP == "" {
		return out
	}
	file := c.Listen.Cert
	if file == "" {
		file = daemon.OwnCertificateFile(c.Ledger.Path)
	}
	switch fingerprint, err := daemon.FingerprintOf(file); {
	case err == nil:
		out += fmt.Sprintf("listens at tcp:%s with the certificate %s\n  GUARD_FINGERPRINT=%s\n", c.Listen.TCP, file, fingerprint)
	case errors.Is(err, fs.ErrNotExist):
		out += fmt.Sprintf("listens at tcp:%s with a certificate that guardd makes at its first start\n", c.Listen.TCP)
	default:
		out += fmt.Sprintf("listens at tcp:%s with a certificate that cannot be read now: %v\n", c.Listen.TCP, err)
	}
	return out
}

// readers tells where people are told, and when the next digests are due.
func readers(c *configs.Config, now time.Time) string {
	out := ""
	if s := c.Notify.Slack; s != nil {
		out += fmt.Sprintf("tells slack, %s\n", s.Channel)
	}
	for _, u := range c.Notify.URLs {
		ch, err := url.New(url.Config{Name: u.Name, URL: u.URL})
		if err != nil {
			continue // its mistake was told
		}
		more := ""
		if u.Fallback {
			more = ", where the others fail"
		}
		out += fmt.Sprintf("tells %s, %s%s\n", u.Name, ch.Place(), more)
	}
	if c.Notify.Digest.IsZero() {
		return out
	}
	var next []string
	for range 3 {
		now = c.Notify.Digest.NextDaily(now)
		next = append(next, now.In(c.TimeZone).Format("Mon 2 Jan 15:04"))
	}
	return out + fmt.Sprintf("the next digests are due %s (%s)\n", strings.Join(next, ", "), c.TimeZone)
}
