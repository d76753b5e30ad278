package prices

import (
	"bytes"
	"errors"
	"testing"

	"guard"
)

// FuzzParse: a book loads with prices that are known, above zero or said to be
// free, and each in a currency, or it does not load and each mistake has a line
// of the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("instances: [{type: a, rate: {amount: 1, currency: USD, per: hour}}, *x, !!t y, {? z}]"))
	for _, amount := range []string{"0", "-1", ".inf", ".nan", "1e3", "0x10", "1_000", "007", "1.", `"1,5"`, "!!float 2", "[2]", "~", "1000000000", "0.000000000000000001"} {
		f.Add([]byte("currency: USD\ninstances:\n  - {type: a, rate: {amount: " + amount + ", per: hour}}\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return // the parser needs quadratic time for deep nesting
		}
		b, _, err := Parse("x", data)
		if (err == nil) != (b != nil) {
			t.Fatal(b, err)
		}
		if err != nil {
			var e *Error
			if !errors.Is(err, guard.ErrInvalid) || !errors.As(err, &e) || len(e.Problems) == 0 {
				t.Fatal(err)
			}
			lines := bytes.Count(bytes.ReplaceAll(data, []byte("\r"), []byte("\n")), []byte("\n")) + 1
			for _, p := range e.Problems {
				if p.Text == "" || p.Line < 0 || p.Line > lines {
					t.Errorf("%+v of %d lines", p, lines)
				}
			}
			return
		}
		for k, q := range b.rates {
			r := q.rate
			if r.Unit == "gb" {
				r = r.PerGB(1)
			}
			over := r.Over(guard.Month)
			if over == nil || over.Sign() < 0 || over.Sign() == 0 != r.Free || r.Currency() == "" || k.typ == "" {
				t.Errorf("%v: %v", k, q)
			}
		}
	})
}
