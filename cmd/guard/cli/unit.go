package cli

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
)

// perGPU is what one of several GPUs costs an hour; false where there are not several, or
// nobody knows.
func perGPU(it wire.Item) (guard.Money, bool) {
	if it.Rate == nil || it.GPUs < 2 {
		return guard.Money{}, false
	}
	whole, err := guard.ParseMoney(*it.Rate)
	if err != nil {
		return guard.Money{}, false
	}
	each, err := guard.MoneyFromRat(new(big.Rat).Quo(whole.Rat(), big.NewRat(int64(it.GPUs), 1)), whole.Currency())
	return each.Round(), err == nil
}

// cards is what one GPU costs beside what the whole of it does; "" where the price was
// quoted so already, for an hour.
func cards(it wire.Item) string {
	each, ok := perGPU(it)
	if !ok || strings.HasSuffix(it.RateQuote, " per gpu per hour") {
		return ""
	}
	return fmt.Sprintf("; %s for each of its %d GPUs", each, it.GPUs)
}

// What people round a budget to: down hardly, up freely. Half of what a machine costs, or
// twice of it, may be meant: with few GPUs it has to be that to a hair.
var (
	leastRound = big.NewRat(19, 20)
	hair       = big.NewRat(21, 20)
	mostRound  = big.NewRat(5, 4)
)

// few is the number of GPUs below which a factor of that many is no evidence by itself.
const few = 4

// otherUnit warns of a budget that was evidently reckoned in the other unit: it is what one
// GPU of several costs until the expiry, or what the whole machine would if its price were
// that of one GPU; "" where it is neither.
func otherUnit(r wire.Registered) string {
	it := r.Item
	if it.Budget == nil || it.Rate == nil || it.GPUs < 2 || it.ExpiresAt == nil || !it.ExpiresAt.After(r.Now) {
		return ""
	}
	budget, err := guard.ParseMoney(*it.Budget)
	rate, wrong := guard.ParseMoney(*it.Rate)
	if err != nil || wrong != nil || rate.Currency() != budget.Currency() || !rate.IsPositive() {
		return ""
	}
	lasts := it.ExpiresAt.Sub(r.Now)
	whole := new(big.Rat).Mul(rate.Rat(), big.NewRat(int64(lasts), int64(time.Hour)))
	costs, err := guard.MoneyFromRat(whole, rate.Currency())
	if err != nil {
		return ""
	}
	of := new(big.Rat).Quo(budget.Rat(), whole)
	gpus, most := big.NewRat(int64(it.GPUs), 1), mostRound
	if it.GPUs < few {
		most = hair
	}
	about := func(x *big.Rat) bool { return x.Cmp(leastRound) >= 0 && x.Cmp(most) <= 0 }
	switch {
	case about(new(big.Rat).Mul(of, gpus)):
		return fmt.Sprintf("the budget of %s is about what one of its %d GPUs costs until the expiry. All of it costs %s until then (%s an hour), and guard counts all of it",
			*it.Budget, it.GPUs, costs.Round(), *it.Rate)
	case it.GPUs >= few && about(new(big.Rat).Quo(of, gpus)):
		return fmt.Sprintf("the budget of %s is about %d times what it costs until the expiry, %s: %s an hour is the price of all its %d GPUs, not of one",
			*it.Budget, it.GPUs, costs.Round(), *it.Rate, it.GPUs)
	}
	return ""
}
