package fake

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
)

// Lump is what a thing is paid ahead with, in the currency of its rate or of the account.
type Lump struct {
	Amount string // a decimal
	// Covers is how long that lasts. What is not renewed then is deleted by the cloud.
	Covers time.Duration
	Renews bool // paid again by itself
}

// Payment is an amount that was paid at once.
type Payment struct {
	At     time.Time
	Amount *big.Rat
}

func (l *Lump) check() error {
	switch {
	case l == nil:
		return nil
	case !decimal.MatchString(l.Amount):
		return fmt.Errorf("lump: %w", noAmount(l.Amount))
	case l.Covers < time.Minute:
		return errors.New("lump: covers must be a minute at least")
	}
	return nil
}

// pay pays a thing ahead, and has it paid again, or deleted, when that is over.
func (c *Cloud) pay(t *thing, at time.Time) {
	l := t.spec.Lump
	if l == nil {
		return
	}
	amount, _ := new(big.Rat).SetString(l.Amount) // checked
	t.paid = append(t.paid, Payment{at, amount})
	c.plan(at.Add(l.Covers), func(at time.Time) {
		switch word := t.last().word; {
		case word == stateGone || word == stateReleasing:
		case t.spec.Lump.Renews:
			c.pay(t, at)
		default:
			c.end(t, endedPlatform, at)
		}
	})
}

// lumps are what was paid ahead until a time.
func (t *thing) lumps(until time.Time) *big.Rat {
	sum := new(big.Rat)
	for _, p := range t.paid {
		if p.At.Before(until) {
			sum.Add(sum, p.Amount)
		}
	}
	return sum
}

// Payments are what was really paid ahead for a thing until now, oldest first.
func (c *Cloud) Payments(id string) []Payment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.find("", id); t != nil {
		return slices.Clone(t.paid)
	}
	return nil
}

type wireLump struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	From     string `json:"from"`
	Until    string `json:"until"`
	Renews   bool   `json:"renews"`
}

// prepaid is what covers a thing at a time, as the API tells it; nil where it is not paid
// ahead.
func (t *thing) prepaid(at time.Time) *wireLump {
	var last *Payment
	for i := range t.paid {
		if !t.paid[i].At.After(at) {
			last = &t.paid[i]
		}
	}
	if last == nil {
		return nil
	}
	l := t.spec.Lump
	return &wireLump{Amount: l.Amount, Currency: t.currency, From: stamp(last.At), Until: stamp(last.At.Add(l.Covers)), Renews: l.Renews}
}

// lump reads what was paid ahead. An amount that makes no sense is not known.
func (f field) lump(currency string) guard.Lump {
	var in struct {
		Amount   field `json:"amount"`
		Currency field `json:"currency"`
		From     field `json:"from"`
		Until    field `json:"until"`
		Renews   field `json:"renews"`
	}
	if !f.Into(&in) || in.From.Time().IsZero() {
		return guard.Lump{}
	}
	if c := in.Currency.Text(8); c != "" {
		currency = c
	}
	l := guard.Lump{From: in.From.Time(), Until: in.Until.Time(), Renews: in.Renews.Tri(), Source: "api"}
	if m := in.Amount.amount(currency); !m.IsNegative() {
		l.Amount = m
	}
	return l
}

// platformEnds is when the cloud will delete what is in a state; nil where it will not.
func (c *Cloud) platformEnds(t *thing, s state) *wireEnd {
	if p := t.prepaid(c.now); p != nil && !p.Renews {
		return &wireEnd{At: p.Until, Why: "paid until then"}
	}
	if c.script.StoppedEnds <= 0 || t.spec.Kind != guard.Instance || s.word != stateStopped {
		return nil
	}
	return &wireEnd{At: stamp(s.at.Add(c.script.StoppedEnds)), Why: "stopped"}
}

type wireEnd struct {
	At  string `json:"at"`
	Why string `json:"why,omitempty"`
}

// ends reads when the cloud deletes the thing by itself.
func (f field) ends() guard.PlatformEnd {
	var in struct {
		At  field `json:"at"`
		Why field `json:"why"`
	}
	if !f.Into(&in) || in.At.Time().IsZero() {
		return guard.PlatformEnd{}
	}
	return guard.PlatformEnd{At: in.At.Time(), Why: in.Why.Text(maxName)}
}
