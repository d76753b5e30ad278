package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// mostSecret bounds the files that the environment names, in bytes.
const mostSecret = 1 << 20

// connect makes the client of an address with what the environment says of who calls
// and how the daemon is known. There is no flag for a token: everybody on a machine
// may read the arguments of its processes.
func (a *app) connect(addr string) (*client.Client, error) {
	o := client.Options{Addr: addr, Timeout: patience, Token: strings.TrimSpace(a.Env("GUARD_TOKEN")), Fingerprint: a.Env("GUARD_FINGERPRINT")}
	if file := a.Env("GUARD_TOKEN_FILE"); file != "" {
		if o.Token != "" {
			return nil, usagef("GUARD_TOKEN and GUARD_TOKEN_FILE are both set: leave one of them out")
		}
		text, err := a.fileOf("GUARD_TOKEN_FILE", file)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 && !a.loose {
			a.loose = true
			a.say("others on this machine may read the token in " + file + ": chmod 600 it")
		}
		o.Token = strings.TrimSpace(string(text))
		if o.Token == "" {
			return nil, usagef("GUARD_TOKEN_FILE: %s is empty", file)
		}
	}
	if file := a.Env("GUARD_CA"); file != "" {
		var err error
		if o.CA, err = a.fileOf("GUARD_CA", file); err != nil {
			return nil, err
		}
	}
	return client.New(o)
}

func (a *app) fileOf(name, file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("%s: there is no file %s", name, file)
	case err == nil && (!info.Mode().IsRegular() || info.Size() > mostSecret):
		return nil, usagef("%s: %s is not a plain file of at most 1 MiB", name, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("%s: %v", name, err)
	}
	return text, nil
}

func (a *app) token() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Hand out access to guardd over the network, and end it",
		Long: `A token lets its holder ask guardd over TCP, under a name and with a role: a
viewer sees, and changes what is registered under that name; an operator
registers, extends, holds and releases anything; an admin does everything. With a
scope it is for one instance only, as for what runs on that instance.

guard takes the token from GUARD_TOKEN_FILE or GUARD_TOKEN, and the daemon's address
from GUARD_ADDR. No flag takes one: others could read it in the list of processes.`,
		Example: "  guard token",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreate(), a.tokenList(), a.tokenRevoke())
	return cmd
}

func (a *app) tokenCreate() *cobra.Command {
	var r wire.TokenRequest
	cmd := &cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Make a token; its secret is printed this once",
		Long: `Create makes a token and prints it on stdout, this once: the ledger keeps a hash
of it only. NAME is whose or what it is for; what is done with it stands in the
journal under that name, and what is registered under that name is its holder's.`,
		Example: `  guard token create ana --role operator
  guard token create trainer --role viewer --scope research/i-0abc --ttl 90d > trainer.token`,
		Args: usageArgs(oneName),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := empties(cmd); err != nil {
				return err
			}
			if r.Role == "" {
				return usagef("with which role? Give --role viewer, operator or admin")
			}
			r.Name = args[0]
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.TokenMade, error) { return c.CreateToken(ctx, r) })
			if err != nil {
				return err
			}
			if done, err := a.json(out); done {
				return err
			}
			fmt.Fprintln(a.Out, out.Secret)
			until := "until it is revoked"
			if out.Token.ExpiresAt != nil {
				until = "until " + clock(*out.Token.ExpiresAt)
			}
			about := "everything"
			if out.Token.Scope != "" {
				about = out.Token.Scope + " only"
			}
			a.say(fmt.Sprintf("the token %s of %s: %s of %s, %s", out.Token.ID, out.Token.Name, out.Token.Role, about, until))
			a.say("It is not shown again. Its holder puts it into a file with mode 600 and sets GUARD_TOKEN_FILE.")
			return nil
		},
	}
	cmd.Flags().StringVar(&r.Role, "role", "", "viewer, operator or admin")
	cmd.Flags().StringVar(&r.Scope, "scope", "", "the one ACCOUNT/ID that it is for (default all)")
	cmd.Flags().StringVar(&r.TTL, "ttl", "", "how long it lives: 12h, 90d (default until it is revoked)")
	return cmd
}

func oneName(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("whose or what for? Give a NAME, such as ana or ci")
	case 1:
		return nil
	}
	return usagef("one NAME at a time, not %d (put one with spaces in quotes)", len(args))
}

func (a *app) tokenList() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "The tokens, and what became of them",
		Example: "  guard token ls\n  guard token ls -o json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Tokens, error) { return c.Tokens(ctx) })
			if err != nil {
				return err
			}
			if done, err := a.json(out.Tokens); done {
				return err
			}
			if len(out.Tokens) == 0 {
				a.say("there are no tokens")
				return nil
			}
			a.tokens(out)
			return nil
		},
	}
}

func (a *app) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a token, or all of a name",
		Long: `Revoke ends a token at once, by its ID, or every token of a name. What was
registered and ordered with it stays.`,
		Example: "  guard token revoke 4f2a91-k3x7q2m5\n  guard token revoke ana",
		Args: usageArgs(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("which one? Give its ID or its NAME (guard token ls shows them)")
			}
			return oneName(cmd, args)
		}),
		ValidArgsFunction: a.complete(a.tokenNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := ask(a, cmd, "waiting for guardd", func(ctx context.Context, c *client.Client) (wire.Tokens, error) { return c.Revoke(ctx, args[0]) })
			if err != nil {
				return err
			}
			if done, err := a.json(out.Tokens); done {
				return err
			}
			for _, t := range out.Tokens {
				fmt.Fprintf(a.Out, "revoked %s of %s\n", clean(t.ID), clean(t.Name))
			}
			return nil
		},
	}
}

func (a *app) tokens(l wire.Tokens) {
	var rows [][]string
	for _, t := range l.Tokens {
		ends := "when revoked"
		switch {
		case t.RevokedAt != nil:
			ends = "revoked " + ahead(l.Now, *t.RevokedAt) + " by " + t.RevokedBy
		case t.ExpiresAt != nil && t.State == wire.TokenExpired:
			ends = "expired " + ahead(l.Now, *t.ExpiresAt)
		case t.ExpiresAt != nil:
			ends = ahead(l.Now, *t.ExpiresAt)
		}
		scope := t.Scope
		if scope == "" {
			scope = "all"
		}
		rows = append(rows, []string{t.ID, t.Name, t.Role, scope, ahead(l.Now, t.CreatedAt) + " by " + t.CreatedBy, ends})
	}
	a.table([]column{{title: "token"}, {title: "name", least: 8}, {title: "role"}, {title: "for", least: 10}, {title: "made", drop: 1}, {title: "ends", least: 12}}, rows)
}
