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

	"pgregory.net/rapid"

	"guard"
)

func TestParseMoney(t *testing.T) {
	for in, want := range map[string]string{
		"2400CNY": "2400.00 CNY", " 2.5 usd ": "2.50 USD", "0.00043 USD": "0.00043 USD", "-3.36 USD": "-3.36 USD", "0.000000001 USD": "0.000000001 USD", "0.0000000 USD": "0.00 USD",
		"1000 JPY": "1000 JPY", "+7EUR": "7.00 EUR", "999999999999999.999999999999999999 USD": "999999999999999.999999999999999999 USD",
	} {
		m, err := guard.ParseMoney(in)
		if err != nil || m.String() != want {
			t.Errorf("%q: %s, %v; want %s", in, m, err, want)
		}
	}
	for _, in := range []string{"", "40", "USD", "40 XXQ", "1e9 USD", "1E99999USD", "1,000 USD", "NaN USD", "Inf USD", "0x10 USD", "4 0 USD",
		"1000000000000000 USD", "0.0000000000000000001 USD", "$40", "40USD/h", "40 USD EUR", "４０ USD"} {
		if m, err := guard.ParseMoney(in); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%q: %s, %v; want an error of the invalid kind", in, m, err)
		}
	}
}

func TestMoneyNeverMixesOrInventsCurrencies(t *testing.T) {
	usd, cny := guard.MustMoney("1USD"), guard.MustMoney("1CNY")
	for _, pair := range [][2]guard.Money{{usd, cny}, {usd, {}}, {{}, usd}, {{}, {}}} {
		if _, err := pair[0].Add(pair[1]); !errors.Is(err, guard.ErrCurrency) {
			t.Errorf("%s + %s: %v", pair[0], pair[1], err)
		}
		if _, err := pair[0].Cmp(pair[1]); !errors.Is(err, guard.ErrCurrency) {
			t.Errorf("%s <=> %s: %v", pair[0], pair[1], err)
		}
	}
	if (guard.Money{}).IsZero() || !guard.MustMoney("0USD").IsZero() {
		t.Error("no amount is not zero")
	}
	if s := (guard.Money{}).String(); s != "unknown" {
		t.Errorf("no amount prints as %q", s)
	}
}

func TestMoneyTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,14})(\.0{0,9}[0-9]{1,9})?`).Draw(t, "number")
		code := rapid.SampledFrom([]string{"USD", "CNY", "EUR", "JPY", "KWD"}).Draw(t, "currency")
		m, err := guard.NewMoney(number, code)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(struct{ M guard.Money }{m})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ M guard.Money }
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		want, _ := new(big.Rat).SetString(number)
		if !back.M.Equal(m) || back.M.Rat().Cmp(want) != 0 {
			t.Fatalf("%s %s came back as %s", number, code, back.M)
		}
	})
}

func TestRound(t *testing.T) {
	for in, want := range map[string]string{
		"-0.001 CNY": "0.00 CNY", "0.004 USD": "0.00 USD", "0.005 USD": "0.01 USD", "-0.006 USD": "-0.01 USD", "-0.4 JPY": "0 JPY", "-3.356 USD": "-3.36 USD",
	} {
		if got := guard.MustMoney(in).Round().String(); got != want {
			t.Errorf("%s rounds to %s, want %s", in, got, want)
		}
	}
}

func TestRateUnknownIsNeverZero(t *testing.T) {
	usd := func(n string) guard.Money { return guard.MustMoney(n + "USD") }
	for name, r := range map[string]guard.Rate{
		"nothing":        {},
		"no period":      {Amount: usd("2")},
		"catalogue zero": {Amount: usd("0"), Per: time.Hour},
		"negative":       {Amount: usd("-1"), Per: time.Hour},
		"no units":       {Amount: usd("1"), Per: time.Hour, Units: "0"},
		"bad units":      {Amount: usd("1"), Per: time.Hour, Units: "1e400000"},
		"absurd":         {Amount: usd("1000000000"), Per: time.Hour},
		"negative per":   {Amount: usd("1"), Per: -time.Hour},
	} {
		if h, ok := r.Hourly(); ok || r.Known() || r.Over(time.Hour) != nil {
			t.Errorf("%s: known as %s", name, h)
		}
		if r.String() != "unknown" {
			t.Errorf("%s prints as %q", name, r)
		}
	}
	free := guard.Rate{Amount: usd("0"), Per: time.Hour, Free: true}
	if h, ok := free.Hourly(); !ok || !h.IsZero() {
		t.Errorf("free: %s %v", h, ok)
	}
}

func TestRateWholeMachine(t *testing.T) {
	r := guard.Rate{Amount: guard.MustMoney("4USD"), Per: time.Hour}.PerGPU(8)
	if got, want := r.String(), "32.00 USD per hour (8 × 4.00 USD per gpu per hour)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	disk := guard.Rate{Amount: guard.MustMoney("0.35CNY"), Per: guard.Month}.PerGB(500)
	if h, _ := disk.For(guard.Month); h.String() != "175.00 CNY" {
		t.Errorf("500 GB for a month: %s", h)
	}
	if got := disk.String(); !strings.HasPrefix(got, "0.239726 CNY per hour") {
		t.Errorf("%q", got)
	}
}

func TestParseRate(t *testing.T) {
	r, err := guard.ParseRate("2.50USD/h")
	if h, ok := r.Hourly(); err != nil || !ok || h.String() != "2.50 USD" {
		t.Errorf("%s %v", h, err)
	}
	if r, err := guard.ParseRate("1460 CNY/month"); err != nil || r.String() != "2.00 CNY per hour (1460.00 CNY per month)" {
		t.Errorf("%s %v", r, err)
	}
	for _, in := range []string{"2.50USD", "2.50/h", "0USD/h", "-1USD/h", "2.50USD/fortnight", "/h", "free"} {
		if _, err := guard.ParseRate(in); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// Lasts is the inverse of For, rounded down: the price of what it answers never
// exceeds the amount, and one nanosecond more does.
func TestRateLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := guard.Rate{
			Amount: guard.MustMoney(fmt.Sprintf("%d.%06dUSD", rapid.IntRange(0, 500).Draw(t, "whole"), rapid.IntRange(1, 999_999).Draw(t, "micro"))),
			Per:    rapid.SampledFrom([]time.Duration{time.Second, time.Hour, guard.Month}).Draw(t, "per"),
		}
		m := guard.MustMoney(fmt.Sprintf("%d.%02dUSD", rapid.IntRange(0, 100_000).Draw(t, "cap"), rapid.IntRange(1, 99).Draw(t, "cents")))
		d, ok := r.Lasts(m)
		if !ok {
			return
		}
		if r.Over(d).Cmp(m.Rat()) > 0 || r.Over(d+1).Cmp(m.Rat()) <= 0 {
			t.Fatalf("%s at %s lasts %s", m, r, d)
		}
	})
}

func TestSecretNeverShows(t *testing.T) {
	const canary = "rp_CANARY"
	s := guard.NewSecret(canary)
	j, _ := json.Marshal(struct{ S guard.Secret }{s})
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "wrapped", struct{ S guard.Secret }{s})
	hidden := struct{ s guard.Secret }{s}
	for _, out := range []string{fmt.Sprintf("%v %+v %#v", hidden, hidden, &hidden), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%+v %#v", struct{ S guard.Secret }{s}, &s),
		string(j), log.String(), fmt.Errorf("with %v", s).Error()} {
		if strings.Contains(out, canary) {
			t.Errorf("shown in %s", out)
		}
	}
	if s.Reveal() != canary {
		t.Error("the one caller that needs it does not get it")
	}
}

func TestInstantReach(t *testing.T) {
	at := guard.Instant{Wall: time.Date(2026, 3, 8, 1, 0, 0, 0, time.UTC), Elapsed: 5 * time.Hour}
	if got := at.Reach(at.Wall.Add(90 * time.Minute)); got.Elapsed != 6*time.Hour+30*time.Minute {
		t.Errorf("%+v", got)
	}
	if got := guard.Earliest(guard.Instant{}, at.Add(time.Hour), at.Add(time.Minute)); got != at.Add(time.Minute) {
		t.Errorf("%+v", got)
	}
}
