package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"guard"
)

// The seeds stand here and not in testdata/fuzz: the top level has no such folder.

// FuzzMoney: what is read as money is exactly what was written, through text and
// through JSON; everything else is refused in a short sentence.
func FuzzMoney(f *testing.F) {
	for _, s := range []string{
		"2400CNY", " 2.5 usd ", "-0.00 CNY", "0 JPY", "+7.10KWD", "000000000000007.50 EUR", "0.000000000000000001XAU",
		"999999999999999.999999999999999999 usd", "1000000000000000 USD", "1e9 USD", "0x1p-2 USD", "1,000 USD", "NaN USD", "40 XXX",
		"４０ USD", "40 \u212aRW", "40\u00a0USD", "\v40\vUSD\v",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := guard.ParseMoney(s)
		if err != nil {
			if !errors.Is(err, guard.ErrInvalid) || m.IsSet() || len(err.Error()) > 1000 {
				t.Fatalf("%q: %s and %v", s, m, err)
			}
			return
		}
		text := strings.TrimSpace(s)
		number, code := text[:len(text)-3], strings.ToUpper(text[len(text)-3:])
		want, ok := new(big.Rat).SetString(strings.TrimSpace(number))
		if !ok || m.Rat().Cmp(want) != 0 || m.Currency() != code {
			t.Fatalf("%q was read as %s", s, m)
		}
		b, err := json.Marshal(m)
		var back guard.Money
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || !back.Equal(m) || back.Rat().Cmp(want) != 0 || back.String() != m.String() {
			t.Fatalf("%s came back as %s: %v", m, back, err)
		}
		sum, err := m.Add(m)
		if err != nil {
			t.Fatal(err)
		}
		// A sum that is written down can be read again.
		if b, err := json.Marshal(sum); err == nil {
			if err := json.Unmarshal(b, &back); err != nil || !back.Equal(sum) {
				t.Fatalf("%s came back as %s: %v", sum, back, err)
			}
		}
	})
}

// FuzzRate: a price that a person states, or that stands in a record, is known
// with a currency and above zero, free, or unknown. One that a person states is
// never taken without a word and then not used.
func FuzzRate(f *testing.F) {
	f.Add("2.50USD/h", []byte(`{"amount":"30.00 CNY","per":3600000000000,"units":"8","unit":"gpu"}`))
	f.Add("1460 CNY/month", []byte(`{"amount":"0.00 USD","per":3600000000000,"free":true}`))
	f.Add("999999999999999USD/s", []byte(`{"amount":"-3.00 USD","per":3600000000000}`))
	f.Add("0.000000000000000001USD/mo", []byte(`{"amount":"3.00 USD","per":-1,"units":"1/0"}`))
	f.Add("1USD/", []byte(`{"amount":"","per":1,"units":"1e400000000"}`))
	f.Add("1000000000USD/h", []byte(`{"amount":"1000000000 USD","per":3600000000000}`))
	f.Add("2USD/h/h", []byte(`{"amount":"1.00 USD","per":9223372036854775807,"units":"0.00000000000000001"}`))
	f.Add("-0USD/h", []byte(`{"amount":"-1.00 USD","per":1,"free":true}`))
	f.Add("1 USD / ", []byte(`{"amount":null,"per":1,"free":true,"units":"_1_0"}`))
	f.Fuzz(func(t *testing.T, stated string, record []byte) {
		if r, err := guard.ParseRate(stated); err == nil {
			if !r.Known() || !r.Amount.IsPositive() || r.Free {
				t.Fatalf("%q was taken and is %s", stated, r)
			}
		} else if !errors.Is(err, guard.ErrInvalid) {
			t.Fatalf("%q: %v", stated, err)
		}
		var r guard.Rate
		if json.Unmarshal(record, &r) != nil {
			return
		}
		over := r.Over(time.Hour)
		hourly, ok := r.Hourly()
		switch {
		case r.Known() != ok || ok != (over != nil):
			t.Fatalf("%s is known or not: %v, %s, %s", record, r.Known(), hourly, over)
		case ok && (hourly.Currency() == "" || over.Sign() < 0 || over.Sign() == 0 && !r.Free):
			t.Fatalf("%s costs %s", record, hourly)
		case !ok && r.String() != "unknown":
			t.Fatalf("%s reads as %s", record, r)
		}
	})
}

// FuzzID: an ID is its account and the rest, and nothing of it is lost.
func FuzzID(f *testing.F) {
	for _, s := range []string{"lab/i-1", "lab/a/b", "/i", "lab/", "lab", "", "//", "a/\x00", "\xff/\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		account, id, ok := guard.ParseID(s)
		switch {
		case !ok:
			if head, rest, cut := strings.Cut(s, "/"); cut && head != "" && rest != "" {
				t.Errorf("%q is refused", s)
			}
		case account == "" || id == "" || strings.Contains(account, "/"):
			t.Errorf("%q is %q and %q", s, account, id)
		case guard.ResourceID{Account: account, ID: id}.String() != s:
			t.Errorf("%q came back as %q", s, guard.ResourceID{Account: account, ID: id})
		}
	})
}

// FuzzSecret: what a secret prints as does not depend on it.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"rp_CANARY", "%s%d", "\"}", "[redacted]", `","s":"`, "\x00\xff"} {
		f.Add(s)
	}
	shown := func(v string) string {
		s := guard.NewSecret(v)
		var log strings.Builder
		clock := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{ReplaceAttr: clock})).Info("x", "secret", s, "within", struct{ S guard.Secret }{s})
		j, err := json.Marshal(map[string]any{"s": s, "list": []guard.Secret{s}})
		return fmt.Sprintf("%v %+v %#v %s %q %v %v %s %s", s, s, s, s, s, struct{ S guard.Secret }{s}, err, j, log.String())
	}
	f.Fuzz(func(t *testing.T, v string) {
		if v == "" {
			return
		}
		if a, b := shown(v), shown("another"); a != b {
			t.Errorf("%q shows in %q, not %q", v, a, b)
		}
		if guard.NewSecret(v).Reveal() != v {
			t.Errorf("%q is lost", v)
		}
	})
}
