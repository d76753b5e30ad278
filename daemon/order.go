package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"guard"
	"guard/daemon/api"
	"guard/daemon/observe"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/say"
	"guard/store"
)

// Switch puts an account into a mode by the word of a person. What a switch to
// enforce dooms must be accepted by its exact number, and gets fresh notice.
func (d *Daemon) Switch(ctx context.Context, at guard.Instant, by api.Caller, account string, to guard.Mode, accept int) (wire.ModeAnswer, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	g := d.gen.Load()
	out := wire.ModeAnswer{Now: at.Wall.In(g.config.TimeZone), Done: true, Doomed: []wire.Doomed{}}
	c, ok := g.config.Account(account)
	if !ok {
		return out, fmt.Errorf("%w: there is no account %q in the configuration: it has %s", guard.ErrNotFound, account, strings.Join(g.names(), ", "))
	}
	a, _ := g.account(account)
	var doomed dooms
	switch {
	case a.Mode == to && !g.standing.pause.On():
		out.Text = fmt.Sprintf("account %s is in %s mode already", account, to)
		return out, nil
	case to == guard.Enforce && g.standing.pause.On():
		return out, fmt.Errorf("%w: guard acts nowhere, because %s: say guard resume first", guard.ErrConflict, g.standing.pause.Why)
	case to == guard.Enforce:
		if err := d.trusted(ctx, account); err != nil {
			return out, err
		}
		all, err := g.decide.Doomed(ctx, at)
		if err != nil {
			return out, err
		}
		doomed = sorted(all).in(map[string]bool{account: true})
		if out.Doomed = doomed.wire(g.config); len(doomed) != accept {
			out.Done, out.Text = false, unaccepted(len(doomed), accept)
			return out, nil
		}
		if err := d.giveNotice(ctx, at, "the account was switched from observe to enforce", map[string]bool{account: true}); err != nil {
			return out, err
		}
	}
	out.Text = fmt.Sprintf("account %s is in %s mode now", account, to)
	if to != c.Mode {
		out.Text += fmt.Sprintf("; the configuration says %s, and counts again once it says something else", c.Mode)
	}
	err := d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		status, _, err := tx.Accounts.Get(account)
		if err != nil {
			return err
		}
		status.Name, status.Word = account, guard.ModeWord{}
		if to != c.Mode || to == guard.Observe {
			// Observe is written down even where the configuration says so too: it stops
			// what the loops of the old generation are about to do.
			status.Word = guard.ModeWord{Mode: to, Over: c.Mode, By: by.Name, At: at.Wall}
		}
		if err := tx.Accounts.Put(status); err != nil {
			return err
		}
		return d.ordered(tx, g, at, by.Sign(guard.JournalEntry{Verb: "mode", Subject: account,
			Text: string(to), Data: map[string]string{"accepted": strconv.Itoa(accept)}}),
			func(lang guard.Lang) string {
				return say.In(lang, "Account %s is in %s mode now, by %s", account, say.Kept(lang, string(to)), by.Name)
			})
	})
	if err != nil {
		return out, err
	}
	if len(doomed) > 0 {
		out.Text += "; everything overdue gets fresh notice first"
	}
	return out, d.restand(ctx, at)
}

// trusted refuses an account whose credentials are somebody else's now: nobody knows
// what guard would do there.
func (d *Daemon) trusted(ctx context.Context, account string) error {
	var status guard.AccountStatus
	err := d.o.Ledger.View(ctx, func(v *store.View) (err error) {
		status, _, err = v.Accounts.Get(account)
		return err
	})
	if err == nil && status.Mismatch != "" {
		err = fmt.Errorf("%w: the credentials of account %s are those of %s now, and the ledger knows it as %s: put the right ones back first",
			guard.ErrAccount, account, status.Mismatch, status.Identity.ID)
	}
	return err
}

// unaccepted says that a switch dooms something else than was accepted.
func unaccepted(doomed, accept int) string {
	switch {
	case doomed == 0:
		return fmt.Sprintf("it dooms nothing, and --accept %d was given", accept)
	case accept == 0 && doomed == 1:
		return "1 would end by it, now or soon"
	case accept == 0:
		return fmt.Sprintf("%d would end by it, now or soon", doomed)
	}
	return fmt.Sprintf("%d would end by it, now or soon, and --accept %d was given", doomed, accept)
}

// Resume ends a pause: accounts are in the modes again that the configuration and
// people gave them, and everything overdue gets fresh notice.
func (d *Daemon) Resume(ctx context.Context, at guard.Instant, by api.Caller, accept int) (wire.ModeAnswer, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	g := d.gen.Load()
	out := wire.ModeAnswer{Now: at.Wall.In(g.config.TimeZone), Done: true, Doomed: []wire.Doomed{}}
	s, err := readStanding(ctx, d.o.Ledger)
	if err != nil {
		return out, err
	}
	if !s.pause.On() {
		out.Text = "guard is not paused"
		return out, nil
	}
	pause := s.pause
	s.pause = guard.Pause{}
	acting := map[string]bool{}
	for _, c := range g.config.Accounts {
		if s.mode(c.Name, c.Mode) == guard.Enforce {
			acting[c.Name] = true
		}
	}
	all, err := g.decide.Doomed(ctx, at)
	if err != nil {
		return out, err
	}
	doomed := sorted(all).in(acting)
	if out.Doomed = doomed.wire(g.config); len(doomed) != accept {
		out.Done, out.Text = false, unaccepted(len(doomed), accept)
		return out, nil
	}
	if err := d.giveNotice(ctx, at, pause.Why, acting); err != nil {
		return out, err
	}
	names := slices.Sorted(maps.Keys(acting))
	out.Text = actsAgain(names, guard.English)
	err = d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		if err := errors.Join(tx.SetValue(guard.PauseName, guard.Pause{}), observe.Forgive(tx)); err != nil {
			return err
		}
		return d.ordered(tx, g, at, by.Sign(guard.JournalEntry{Verb: "resumed", Text: "paused since " + pause.Since.Format("2006-01-02 15:04 MST") + " because " + pause.Why,
			Data: map[string]string{"accepted": strconv.Itoa(accept)}}),
			func(lang guard.Lang) string {
				return say.In(lang, "%s, by %s", say.Upper(lang, actsAgain(names, lang)), by.Name)
			})
	})
	if err != nil {
		return out, err
	}
	d.term = d.newTerm(at)
	return out, d.restand(ctx, at)
}

