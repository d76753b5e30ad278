package vast

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

const (
	// day is the time that one charge covers, the finest there is. A longer one would be
	// another charge in each reading, and count the same time twice.
	day = 24 * time.Hour
	// furthest is how far back is asked at all: each day is a call.
	furthest = 92 * day
)

// record is one line of the bill: what one contract cost in the days that were asked for.
type record struct {
	Start  providers.Field `json:"start"`
	End    providers.Field `json:"end"`
	Type   providers.Field `json:"type"`
	Source providers.Field `json:"source"`
	Amount providers.Field `json:"amount"`
	Items  providers.Field `json:"items"`
}

// key makes a record one that list believes in: it says of what time it is. Two that say all
// the same are one that comes again.
func (r record) key() (string, bool) {
	from, to := r.span()
	return string(slices.Concat(r.Source, r.Type, r.Start, r.End, r.Amount, r.Items)), !from.IsZero() && from.Before(to)
}

// span is the time that a record is of. Its days are told by their beginnings, the last one
// too: four days in the description's example are from the first to the fourth, and come to
// 96 hours.
func (r record) span() (from, to time.Time) {
	from, to = epoch(r.Start), epoch(r.End)
	if !to.IsZero() && to.Equal(to.Truncate(day)) {
		to = to.Add(day)
	}
	return from, to
}

// Charges implements providers.Biller: a call for each day since then, of at most 500
// contracts.
func (p *Provider) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	ctx = providers.Read(ctx)
	now := providers.Clock(ctx)
	from := since.UTC()
	if earliest := now.Add(-furthest); from.Before(earliest) {
		from = earliest
	}
	bill := map[string]guard.Charge{}
	for from = from.Truncate(day); from.Before(now); from = from.Add(day) {
		records, err := list[record](ctx, p, "results", "total", url.Values{
			"select_filters": {fmt.Sprintf(`{"day":{"gte":%d,"lte":%d}}`, from.Unix(), from.Add(day).Unix()-1)},
			"format":         {"table"}, "latest_first": {"false"}, "limit": {"500"},
		}, "api", "v0", "charges")
		for _, r := range records {
			if err == nil {
				err = p.charge(bill, r, from)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read the charges of %s for %s: %w", p.name, from.Format(time.DateOnly), err)
		}
	}
	var out []guard.Charge
	for _, c := range bill {
		if c.To.After(since) && !c.Amount.IsZero() {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b guard.Charge) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Resource.Key(), b.Resource.Key()), cmp.Compare(a.What, b.What))
	})
	return out, nil
}

// charge adds a record of the day that was asked for to the bill.
func (p *Provider) charge(bill map[string]guard.Charge, r record, asked time.Time) error {
	one := guard.Charge{}
	one.From, one.To = r.span()
	switch end := asked.Add(day); {
	case !one.To.After(asked), !one.From.Before(end):
		return nil // of another day
	case one.From.Before(asked), one.To.After(end):
		return fmt.Errorf("%w: a record is not of one day alone", guard.ErrBadReply)
	}
	kind, id, _ := strings.Cut(r.Source.Text(maxWord), "-")
	switch _, ok := number(providers.Field(id)); {
	case ok && kind == "instance":
		one.Resource = p.id(guard.Instance, id)
	case ok && kind == "volume":
		one.Resource = p.id(guard.Volume, id)
	default:
		one.What = cmp.Or(r.Source.Text(maxWord), "of nothing that is named") + " "
	}
	items, err := r.items()
	if err != nil {
		return err
	}
	for _, i := range items {
		c := one
		c.What, c.Amount = one.What+i.what, i.amount
		key := fmt.Sprintf("%s %d %s", c.Resource.Key(), c.From.Unix(), c.What)
		if before, ok := bill[key]; ok {
			if c.Amount, err = before.Amount.Add(c.Amount); err != nil {
				return fmt.Errorf("%w: the sum of a bill's items is no amount", guard.ErrBadReply)
			}
		}
		bill[key] = c
	}
	return nil
}

// item is a part of a record.
type item struct {
	what   string
	amount guard.Money
}

// items are the parts that a record names, gpu, disk, bwd and bwu, where these make up its
// amount, else one for the amount.
func (r record) items() ([]item, error) {
	total, ok := r.Amount.Money(usd)
	if !ok {
		return nil, fmt.Errorf("%w: a record has no amount", guard.ErrBadReply)
	}
	var in []struct {
		Type   providers.Field `json:"type"`
		Amount providers.Field `json:"amount"`
	}
	r.Items.Into(&in)
	sum := new(big.Rat)
	var out []item
	for _, x := range in {
		what := x.Type.Text(maxWord)
		m, ok := x.Amount.Money(usd)
		if !ok || what == "" {
			return []item{{"total", total}}, nil
		}
		sum.Add(sum, m.Rat())
		out = append(out, item{what, m})
	}
	if off := sum.Sub(sum, total.Rat()); off.Abs(off).Cmp(rounding) > 0 || len(out) == 0 {
		return []item{{"total", total}}, nil
	}
	return out, nil
}

// rounding is how far the sum of a record's items may be off its amount, which is rounded
// to three decimals (description).
var rounding = big.NewRat(1, 1000)
