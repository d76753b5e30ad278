package daemon

import (
	"context"
	"fmt"

	"guard"
	"guard/providers"
	"guard/store"
)

// standing is what the ledger says over the configured modes: why guard is paused,
// and what people have said of single accounts.
type standing struct {
	pause guard.Pause
	words map[string]guard.ModeWord // by account
}

func readStanding(ctx context.Context, l *store.Ledger) (standing, error) {
	s := standing{words: map[string]guard.ModeWord{}}
	err := l.View(ctx, func(v *store.View) error {
		clear(s.words)
		s.pause = guard.Pause{}
		if _, err := v.Value(guard.PauseName, &s.pause); err != nil {
			return err
		}
		for a, err := range v.Accounts.All("") {
			if err != nil {
				return err
			}
			s.words[a.Name] = a.Word
		}
		return nil
	})
	return s, err
}

// mode is the mode that an account is in, with what the configuration says of it.
func (s standing) mode(account string, configured guard.Mode) guard.Mode {
	switch w := s.words[account]; {
	case s.pause.On():
		return guard.Observe
	case w.Counts(configured):
		return w.Mode
	}
	return configured
}

// under makes the generation that the same configuration makes under another
// standing. Nothing is opened or asked anew, so that a switch cannot fail at
// somebody else's network.
func (d *Daemon) under(g *generation, s standing) *generation {
	next := &generation{config: g.config, channels: g.channels, missing: g.missing, standing: s}
	for _, old := range g.accounts {
		a := *old
		if c, ok := g.config.Account(a.Name); ok {
			a.Mode = s.mode(a.Name, c.Mode)
		}
		next.accounts = append(next.accounts, &a)
	}
	d.wire(next)
	return next
}

// restand puts the present configuration under what the ledger says now.
func (d *Daemon) restand(ctx context.Context, at guard.Instant) error {
	s, err := readStanding(ctx, d.o.Ledger)
	if err != nil {
		return err
	}
	return d.adopt(ctx, d.under(d.gen.Load(), s), at)
}

// enforcing are the accounts of a generation in which guard acts.
func enforcing(accounts []*providers.Account) map[string]bool {
	out := map[string]bool{}
	for _, a := range accounts {
		if a.Mode == guard.Enforce {
			out[a.Name] = true
		}
	}
	return out
}

// dropWords takes back the words that a configuration has overtaken: its own mode of
// the account is not the one that the word overrides any more.
func (d *Daemon) dropWords(tx *store.Tx, g *generation, at guard.Instant) error {
	for _, c := range g.config.Accounts {
		status, ok, err := tx.Accounts.Get(c.Name)
		if err != nil {
			return err
		}
		w := status.Word
		if !ok || w.Mode == "" || w.Counts(c.Mode) {
			continue
		}
		status.Word = guard.ModeWord{}
		if err := tx.Accounts.Put(status); err != nil {
			return err
		}
		if err := tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "mode", Subject: c.Name,
			Text: fmt.Sprintf("%s by the configuration; the word of %s (%s) is taken back", c.Mode, w.By, w.Mode)}); err != nil {
			return err
		}
	}
	return nil
}
