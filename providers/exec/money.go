package exec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// Balance implements providers.Balancer.
func (p *Provider) Balance(ctx context.Context) (guard.Balance, error) {
	var in struct {
		Amount   providers.Field `json:"amount"`
		Credit   providers.Field `json:"credit"`
		Currency providers.Field `json:"currency"`
		At       providers.Field `json:"at"`
	}
	_, err := p.can(ctx, callBalance)
	if err == nil {
		err = p.read(ctx, callBalance, struct{}{}, &in)
	}
	b := guard.Balance{At: in.At.Time()}
	if err == nil {
		var ok bool
		if b.Amount, ok = money(in.Amount, in.Currency); !ok {
			err = fmt.Errorf("%w: the answer has no amount with a currency", guard.ErrBadReply)
		}
		b.Credit, _ = money(in.Credit, in.Currency)
	}
	if err != nil {
		return guard.Balance{}, p.says("read the balance of", err)
	}
	return b, nil
}

// chargesArgs ask for a page of what was charged for a time after Since.
type chargesArgs struct {
	Since string `json:"since"`
	Page  string `json:"page,omitzero"`
}

// Charges implements providers.Biller.
func (p *Provider) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	var out []guard.Charge
	_, err := p.can(ctx, callCharges)
	if err == nil {
		args := func(page string) any { return chargesArgs{since.UTC().Format(time.RFC3339Nano), page} }
		err = p.pages(ctx, callCharges, "charges", args, func(item providers.Field) error {
			c, ok := p.charge(item)
			if !ok {
				return fmt.Errorf("%w: a charge has no times or no amount", guard.ErrBadReply)
			}
			if c.To.After(since) {
				out = append(out, c)
			}
			return nil
		})
	}
	if err != nil {
		return nil, p.says("read the charges of", err)
	}
	slices.SortStableFunc(out, func(a, b guard.Charge) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Resource.Key(), b.Resource.Key()))
	})
	return out, nil
}

func (p *Provider) charge(item providers.Field) (guard.Charge, bool) {
	var in struct {
		Kind     providers.Field `json:"kind"`
		ID       providers.Field `json:"id"`
		Scope    providers.Field `json:"scope"`
		What     providers.Field `json:"what"`
		From     providers.Field `json:"from"`
		To       providers.Field `json:"to"`
		Amount   providers.Field `json:"amount"`
		Currency providers.Field `json:"currency"`
	}
	if !item.Into(&in) {
		return guard.Charge{}, false
	}
	c := guard.Charge{What: in.What.Text(maxWord), From: in.From.Time(), To: in.To.Time()}
	var ok bool
	if c.Amount, ok = money(in.Amount, in.Currency); !ok || c.From.IsZero() || c.To.Before(c.From) {
		return guard.Charge{}, false
	}
	if !in.ID.Null() {
		id, ok := in.ID.ID(maxID)
		kind := guard.Kind(cmp.Or(in.Kind.Text(maxWord), string(guard.Instance)))
		if !ok || !slices.Contains(guard.Kinds, kind) {
			return guard.Charge{}, false
		}
		c.Resource = guard.ResourceID{Account: p.name, Kind: kind, Scope: in.Scope.Text(maxName), ID: id}
	}
	return c, true
}
