package guard

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Rate is a price over time as somebody quoted it: Amount for each unit for
// each Per. The zero Rate is unknown. A rate of nothing counts as unknown too
// (catalogues write 0 where they mean "no price") unless Free says otherwise.
type Rate struct {
	// Amount is the price of one unit for one Per, in its currency. It is never
	// left out of JSON: omitzero would ask Money.IsZero and drop a free price.
	Amount Money `json:"amount"`
	// Per is the period the amount is for: time.Hour, Month, time.Second.
	Per time.Duration `json:"per,omitzero"`
	// Units is how many units are billed, a decimal: "8" GPUs, "500" GB. Empty
	// is one: the quote is for the whole thing.
	Units string `json:"units,omitzero"`
	// Unit names what the quote is for: "machine", "gpu", "gb". Empty: machine.
	Unit string `json:"unit,omitzero"`
	// Free says that nothing is really the price.
	Free bool `json:"free,omitzero"`
	// Source says where the number comes from: "api", "price book", "person".
	Source string `json:"source,omitzero"`
}

// maxHourly is the whole-machine price per hour from which on a number is noise,
// not a price, in any currency we know GPU rents in: ten to maxHourlyDigits.
var maxHourly = big.NewRat(1_000_000_000, 1)

const maxHourlyDigits = 9

// maxUnits is how long a number of units may be, in bytes.
const maxUnits = 20

// Known reports whether spend can be computed with the rate.
func (r Rate) Known() bool {
	if !r.Amount.IsSet() || r.Per <= 0 || r.Amount.IsNegative() {
		return false
	}
	units, plain := decimal(r.Units)
	plain = plain && len(r.Units) <= maxUnits
	if r.Units != "" && !plain && r.units().Sign() <= 0 {
		return false
	}
	if r.Amount.IsZero() {
		return r.Free
	}
	// This is asked all the time, so what few digits tell is not worked out.
	if amount, ok := decimal(r.Amount.a.Number()); ok && (plain || r.Units == "") && amount+units+perHour(r.Per) <= maxHourlyDigits {
		return true
	}
	return r.over(time.Hour).Cmp(maxHourly) < 0
}

// decimal reads a number above zero of digits and a point alone: it is below ten to
// the returned number of digits.
func decimal(s string) (digits int, ok bool) {
	if len(s) > maxWhole+1+maxFraction {
		return 0, false
	}
	points := 0
	for _, c := range []byte(s) {
		switch {
		case c == '.':
			points++
		case c < '0' || c > '9':
			return 0, false
		case points == 0 && (digits > 0 || c != '0'):
			digits++
		}
		ok = ok || c > '0'
	}
	return digits, ok && points <= 1
}

// perHour is a number of digits such that an hour has at most ten to it periods.
func perHour(period time.Duration) (digits int) {
	for ; period < time.Hour; period *= 10 {
		digits++
	}
	return digits
}

// Currency is the rate's currency; "" where it has none.
func (r Rate) Currency() string { return r.Amount.Currency() }

// Hourly is the price of the whole thing for one hour; false where unknown.
func (r Rate) Hourly() (Money, bool) { return r.For(time.Hour) }

// For is the price of the whole thing for d, rounded to 12 decimal places;
// false where unknown.
func (r Rate) For(d time.Duration) (Money, bool) {
	if !r.Known() {
		return Money{}, false
	}
	m, err := MoneyFromRat(r.over(d), r.Currency())
	return m, err == nil
}

// Over is the exact price of the whole thing for d; nil where unknown.
func (r Rate) Over(d time.Duration) *big.Rat {
	if !r.Known() {
		return nil
	}
	return r.over(d)
}

func (r Rate) over(d time.Duration) *big.Rat {
	x := new(big.Rat).Mul(r.Amount.Rat(), r.units())
	return x.Mul(x, big.NewRat(int64(d), int64(r.Per)))
}

func (r Rate) units() *big.Rat {
	if r.Units == "" {
		return big.NewRat(1, 1)
	}
	if len(r.Units) > maxUnits || strings.ContainsAny(r.Units, "eE/") {
		return new(big.Rat)
	}
	u, ok := new(big.Rat).SetString(r.Units)
	if !ok {
		return new(big.Rat)
	}
	return u
}

