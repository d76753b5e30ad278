package fake

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

// Charge is a line of the cloud's own bill, for what lasted until the event.
type Charge struct {
	ID     string
	Amount string // "31 CNY"
	Covers time.Duration
}

// line is one line of the bill.
type line struct {
	of       *thing
	from, to time.Time
	amount   *big.Rat
	currency string
}

var _ providers.Biller = Paid{}

func (ch *Charge) check() error {
	if ch == nil {
		return nil
	}
	if _, err := guard.ParseMoney(ch.Amount); err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	if ch.Covers < time.Second {
		return errors.New("charge: covers must be a second at least")
	}
	return nil
}

// bills reports whether the cloud tells its own bill.
func (s *Script) bills() bool {
	return s.Bill > 0 || slices.ContainsFunc(s.Timeline, func(e Event) bool { return e.Charge != nil })
}

// billed puts a line on the bill.
func (c *Cloud) billed(ch Charge, at time.Time) {
	m, err := guard.ParseMoney(ch.Amount)
	if t := c.find("", ch.ID); t != nil && err == nil {
		c.bill = append(c.bill, line{t, at.Add(-ch.Covers), at, m.Rat(), m.Currency()})
	}
}

// lines are those that end after a time. Where the cloud bills by the hour or so, each
// stretch that is over is a line of what it really cost.
func (c *Cloud) lines(since time.Time) []line {
	out := slices.Clone(c.bill)
	every := c.script.Bill
	for _, t := range c.things {
		if every <= 0 {
			break
		}
		from := t.created.Truncate(every)
		if first := since.Truncate(every); first.After(from) {
			from = first
		}
		for ; !from.Add(every).After(c.now); from = from.Add(every) {
			to := from.Add(every)
			cost := new(big.Rat).Add(t.spend(c.script.Billing, to), c.carried(t, to))
			cost.Sub(cost, t.spend(c.script.Billing, from)).Sub(cost, c.carried(t, from))
			if cost.Sign() > 0 {
				out = append(out, line{t, from, to, cost, t.currency})
			}
		}
	}
	out = slices.DeleteFunc(out, func(l line) bool { return !l.to.After(since) || l.of.spec.Identity != c.identity })
	slices.SortStableFunc(out, func(a, b line) int { return a.from.Compare(b.from) })
	return out
}

type wireLine struct {
	Kind     guard.Kind `json:"kind"`
	ID       string     `json:"id"`
	From     string     `json:"from"`
	To       string     `json:"to"`
	Amount   string     `json:"amount"`
	Currency string     `json:"currency"`
}

// charges answers the bill.
func (c *Cloud) charges(o op, odd Reply) answer {
	if !c.script.bills() {
		return ok(map[string]any{"unsupported": true})
	}
	lines := []any{}
	for _, l := range c.lines(o.from) {
		w := wireLine{l.of.spec.Kind, l.of.spec.ID, stamp(l.from), stamp(l.to), strings.TrimRight(l.amount.FloatString(12), "0") + "0", l.currency}
		lines = append(lines, disguise(w, odd))
	}
	return ok(map[string]any{"lines": lines})
}

// Charges implements providers.Biller.
func (p timedPaid) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	return p.Paid().Charges(ctx, since)
}

// Charges implements providers.Biller. A bill of which one line makes no sense is none.
func (p Paid) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	var in struct {
		Unsupported bool `json:"unsupported"`
		Lines       []struct {
			Kind     field `json:"kind"`
			ID       field `json:"id"`
			From     field `json:"from"`
			To       field `json:"to"`
			Amount   field `json:"amount"`
			Currency field `json:"currency"`
		} `json:"lines"`
	}
	fail := func(err error) ([]guard.Charge, error) {
		return nil, fmt.Errorf("read the bill of %s: %w", p.cfg.Account, err)
	}
	if err := p.api.Get(ctx, &in, url.Values{"since": {stamp(since)}}, "v1", "charges"); err != nil {
		return fail(err)
	}
	if in.Unsupported {
		return fail(guard.ErrUnsupported)
	}
	if in.Lines == nil {
		return fail(fmt.Errorf("%w: the answer has no lines", guard.ErrBadReply))
	}
	var out []guard.Charge
	for _, l := range in.Lines {
		c := guard.Charge{What: "total", From: l.From.Time(), To: l.To.Time(), Amount: l.Amount.amount(l.Currency.Text(8))}
		var named bool
		c.Resource, named = p.id(l.Kind, l.ID, "")
		if !named || c.From.IsZero() || !c.From.Before(c.To) || !c.Amount.IsSet() {
			return fail(fmt.Errorf("%w: a line does not say for what, when or how much", guard.ErrBadReply))
		}
		if c.To.After(since) {
			out = append(out, c)
		}
	}
	return out, nil
}

// readSince is the since of a query; zero where there is none.
func readSince(r *http.Request) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("since"))
	return at
}
