package guard

import "math/big"

// Exchange are the rates that amounts of several currencies are added up and compared
// by. Nothing is ever billed or capped by them: a cap counts in its own currency.
type Exchange struct {
	// Base is the currency that everything is added up in; "": there is none.
	Base string
	// Rates are what one of a currency is in Base.
	Rates map[string]*big.Rat
}

// To is an amount in another currency; false where no rate is known.
func (x Exchange) To(m Money, currency string) (Money, bool) {
	if m.Currency() == currency {
		return m, m.IsSet()
	}
	from, to := x.rate(m.Currency()), x.rate(currency)
	if from == nil || to == nil || !m.IsSet() {
		return Money{}, false
	}
	sum := new(big.Rat).Mul(m.Rat(), from)
	out, err := MoneyFromRat(sum.Quo(sum, to), currency)
	return out, err == nil
}

// rate is what one of a currency is in Base; nil where that is not known.
func (x Exchange) rate(currency string) *big.Rat {
	if currency == x.Base && currency != "" {
		return big.NewRat(1, 1)
	}
	if r := x.Rates[currency]; r != nil && r.Sign() > 0 {
		return r
	}
	return nil
}
