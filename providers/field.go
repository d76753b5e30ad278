package providers

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"guard"
)

// Field is one value of a JSON reply before anybody believes in its type: one odd field
// must not cost the record that it stands in, nor one odd record the list. What is not of
// the type that is asked for is not known.
type Field []byte

// UnmarshalJSON keeps the value as it came.
func (f *Field) UnmarshalJSON(b []byte) error {
	*f = append((*f)[:0], b...)
	return nil
}

// Null reports whether there is no value: it is left out, or null.
func (f Field) Null() bool { return len(f) == 0 || bytes.Equal(f, []byte("null")) }

// Into fills v, and reports whether there is a value that has its shape.
func (f Field) Into(v any) bool { return !f.Null() && json.Unmarshal(f, v) == nil }

// Text is a string made safe to keep, see [Text]; "" for anything else.
func (f Field) Text(most int) string { return Text(f.string(), most) }

// string is what a string says; "" for anything else.
func (f Field) string() string {
	n := len(f) - 1
	if n < 1 || f[0] != '"' {
		return ""
	}
	if !bytes.ContainsAny(f[1:n], `"\`) && utf8.Valid(f) {
		return string(f[1:n]) // nothing in it is escaped, as in most
	}
	var s string
	if !f.Into(&s) {
		return ""
	}
	return s
}

// ID is a string that names a thing: as it came, for a shortened or a cleaned one would
// name another. It is false for anything else, and for one that is empty, longer than most
// bytes, or would not survive [Text].
func (f Field) ID(most int) (string, bool) {
	s := f.string()
	if s == "" || len(s) > most || Text(s, most) != s {
		return "", false
	}
	return s, true
}

// Tri is what true and false say.
func (f Field) Tri() guard.Tri {
	switch string(f) {
	case "true":
		return guard.Yes
	case "false":
		return guard.No
	}
	return guard.Unknown
}

// Time is an RFC 3339 time of this century in UTC; zero for anything else.
func (f Field) Time() time.Time {
	at, err := time.Parse(time.RFC3339Nano, f.Text(64))
	if err != nil {
		return time.Time{}
	}
	if at = at.UTC(); at.Year() < 2000 || at.Year() > 2100 {
		return time.Time{}
	}
	return at
}

// Count is a whole number from 0 to most; false for anything else.
func (f Field) Count(most int64) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(string(f), ".0"), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, false
	}
	return n, true
}

// Gauge is a number of any size or sign.
func (f Field) Gauge() guard.Gauge {
	v, err := strconv.ParseFloat(f.number(), 64)
	if err != nil {
		return guard.Gauge{}
	}
	return guard.Known(v)
}

// Money is a number as an amount of a currency, taken from its digits: exactly, or rounded
// to 12 decimal places where it has more than 18. It is false for anything else, and for
// what no amount can be.
func (f Field) Money(currency string) (guard.Money, bool) {
	s := f.number()
	if m, err := guard.NewMoney(s, currency); err == nil {
		return m, true
	}
	// An exponent, or the digits of a float: 1.25e-05, 0.00001249999999999999994.
	if _, e, found := strings.Cut(strings.ToLower(s), "e"); found {
		if n, err := strconv.Atoi(e); err != nil || n < -60 || n > 15 {
			return guard.Money{}, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || r.Cmp(mostMoney) > 0 || r.Cmp(new(big.Rat).Neg(mostMoney)) < 0 {
		return guard.Money{}, false
	}
	m, err := guard.MoneyFromRat(r, currency)
	return m, err == nil
}

// mostMoney is the amount from which on a number is noise.
var mostMoney = big.NewRat(1_000_000_000_000_000, 1)

// number is the digits of a JSON number; "" for anything else.
func (f Field) number() string {
	if len(f) == 0 || len(f) > 64 || f[0] != '-' && (f[0] < '0' || f[0] > '9') {
		return ""
	}
	return string(f)
}
