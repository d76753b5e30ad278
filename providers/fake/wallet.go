package fake

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"guard"
	"guard/providers"
)

// Paid is the adapter for a cloud that tells of the account's money: a providers.Balancer
// and a providers.Biller, too.
type Paid struct{ *Provider }

// timedPaid is that for one with timers.
type timedPaid struct{ Timed }

var _ providers.Balancer = Paid{}

// Paid is the same adapter with the account's money.
func (p *Provider) Paid() Paid { return Paid{p} }

// Offers is an adapter with everything that this cloud can do.
func (c *Cloud) Offers(p *Provider) providers.Provider {
	switch timers, paid := c.Timers(), c.script.Balance != "" || c.script.bills(); {
	case timers && paid:
		return timedPaid{p.Timed()}
	case timers:
		return p.Timed()
	case paid:
		return p.Paid()
	}
	return p
}

// Balance implements providers.Balancer.
func (p timedPaid) Balance(ctx context.Context) (guard.Balance, error) { return p.Paid().Balance(ctx) }

// Balance implements providers.Balancer.
func (p Paid) Balance(ctx context.Context) (guard.Balance, error) {
	var in struct {
		Unsupported bool  `json:"unsupported"`
		Amount      field `json:"amount"`
		Currency    field `json:"currency"`
		At          field `json:"at"`
	}
	if err := p.api.Get(ctx, &in, nil, "v1", "balance"); err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w", p.cfg.Account, err)
	}
	if in.Unsupported {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w", p.cfg.Account, guard.ErrUnsupported)
	}
	amount := in.Amount.amount(in.Currency.Text(8))
	if !amount.IsSet() {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w: the answer has no amount", p.cfg.Account, guard.ErrBadReply)
	}
	return guard.Balance{Amount: amount, At: in.At.Time()}, nil
}

// wallet is what an account that pays ahead was given.
type wallet struct {
	paid     *big.Rat  // what was left at the start
	more     []Payment // what was paid in since
	currency string
	dry      bool // the cloud has acted on it
}

// inWallet reads an amount of the account's currency.
func (s *Script) inWallet(text string) (*big.Rat, error) {
	m, err := guard.ParseMoney(text)
	switch {
	case err != nil:
		return nil, err
	case m.Currency() != s.Currency:
		return nil, fmt.Errorf("%s is in another currency than the account, %s", m, s.Currency)
	}
	return m.Rat(), nil
}

func (s *Script) checkWallet() error {
	if s.StoppedEnds < 0 || s.Bill < 0 {
		return errors.New("stopped_ends and bill cannot be negative")
	}
	if s.Balance == "" {
		if s.AtZero != "" {
			return errors.New("at_zero: the account has no balance")
		}
		return nil
	}
	if _, err := s.inWallet(s.Balance); err != nil {
		return fmt.Errorf("balance: %w", err)
	}
	switch s.AtZero {
	case "", guard.ZeroNothing, guard.ZeroStops, guard.ZeroDeletes:
		return nil
	}
	return fmt.Errorf("at_zero: %q must be stop, destroy or nothing", s.AtZero)
}

func (s *Script) atZero() guard.AtZero {
	if s.Balance != "" && s.AtZero == "" {
		return guard.ZeroNothing
	}
	return s.AtZero
}

func newWallet(s Script) *wallet {
	if s.Balance == "" {
		return nil
	}
	paid, _ := s.inWallet(s.Balance) // checked
	return &wallet{paid: paid, currency: s.Currency}
}

// topUp pays into the account.
func (c *Cloud) topUp(text string) {
	more, err := c.script.inWallet(text)
	if err != nil || c.wallet == nil {
		return
	}
	c.wallet.more = append(c.wallet.more, Payment{c.now, more})
	if c.balance(c.now).Sign() > 0 {
		c.wallet.dry = false
	}
}

// balance is what is left at a time: what was paid in until then, less what everything
// has cost since the cloud's start.
func (c *Cloud) balance(at time.Time) *big.Rat {
	left := new(big.Rat).Set(c.wallet.paid)
	for _, p := range c.wallet.more {
		if !p.At.After(at) {
			left.Add(left, p.Amount)
		}
	}
	for _, t := range c.things {
		if t.currency != c.wallet.currency || !t.created.Before(at) {
			continue
		}
		left.Sub(left, t.spend(c.script.Billing, at))
		left.Sub(left, c.carried(t, at))
		if t.created.Before(c.script.Start) {
			left.Add(left, t.spend(c.script.Billing, c.script.Start))
			left.Add(left, c.carried(t, c.script.Start))
		}
	}
	return left
}

// runDry moves the cloud on to when its balance is used up, to the second, and lets what
// then happens happen; false where that is not before a time, or has happened.
func (c *Cloud) runDry(before time.Time) bool {
	if c.wallet == nil || c.wallet.dry || c.balance(before).Sign() > 0 {
		return false
	}
	lo, hi := c.now, before
	if c.balance(lo).Sign() <= 0 {
		hi = lo
	}
	for hi.Sub(lo) > time.Second {
		if mid := lo.Add(hi.Sub(lo) / 2); c.balance(mid).Sign() > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	c.wallet.dry = true
	if hi.After(c.now) {
		c.now = hi.UTC()
	}
	for _, t := range c.things {
		if t.spec.Kind != guard.Instance || t.created.After(c.now) {
			continue
		}
		switch word := t.last().word; {
		case word == stateGone || word == stateReleasing:
		case c.script.AtZero == guard.ZeroDeletes:
			c.end(t, endedPlatform, c.now)
		case c.script.AtZero == guard.ZeroStops && word != stateStopped:
			c.halt(t, endedPlatform, c.now)
		}
	}
	return true
}

// halt stops an instance. What stays stopped for too long is deleted.
func (c *Cloud) halt(t *thing, ended string, at time.Time) {
	t.become(stateStopped, ended, at)
	c.wait(t, at)
}

// wait lets an instance that stays stopped be deleted in time.
func (c *Cloud) wait(t *thing, since time.Time) {
	if c.script.StoppedEnds <= 0 || t.spec.Kind != guard.Instance || t.last().word != stateStopped {
		return
	}
	c.plan(since.Add(c.script.StoppedEnds), func(at time.Time) {
		if s := t.last(); s.word == stateStopped && s.at.Equal(since) {
			c.end(t, endedPlatform, at)
		}
	})
}

// wireBalance is what is left, as the API tells it.
type wireBalance struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	At       string `json:"at"`
}

// left answers what is left in the account.
func (c *Cloud) left(odd Reply) answer {
	if c.wallet == nil {
		return ok(map[string]any{"unsupported": true})
	}
	return ok(disguise(wireBalance{c.balance(c.now).FloatString(6), c.wallet.currency, stamp(c.now)}, odd))
}

// Balance is what is really left in the account, "-0.48 USD"; "" where it does not pay
// ahead.
func (c *Cloud) Balance() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wallet == nil {
		return ""
	}
	return c.balance(c.now).FloatString(6) + " " + c.wallet.currency
}

// BalanceAt is what was really left at a time that is past; nil where the account does
// not pay ahead.
func (c *Cloud) BalanceAt(at time.Time) *big.Rat {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wallet == nil {
		return nil
	}
	return c.balance(at)
}
