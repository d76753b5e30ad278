package report

import (
	"time"

	"guard"
	"guard/providers"
	"guard/store"
)

// observing begins the names of the loops that read accounts.
const observing = "observe/"

// wholly is when an account was last read completely, as far as what runs goes: the last
// poll that reached it, or the oldest list of a scope that fails since. Zero: never, or
// its credentials are not its own.
func wholly(v *store.View, account string) (time.Time, error) {
	a, ok, err := v.Accounts.Get(account)
	if err != nil || !ok || a.Mismatch != "" {
		return time.Time{}, err
	}
	at := a.Polled
	for _, kind := range []guard.Kind{guard.Instance, guard.SpotRequest} {
		for s, err := range v.Scopes.All(account + "/" + string(kind) + "/") {
			if err != nil {
				return time.Time{}, err
			}
			if !s.Failing.IsZero() && s.Complete.Before(at) {
				at = s.Complete
			}
		}
	}
	return at, nil
}

// cycle watches for a full one since a moment: every account is read completely, and
// after that all is judged. What was read is noted when it stands in the ledger, so that a
// run of decide that begins later has seen it.
type cycle struct {
	since time.Time
	noted map[string]time.Time // accounts, and when it was seen that each was read
}

func newCycle(since time.Time) *cycle { return &cycle{since: since, noted: map[string]time.Time{}} }

// step notes what was read by now, and reports whether the cycle is full.
func (c *cycle) step(v *store.View, accounts []*providers.Account, runs []Run, now time.Time) (bool, error) {
	for _, a := range accounts {
		if _, ok := c.noted[a.Name]; ok {
			continue
		}
		at, err := wholly(v, a.Name)
		if err != nil {
			return false, err
		}
		if at.After(c.since) {
			c.noted[a.Name] = now
		}
	}
	if len(c.noted) < len(accounts) {
		return false, nil
	}
	for _, r := range runs {
		if r.Loop == "decide" {
			return !r.Running && !r.Failed && r.Last.After(c.last()), nil
		}
	}
	return false, nil
}

// last is when the last of the accounts was noted.
func (c *cycle) last() time.Time {
	last := c.since
	for _, at := range c.noted {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// unread are the accounts that were not read since the cycle began, in their order.
func (c *cycle) unread(accounts []*providers.Account) []string {
	var out []string
	for _, a := range accounts {
		if _, ok := c.noted[a.Name]; !ok {
			out = append(out, a.Name)
		}
	}
	return out
}
