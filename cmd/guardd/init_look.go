package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"

	"guard"
	"guard/cmd/guard/cli"
	"guard/configs"
	"guard/daemon"
	"guard/daemon/api"
	"guard/daemon/client"
	"guard/daemon/meter"
	"guard/daemon/notify"
	"guard/daemon/observe"
	"guard/daemon/wire"
	"guard/providers"
	"guard/providers/aws"
	"guard/store"
	"guard/store/bolt"
)

// house is a daemon that is wired together and does not run: its API answers, its
// loops stand. The ledger lies under a name of its own until all is right.
type house struct {
	ledger *store.Ledger
	path   string
	client *client.Client
}

// look opens a new ledger, reads every account into it once, and shows what there is.
func (s *setup) look(ctx context.Context, accounts []candidate) (_ *house, err error) {
	c, err := s.load(s.compose(accounts, told{}))
	if err != nil {
		return nil, err
	}
	h := &house{path: s.draft(s.ledger)}
	backend, err := bolt.Open(ctx, h.path, bolt.Options{})
	if err != nil {
		return nil, err
	}
	if h.ledger, err = store.Open(ctx, backend, daemon.Now()); err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	patiently(s.Err, "listing every box in every region", func() { err = h.read(ctx, c) })
	if err != nil {
		return nil, err
	}
	d, err := daemon.New(ctx, daemon.Options{
		Ledger: h.ledger, Config: c, Factories: factories, Version: version(), Log: slog.New(slog.DiscardHandler),
		// Nothing is told yet; the first message is init's own.
		Channels: func(*configs.Config) ([]notify.Channel, error) { return nil, nil },
		Boot:     daemon.Boot(), Now: daemon.Now, Wait: daemon.Wait,
	})
	if err != nil {
		return nil, err
	}
	h.client, err = client.New(client.Options{Addr: "unix:" + s.socket,
		Transport: client.InProcess(api.As(api.Caller{Name: me(), Role: guard.Admin}, d.Handler()))})
	if err != nil {
		return nil, err
	}
	return h, s.show(ctx, h, accounts)
}

// me is who runs this, as the socket would name them.
func me() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// read polls each account once and counts the money, as the daemon's loops do.
func (h *house) read(ctx context.Context, c *configs.Config) error {
	var accounts []*providers.Account
	for _, ca := range c.Accounts {
		a, err := adapterOf(ctx, ca)
		if err != nil {
			return fmt.Errorf("account %s: %w", ca.Name, err)
		}
		accounts = append(accounts, a)
	}
	byName := func(name string) (*providers.Account, bool) {
		i := slices.IndexFunc(accounts, func(a *providers.Account) bool { return a.Name == name })
		if i < 0 {
			return nil, false
		}
		return accounts[i], true
	}
	at := daemon.Now()
	ctx = guard.WithInstant(ctx, at)
	for _, a := range accounts {
		if _, err := observe.New(observe.Config{Ledger: h.ledger, Account: a, Boot: daemon.Boot()}).Once(ctx, at); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // what cannot be read is in the ledger, and told from there
		}
	}
	_, err := meter.New(meter.Config{Ledger: h.ledger, Account: byName, Rules: c.Rules}).Once(ctx, at)
	return err
}

func (h *house) close() error {
	if h.ledger == nil {
		return nil
	}
	l := h.ledger
	h.ledger = nil
	return l.Close()
}

// guard runs a command of the CLI against the house.
func (h *house) guard(ctx context.Context, w cli.IO, args ...string) int {
	w.Dial = func(string) (*client.Client, error) { return h.client, nil }
	return cli.Run(ctx, w, args...)
}

// boxes are the instances that live, in the order in which they are shown.
func (h *house) boxes(ctx context.Context) ([]wire.Item, error) {
	list, err := h.client.List(ctx, client.Filter{Kind: string(guard.Instance)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(it wire.Item) bool { return it.EndedAt != nil }), nil
}

// show tells what runs and what it costs, and refuses an account that shows nothing
// because it may not.
func (s *setup) show(ctx context.Context, h *house, accounts []candidate) error {
	status, err := h.client.Status(ctx)
	if err != nil {
		return err
	}
	for _, c := range accounts {
		if err := s.seen(ctx, h, c); err != nil {
			return err
		}
	}
	boxes, err := h.boxes(ctx)
	if err != nil {
		return err
	}
	if len(boxes) == 0 {
		fmt.Fprintf(s.Out, "\nNo boxes in %s: guard watches, and tells when one comes.\n", many(len(accounts), "account", "accounts"))
		return nil
	}
	fmt.Fprintln(s.Out)
	if h.guard(ctx, cli.IO{Out: s.Out, Err: s.Err, Width: s.Width}, "ls") != cli.ExitOK {
		return errors.New("what was found cannot be shown")
	}
	fmt.Fprintf(s.Out, "together, disks included: %s\n", burn(status))
	return nil
}

// burn is what everything costs an hour; what is not known is said beside it.
func burn(s wire.Status) string {
	text := "nothing known"
	if len(s.Burn) > 0 {
		text = strings.Join(s.Burn, " and ") + " per hour"
	}
	if n := s.Counts.NoPrice; n > 0 {
		text += fmt.Sprintf(", and %d at an unknown price", n)
	}
	return text
}

// seen tells how much of an account can be listed; nothing at all is an error.
func (s *setup) seen(ctx context.Context, h *house, c candidate) error {
	var account guard.AccountStatus
	var whole int
	blind := map[string][]string{} // by what was said
	err := h.ledger.View(ctx, func(v *store.View) (err error) {
		if account, _, err = v.Accounts.Get(c.name); err != nil {
			return err
		}
		for sc, err := range v.Scopes.All(c.name + "/" + string(guard.Instance) + "/") {
			switch {
			case err != nil:
				return err
			case sc.Complete.IsZero():
				blind[sc.Error] = append(blind[sc.Error], sc.Scope)
			default:
				whole++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	why := account.Error
	for text, in := range blind {
		why = text
		if whole > 0 {
			s.say("account %s: nothing is seen in %s: %s", c.name, strings.Join(in, ", "), text)
		}
	}
	if whole == 0 {
		policy := ""
		if c.provider == aws.Kind {
			policy = ". The README (Permissions on AWS) has the policy that guard needs"
		}
		return fmt.Errorf("%w: account %s (%s) shows nothing with these keys: %s%s", guard.ErrUnavailable, c.name, c.source, orNothing(why), policy)
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "it lists no region"
	}
	return s
}
