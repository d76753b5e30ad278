package fake

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"guard"
)

// Traffic is what traffic in one direction costs, as a scenario writes it, in the
// currency of the thing's own rate.
type Traffic struct {
	Amount string // a decimal; "unknown" where the API does not say
	// UpTo is the most that an unknown amount can be; "" is not said either.
	UpTo   string
	Per    string // gb: 10⁹ bytes
	FreeGB int64  // of egress: in each calendar month (UTC), for all that have this price together
}

// unsaid is an amount that the API does not tell. The fake's own meter charges nothing
// for it, for it does not know it either.
const unsaid = "unknown"

func (tr *Traffic) check(key string) error {
	switch {
	case tr == nil:
		return nil
	case tr.Amount != unsaid && !decimal.MatchString(tr.Amount):
		return fmt.Errorf("%s: %q is not a decimal number, or unknown", key, tr.Amount)
	case tr.UpTo != "" && (tr.Amount != unsaid || !decimal.MatchString(tr.UpTo)):
		return fmt.Errorf("%s: upto is a decimal number, beside amount: unknown", key)
	case tr.Per != "gb":
		return fmt.Errorf("%s: per %q must be gb", key, tr.Per)
	case tr.FreeGB < 0 || tr.FreeGB > maxGB || tr.FreeGB > 0 && key == "ingress":
		return fmt.Errorf("%s: free_gb must be from 0 to %d, of egress", key, maxGB)
	}
	return nil
}

// traffic is the price of a thing's traffic: its own, or of an instance the account's.
func (c *Cloud) traffic(t *thing) (out, in *Traffic) {
	out, in = t.spec.Egress, t.spec.Ingress
	if t.spec.Kind == guard.Instance {
		if out == nil {
			out = c.script.Egress
		}
		if in == nil {
			in = c.script.Ingress
		}
	}
	return out, in
}

// wireTraffic is a price as the API tells it.
type wireTraffic struct {
	Amount   *string `json:"amount"` // null where it does not say
	UpTo     string  `json:"up_to,omitempty"`
	Per      string  `json:"per"`
	FreeGB   int64   `json:"free_gb,omitempty"`
	Currency string  `json:"currency"`
}

func (tr *Traffic) quote(currency string) *wireTraffic {
	if tr == nil {
		return nil
	}
	w := &wireTraffic{UpTo: tr.UpTo, Per: tr.Per, FreeGB: tr.FreeGB, Currency: currency}
	if tr.Amount != unsaid {
		w.Amount = &tr.Amount
	}
	return w
}

// Sent is how many bytes the thing has really sent until now, whatever its counters
// did meanwhile.
func (c *Cloud) Sent(id string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find("", id)
	if t == nil {
		return 0
	}
	sent, _ := t.watch.bytes(c.now)
	return uint64(sent)
}

// carried is what a thing's traffic has cost until a time. What is free in a month is
// used up in the order in which it was sent, by all that have the same price.
func (c *Cloud) carried(t *thing, until time.Time) *big.Rat {
	sum := new(big.Rat)
	charge := func(tr *Traffic, bytes float64) {
		amount, _ := new(big.Rat).SetString(tr.Amount) // checked
		amount.Quo(amount, big.NewRat(guard.GB, 1))
		sum.Add(sum, amount.Mul(amount, new(big.Rat).SetFloat64(bytes)))
	}
	out, in := c.traffic(t)
	sent, received := t.watch.bytes(until)
	if in != nil && in.Amount != unsaid {
		charge(in, received)
	}
	switch {
	case out == nil || out.Amount == unsaid:
	case out.FreeGB == 0:
		charge(out, sent)
	default:
		charge(out, c.beyond(t, out, until))
	}
	return sum
}

// beyond are the bytes that a thing has sent when nothing was free any more.
func (c *Cloud) beyond(t *thing, price *Traffic, until time.Time) float64 {
	var alike []*watch
	begin := t.created
	for _, x := range c.things {
		if out, _ := c.traffic(x); out == price {
			alike = append(alike, x.watch)
		}
	}
	sent := func(from, to time.Time, of ...*watch) (sum float64) {
		for _, w := range of {
			was, _ := w.bytes(from)
			is, _ := w.bytes(to)
			sum += is - was
		}
		return sum
	}
	sum, free := 0.0, float64(price.FreeGB)*guard.GB
	for month := time.Date(begin.Year(), begin.Month(), 1, 0, 0, 0, 0, time.UTC); month.Before(until); month = month.AddDate(0, 1, 0) {
		end := month.AddDate(0, 1, 0)
		if until.Before(end) {
			end = until
		}
		if sent(month, end, alike...) <= free {
			continue
		}
		lo, hi := month, end // it is used up between them
		for hi.Sub(lo) > time.Nanosecond {
			if mid := lo.Add(hi.Sub(lo) / 2); sent(month, mid, alike...) <= free {
				lo = mid
			} else {
				hi = mid
			}
		}
		sum += sent(hi, end, t.watch)
	}
	return sum
}

// bytes are those sent and received until a time.
func (w *watch) bytes(at time.Time) (sent, received float64) {
	i, _ := slices.BinarySearchFunc(w.marks, at, func(m mark, t time.Time) int {
		if m.at.After(t) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return 0, 0
	}
	now := w.marks[i-1].until(at)
	return now.sent, now.received
}
