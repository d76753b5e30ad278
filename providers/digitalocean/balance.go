package digitalocean

import (
	"context"
	"fmt"
	"math/big"

	"guard"
	"guard/providers"
)

// Balance implements providers.Balancer, for an account that is configured to pay ahead;
// another is guard.ErrUnsupported, for one that is sent invoices always owes something. The
// API tells what is owed, the month's usage included; credit is owed by DigitalOcean.
func (p *Provider) Balance(ctx context.Context) (guard.Balance, error) {
	if !p.prepaid {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w: it is not configured as prepaid", p.name, guard.ErrUnsupported)
	}
	reply, err := p.read(providers.Read(ctx), "v2/customers/my/balance", nil)
	if isAbsent(err) {
		err = fmt.Errorf("%w: there is no balance", guard.ErrBadReply)
	}
	if err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w", p.name, err)
	}
	owed, err := guard.NewMoney(reply["month_to_date_balance"].Text(maxWord), usd)
	if err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w: it is not told", p.name, guard.ErrBadReply)
	}
	left, err := guard.MoneyFromRat(new(big.Rat).Neg(owed.Rat()), usd)
	if err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w: it is no amount", p.name, guard.ErrBadReply)
	}
	return guard.Balance{Amount: left, At: reply["generated_at"].Time()}, nil
}
