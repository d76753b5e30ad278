package autodl

import (
	"context"
	"fmt"
	"net/http"

	"guard"
	"guard/providers"
)

// Balance implements providers.Balancer: what is in the account, in yuan, less what is blocked.
// Vouchers are not counted, which not everything can be paid with.
func (p *Provider) Balance(ctx context.Context) (guard.Balance, error) {
	data, err := p.ask(ctx, http.MethodPost, nil, nil, walletPath)
	var left guard.Money
	if err = always(err); err == nil {
		left, err = leftOf(data)
	}
	if err != nil {
		return guard.Balance{}, fmt.Errorf("read the balance of %s: %w", p.name, err)
	}
	return guard.Balance{Amount: left}, nil
}

// leftOf is what can be spent. Of what is blocked the pages say nothing, but answers have it
// (users).
func leftOf(data providers.Field) (guard.Money, error) {
	var wallet struct {
		Assets  providers.Field `json:"assets"`
		Blocked providers.Field `json:"blocked_asset"`
	}
	data.Into(&wallet)
	left, ok := yuan(wallet.Assets)
	if !ok {
		return guard.Money{}, fmt.Errorf("%w: the answer has no amount in it", guard.ErrBadReply)
	}
	if wallet.Blocked.Null() {
		return left, nil
	}
	blocked, ok := yuan(wallet.Blocked)
	if !ok || blocked.IsNegative() {
		return guard.Money{}, fmt.Errorf("%w: how much is blocked is no amount", guard.ErrBadReply)
	}
	return left.Sub(blocked)
}
