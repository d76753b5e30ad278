package guard

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/bojanz/currency"
)

// Month is what guard reads as one month where a provider bills by the month:
// 730 hours, as the hyperscalers' calculators do.
const Month = 730 * time.Hour

// Money is an exact decimal amount in an ISO 4217 currency. The zero value is
// "no amount", which is not the same as 0 USD: unknown is never zero.
type Money struct{ a currency.Amount }

// The digits that an amount may have before and after the point.
const (
	maxWhole    = 15
	maxFraction = 18
)

// moneyForm bounds what is parsed: an unbounded exponent makes every later
// addition slow, and nobody rents GPUs for 10^15 of anything.
var moneyForm = regexp.MustCompile(`^([+-]?)(\d{1,15})(?:\.(\d{1,18}))?\s*([A-Za-z]{3})$`)

// ParseMoney reads "2400 CNY", "2400CNY" or "2.50usd". A missing or unknown
// currency, an exponent and thousands separators are errors.
func ParseMoney(s string) (Money, error) {
	m := moneyForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return Money{}, fmt.Errorf("%w: %q is not an amount of money: write a number and a currency, such as 40USD or 2400.50CNY", ErrInvalid, clip(s))
	}
	number := m[2]
	if m[3] != "" {
		number += "." + m[3]
	}
	if m[1] == "-" {
		number = "-" + number
	}
	return NewMoney(number, m[4])
}

// NewMoney makes an amount of a decimal number and a currency code.
func NewMoney(number, code string) (Money, error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	if !currency.IsValid(code) {
		return Money{}, fmt.Errorf("%w: %q is not an ISO 4217 currency code, such as USD, EUR or CNY", ErrInvalid, clip(code))
	}
	if !moneyForm.MatchString(number + code) {
		return Money{}, fmt.Errorf("%w: %q is not a decimal number of at most 15 digits before and 18 after the point", ErrInvalid, clip(number))
	}
	a, err := currency.NewAmount(number, code)
	if err != nil {
		return Money{}, fmt.Errorf("%w: amount %q %s", ErrInvalid, clip(number), code)
	}
	return Money{a}, nil
}

// MustMoney is ParseMoney for constants; it panics on an error.
func MustMoney(s string) Money {
	m, err := ParseMoney(s)
	if err != nil {
		panic(err)
	}
	return m
}

// ZeroMoney is an amount of nothing in a currency that is known to be valid.
func ZeroMoney(code string) Money {
	a, err := currency.NewAmountFromInt64(0, code)
	if err != nil {
		panic(err)
	}
	return Money{a}
}

// MoneyFromRat rounds an exact fraction to 12 decimal places, half up. Sums are
// kept as fractions and rounded here once, at their end.
func MoneyFromRat(r *big.Rat, code string) (Money, error) {
	a, err := currency.NewAmount(r.FloatString(12), strings.ToUpper(code))
	if err != nil {
		return Money{}, fmt.Errorf("%w: currency %q", ErrInvalid, clip(code))
	}
	return Money{a}, nil
}

// IsSet reports whether there is an amount at all.
func (m Money) IsSet() bool { return m.a.CurrencyCode() != "" }

// Currency is the ISO 4217 code; "" where there is no amount.
func (m Money) Currency() string { return m.a.CurrencyCode() }

// IsZero reports an amount of exactly nothing; false where there is no amount.
func (m Money) IsZero() bool { return m.IsSet() && m.a.IsZero() }

// IsPositive reports whether the amount is set and above nothing.
func (m Money) IsPositive() bool { return m.IsSet() && m.a.IsPositive() }

// IsNegative reports whether the amount is set and below nothing.
func (m Money) IsNegative() bool { return m.IsSet() && m.a.IsNegative() }

// Rat is the amount as an exact fraction; zero where there is no amount, so ask
// IsSet first.
func (m Money) Rat() *big.Rat {
	r := new(big.Rat)
	if m.IsSet() {
		r.SetString(m.a.Number())
	}
	return r
}

// Add sums two amounts of one currency. Different currencies, or no amount on
// either side, is ErrCurrency.
func (m Money) Add(n Money) (Money, error) {
	if err := m.match(n, "add"); err != nil {
		return Money{}, err
	}
	a, err := m.a.Add(n.a)
	return Money{a}, err
}

// Sub subtracts as Add adds.
func (m Money) Sub(n Money) (Money, error) {
	if err := m.match(n, "subtract"); err != nil {
		return Money{}, err
	}
	a, err := m.a.Sub(n.a)
	return Money{a}, err
}

// Cmp compares two amounts of one currency, as Add sums them.
func (m Money) Cmp(n Money) (int, error) {
	if err := m.match(n, "compare"); err != nil {
		return 0, err
	}
	return m.a.Cmp(n.a)
}

// Equal reports the same currency and amount; two unset amounts are equal.
func (m Money) Equal(n Money) bool {
	if !m.IsSet() || !n.IsSet() {
		return m.IsSet() == n.IsSet()
	}
	return m.a.Equal(n.a)
}

// Percent is p hundredths of the amount.
func (m Money) Percent(p int) Money {
	if !m.IsSet() {
		return Money{}
	}
	out, err := MoneyFromRat(new(big.Rat).Mul(m.Rat(), big.NewRat(int64(p), 100)), m.Currency())
	if err != nil {
		return Money{}
	}
	return out
}

// Round rounds half up to the currency's own digits, for people to read: what is less
// than half of one is nothing, and has no sign.
func (m Money) Round() Money {
	if !m.IsSet() {
		return m
	}
	out := Money{m.a.Round()}
	if out.IsZero() {
		return ZeroMoney(m.Currency())
	}
	return out
}

// String is "2400.00 CNY", with all digits that the amount has and at least the
// currency's own; "unknown" where there is no amount.
func (m Money) String() string {
	if !m.IsSet() {
		return "unknown"
	}
	number := m.a.Number()
	if strings.ContainsAny(number, "eE") { // what the library makes of 0.0000001
		number = m.Rat().FloatString(maxFraction)
	}
	digits, _ := currency.GetDigits(m.Currency())
	whole, frac, _ := strings.Cut(number, ".")
	for len(frac) > int(digits) && strings.HasSuffix(frac, "0") {
		frac = frac[:len(frac)-1]
	}
	for len(frac) < int(digits) {
		frac += "0"
	}
	if frac != "" {
		whole += "." + frac
	}
	return whole + " " + m.Currency()
}

// MarshalText writes the exact amount as String does; nothing where unset. A sum
// that UnmarshalText would not read again is ErrInvalid: no record may hold it.
func (m Money) MarshalText() ([]byte, error) {
	if !m.IsSet() {
		return nil, nil
	}
	text := m.String()
	if strings.IndexAny(strings.TrimPrefix(text, "-"), ". ") > maxWhole {
		return nil, fmt.Errorf("%w: %s has more than %d digits before the point", ErrInvalid, clip(text), maxWhole)
	}
	return []byte(text), nil
}

// UnmarshalText reads what MarshalText wrote.
func (m *Money) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*m = Money{}
		return nil
	}
	v, err := ParseMoney(string(b))
	if err != nil {
		return err
	}
	*m = v
	return nil
}

func (m Money) match(n Money, verb string) error {
	if !m.IsSet() || !n.IsSet() || m.Currency() != n.Currency() {
		return fmt.Errorf("%w: cannot %s %s and %s", ErrCurrency, verb, m, n)
	}
	return nil
}

// clip keeps an error readable when the value in it came from outside.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