// Lasts is how long the amount m buys at this rate, rounded down. It is false
// where the rate is unknown or free, the currency differs, or the answer is
// beyond a century.
func (r Rate) Lasts(m Money) (time.Duration, bool) {
	if !r.Known() || r.Amount.IsZero() || m.Currency() != r.Currency() {
		return 0, false
	}
	per := r.over(time.Second)
	q := new(big.Rat).Quo(m.Rat(), per)
	q.Mul(q, big.NewRat(int64(time.Second), 1))
	n := new(big.Int).Quo(q.Num(), q.Denom())
	const century = 100 * 365 * 24 * time.Hour
	if !n.IsInt64() || n.Int64() > int64(century) {
		return 0, false
	}
	return time.Duration(n.Int64()), true
}

// UnitWorker is the unit of a thing that starts and ends parts of itself as its load
// asks: another number of them is not another price.
const UnitWorker = "worker"

// Beside are the exact amounts for d by which two rates are compared as prices: of the whole
// thing, and of one worker where both are quoted so. One is nil where its rate is unknown.
func (r Rate) Beside(o Rate, d time.Duration) (mine, others *big.Rat) {
	if r.Unit == UnitWorker && o.Unit == UnitWorker {
		r.Units, o.Units = "", ""
	}
	return r.Over(d), o.Over(d)
}

// Same reports whether two rates bill the same, whoever quoted them. Two
// unknown rates are the same.
func (r Rate) Same(o Rate) bool {
	if r == o {
		return true
	}
	if !r.Known() || !o.Known() {
		return r.Known() == o.Known()
	}
	return r.Currency() == o.Currency() && r.over(time.Hour).Cmp(o.over(time.Hour)) == 0
}

// String is the whole thing's price per hour, and the quote it comes from where
// that differs: "32.00 USD per hour (8 × 4.00 USD per gpu per hour)".
func (r Rate) String() string {
	h, ok := r.Hourly()
	if !ok {
		return "unknown"
	}
	s := h.display() + " per hour"
	if q := r.Quote(); q != "" && q != s {
		s += " (" + q + ")"
	}
	return s
}

// display shows at most six decimals, so that 1/730 stays readable.
func (m Money) display() string {
	return Money{m.a.RoundTo(6, 1)}.String()
}

// Quote is the price as it was quoted: "8 × 4.00 USD per gpu per hour".
func (r Rate) Quote() string {
	if !r.Known() {
		return ""
	}
	s := r.Amount.String()
	if r.Unit != "" && r.Unit != "machine" {
		s += " per " + r.Unit
	}
	s += " per " + perWord(r.Per)
	if r.Units != "" && r.Units != "1" {
		s = r.Units + " × " + s
	}
	return s
}

func perWord(d time.Duration) string {
	switch d {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	case 24 * time.Hour:
		return "day"
	case Month:
		return "month"
	}
	return d.String()
}

// perOf reads the period of a quote; a bare number is not one.
func perOf(s string) (time.Duration, bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "s", "sec", "second":
		return time.Second, true
	case "m", "min", "minute":
		return time.Minute, true
	case "h", "hr", "hour":
		return time.Hour, true
	case "d", "day":
		return 24 * time.Hour, true
	case "mo", "month":
		return Month, true
	}
	return 0, false
}

// ParseRate reads a whole machine's price as a person states it: "2.50USD/h",
// "40 CNY/day". The period must be there: guard never assumes one.
func ParseRate(s string) (Rate, error) {
	amount, per, ok := strings.Cut(s, "/")
	d, okPer := perOf(per)
	if !ok || !okPer {
		return Rate{}, fmt.Errorf("%w: price %q needs a period: write it as 2.50USD/h (h, day or month), for the whole machine", ErrInvalid, clip(s))
	}
	m, err := ParseMoney(amount)
	if err != nil {
		return Rate{}, fmt.Errorf("price: %w", err)
	}
	if !m.IsPositive() {
		return Rate{}, fmt.Errorf("%w: price %q must be above zero", ErrInvalid, clip(s))
	}
	r := Rate{Amount: m, Per: d, Unit: "machine", Source: "person"}
	if !r.Known() {
		return Rate{}, fmt.Errorf("%w: price %q is beyond any machine's; check the number and the period", ErrInvalid, clip(s))
	}
	return r, nil
}

// PerGPU returns the rate of n GPUs quoted at r for one.
func (r Rate) PerGPU(n int) Rate {
	r.Unit, r.Units = "gpu", strconv.Itoa(n)
	return r
}

// PerGB returns the rate of a number of GB quoted at r for one.
func (r Rate) PerGB(n int64) Rate {
	r.Unit, r.Units = "gb", strconv.FormatInt(n, 10)
	return r
}
