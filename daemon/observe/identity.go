package observe

import (
	"context"
	"fmt"
	"time"

	"guard"
	"guard/policy"
	"guard/policy/presence"
	"guard/store"
)

// vouchers is how many known resources a new key is tried on.
const vouchers = 10

// identify asks whose the credentials are, and reports whether what they see may
// be believed. A changed identity is believed only where it is weak, a key's
// fingerprint, and the new key can read a live resource that the ledger knows.
func (l *Loop) identify(ctx context.Context, at guard.Instant, s *snapshot) (guard.Identity, bool, error) {
	id, err := l.account.Provider.Identity(ctx)
	if err != nil {
		return id, false, fmt.Errorf("ask %s whose the credentials are: %w", l.account.Name, err)
	}
	if id.ID == "" {
		return id, false, fmt.Errorf("%w: %s does not say whose the credentials are; nothing it lists is believed until it does", guard.ErrBadReply, l.account.Name)
	}
	known := s.account.Identity
	if known.ID == id.ID {
		return id, true, nil
	}
	twin, err := l.claim(ctx, id, known)
	switch {
	case err != nil:
		return id, false, err
	case twin == "" && known.ID == "":
		return id, true, nil
	case twin != "" || known.Strong:
		return id, false, l.mismatched(ctx, at, s, id, twin)
	}
	vouched, err := l.vouched(ctx)
	switch {
	case err != nil:
		return id, false, err
	case !vouched:
		return id, false, l.mismatched(ctx, at, s, id, twin)
	}
	return id, true, l.adopt(ctx, at, s, id)
}

// claim finds the other configured account that an identity is recorded for. One
// that nobody has becomes this account's if it has none, in the same transaction,
// so that of two that answer at once one is the twin.
func (l *Loop) claim(ctx context.Context, id, known guard.Identity) (twin string, err error) {
	err = l.ledger.Update(ctx, func(tx *store.Tx) error {
		twin = ""
		for _, name := range l.others {
			other, ok, err := tx.Accounts.Get(name)
			if err != nil {
				return err
			}
			if ok && other.Provider == l.account.Kind && other.Identity.ID == id.ID {
				twin = name
				return nil
			}
		}
		if known.ID != "" {
			return nil
		}
		a, _, err := tx.Accounts.Get(l.account.Name)
		if err != nil {
			return err
		}
		a = l.stamp(a)
		a.Identity = id
		return tx.Accounts.Put(a)
	})
	return twin, wrap("record whose credentials "+l.account.Name+" has", err)
}

// vouched reports whether the credentials can read something that the ledger
// knows to live here. An account in which nothing lives has nothing to vouch for
// and nothing to lose.
func (l *Loop) vouched(ctx context.Context) (bool, error) {
	known := map[string]guard.Resource{}
	var ids []guard.ResourceID
	err := l.ledger.View(ctx, func(v *store.View) error {
		// Instances first: they are what matters and live in every account.
		for _, prefix := range []string{l.account.Name + "/" + string(guard.Instance) + "/", l.account.Name + "/"} {
			for o, err := range v.Observed.All(prefix) {
				if err != nil {
					return err
				}
				if len(ids) == vouchers {
					return nil
				}
				key := o.Resource.ID.Key()
				if _, twice := known[key]; o.Live() && !twice {
					known[key] = o.Resource
					ids = append(ids, o.Resource.ID)
				}
			}
		}
		return nil
	})
	if err != nil {
		return false, wrap("read what lives in "+l.account.Name, err)
	}
	if len(ids) == 0 {
		return len(l.leased) == 0, nil
	}
	for _, look := range l.account.Provider.Get(ctx, ids...) {
		was, ok := known[look.ID.Key()]
		if ok && look.Verdict == guard.VerdictFound && look.Resource.Live() && presence.Same(was, look.Resource) {
			return true, nil
		}
	}
	return false, nil
}