// actsAgain says in which accounts guard acts after a pause.
func actsAgain(names []string, lang guard.Lang) string {
	if len(names) == 0 {
		return say.In(lang, "guard acts again; every account is in observe mode")
	}
	return say.In(lang, "guard acts again in %s; everything overdue gets fresh notice first", say.List(lang, names, shown))
}

// ordered writes down what a person ordered, and tells everybody.
func (d *Daemon) ordered(tx *store.Tx, g *generation, at guard.Instant, e guard.JournalEntry, title func(guard.Lang) string) error {
	e.At = at.Wall
	if err := tx.Journal(e); err != nil {
		return err
	}
	return d.queue(tx, g, e.Verb+" "+e.Subject, at, func(lang guard.Lang) guard.Message {
		return guard.Message{Title: title(lang), CreatedAt: at.Wall}
	})
}

// Reload reads the configuration again, accepting nothing that it dooms. Whatever can
// fail is tried first: with an error nothing has changed.
func (d *Daemon) Reload(ctx context.Context) error {
	out, err := d.ReloadBy(ctx, d.now(), api.Caller{Name: "guard"}, 0)
	if err == nil && !out.Done {
		err = RefusedReload(out)
	}
	return err
}

// RefusedReload is the error of a reload that was not taken because of what it dooms.
func RefusedReload(out wire.ModeAnswer) error {
	if len(out.Doomed) == 0 {
		return fmt.Errorf("%w: reload refused, nothing has changed: %s; without --accept it is taken", guard.ErrRefused, out.Text)
	}
	var ids []string
	for _, x := range out.Doomed {
		ids = append(ids, x.ID)
	}
	return fmt.Errorf("%w: reload refused, nothing has changed: %s: %s. Extend, hold or protect what must live, or say guard reload --accept %d",
		guard.ErrRefused, out.Text, policy.Few(ids, named), len(ids))
}

// ReloadBy reads the configuration again by a person's order. One that would end what
// the present one spares is taken only with the exact number of those: one slip in a
// file must not end a night's work (law 8). A switch to enforce in the file is the
// word of whoever wrote it; where a number is given, it counts what that dooms, too.
func (d *Daemon) ReloadBy(ctx context.Context, at guard.Instant, by api.Caller, accept int) (wire.ModeAnswer, error) {
	out := wire.ModeAnswer{Done: true, Doomed: []wire.Doomed{}}
	if d.o.Load == nil {
		return out, fmt.Errorf("%w: reload: this daemon has no configuration file", guard.ErrUnsupported)
	}
	d.reloading.Lock()
	defer d.reloading.Unlock()
	old := d.gen.Load()
	out.Now = at.Wall.In(old.config.TimeZone)
	ctx = guard.WithInstant(ctx, at)
	g, err := d.reload(ctx)
	if err != nil {
		err = fmt.Errorf("reload refused, nothing has changed: %w", err)
		return out, errors.Join(err, d.journal(ctx, at, by.Name, "reload refused", err.Error()))
	}
	doomed, switched, err := d.reloadDooms(ctx, at, old, g)
	if err != nil {
		return out, err
	}
	all := append(slices.Clone(doomed), switched...)
	if out.Doomed = all.wire(g.config); len(all) != accept && (accept > 0 || len(doomed) > 0) {
		out.Done, out.Text = false, unaccepted(len(all), accept)
		return out, d.journal(ctx, at, by.Name, "reload refused", out.Text+": "+policy.Few(all.ids(), named))
	}
	acting := enforcing(g.accounts)
	maps.DeleteFunc(acting, func(name string, _ bool) bool { return !doomed.accounts()[name] })
	if err := d.giveNotice(ctx, at, "the configuration was changed", acting); err != nil {
		return out, err
	}
	out.Text = "the configuration was read again; accounts: " + strings.Join(g.names(), ", ")
	err = d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		if err := d.settle(tx, g, at); err != nil {
			return err
		}
		return tx.Journal(by.Sign(guard.JournalEntry{At: at.Wall, Verb: "reloaded", Text: out.Text, Data: map[string]string{"accepted": strconv.Itoa(accept)}}))
	})
	if err != nil {
		return out, err
	}
	if err := d.adopt(ctx, g, at); err != nil {
		return out, fmt.Errorf("reload: %w", err)
	}
	return out, nil
}

// reloadDooms is what a new generation newly dooms by its rules, and beside that by
// acting where the old one only watched.
func (d *Daemon) reloadDooms(ctx context.Context, at guard.Instant, old, g *generation) (doomed, switched dooms, err error) {
	if doomed, err = newly(ctx, at, old.decide, g.decide); err != nil {
		return nil, nil, err
	}
	all, err := g.decide.Doomed(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range doomed {
		delete(all, x.Resource)
	}
	acting, before := enforcing(g.accounts), enforcing(old.accounts)
	maps.DeleteFunc(acting, func(name string, _ bool) bool { return before[name] })
	return doomed, sorted(all).in(acting), nil
}