// mismatched writes down that somebody else's credentials answer.
func (l *Loop) mismatched(ctx context.Context, at guard.Instant, s *snapshot, id guard.Identity, twin string) error {
	news := s.account.Mismatch != id.ID
	err := l.ledger.Update(ctx, func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get(l.account.Name)
		if err != nil {
			return err
		}
		told := a.Mismatch == id.ID
		a = l.stamp(a)
		a.Outages = policy.Recovered(a.Outages, a.Failing, at.Wall) // whoever's they are, it answers
		a.Mismatch, a.Twin, a.Polled, a.Failing, a.Error = id.ID, twin, at.Wall, time.Time{}, ""
		if err := tx.Accounts.Put(a); err != nil || told {
			return err
		}
		text := fmt.Sprintf("%s: the credentials are those of %q now, recorded is %q. Nothing they list is believed, nothing is released with them; "+
			"what is known goes on counting. Put the right credentials back.", l.account.Name, id.ID, a.Identity.ID)
		if twin != "" {
			text = fmt.Sprintf("%s: its credentials are those of %q, which account %s watches already. Nothing they list is believed, nothing is released "+
				"with them. Remove one of the two accounts from the configuration.", l.account.Name, id.ID, twin)
		}
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "account_mismatch", Subject: l.account.Name, Text: text})
	})
	if news {
		l.kick("decide")
		l.kick("release/" + l.account.Name)
	}
	return wrap("record the mismatch of "+l.account.Name, err)
}

// adopt moves everything recorded under the old key to the new one, the account
// itself last, so that a crash in between is taken up again.
func (l *Loop) adopt(ctx context.Context, at guard.Instant, s *snapshot, id guard.Identity) error {
	old := s.account.Identity.ID
	var steps []func(tx *store.Tx) error
	var keys []string
	err := l.ledger.View(ctx, func(v *store.View) error {
		for o, err := range v.Observed.All(l.account.Name + "/") {
			if err != nil {
				return err
			}
			keys = append(keys, o.Resource.ID.Key())
		}
		return nil
	})
	if err != nil {
		return wrap("read what is known of "+l.account.Name, err)
	}
	for _, key := range keys {
		steps = append(steps, func(tx *store.Tx) error {
			o, ok, err := tx.Observed.Get(key)
			if err != nil || !ok || o.Identity != old {
				return err
			}
			o.Identity, o.Absent = id.ID, nil
			return tx.Observed.Put(o)
		})
	}
	for key := range l.leased {
		steps = append(steps, func(tx *store.Tx) error {
			lease, ok, err := tx.LeaseOf(key)
			if err != nil || !ok || lease.Identity != old {
				return err
			}
			lease.Identity = id.ID
			return tx.Leases.Put(lease)
		})
	}
	for key := range s.releases {
		steps = append(steps, func(tx *store.Tx) error {
			r, ok, err := tx.Releases.Get(key)
			if err != nil || !ok || r.Identity != old {
				return err
			}
			r.Identity = id.ID
			return tx.Releases.Put(r)
		})
	}
	steps = append(steps, func(tx *store.Tx) error {
		a, _, err := tx.Accounts.Get(l.account.Name)
		if err != nil || a.Identity.ID == id.ID {
			return err
		}
		a = l.stamp(a)
		a.Identity, a.Mismatch, a.Twin = id, "", ""
		if err := tx.Accounts.Put(a); err != nil {
			return err
		}
		return tx.Journal(guard.JournalEntry{At: at.Wall, Who: "guard", Verb: "new_key", Subject: l.account.Name,
			Text: fmt.Sprintf("%s: a new key is in use, and it is of the same account: it reads what is known to live there", l.account.Name)})
	})
	err = l.ledger.UpdateEach(ctx, len(steps), func(tx *store.Tx, i int) error { return steps[i](tx) })
	if err != nil {
		return wrap("adopt the new key of "+l.account.Name, err)
	}
	fresh, err := l.snapshot(ctx)
	if err == nil {
		*s = *fresh
	}
	l.kick("decide")
	return err
}
