package prices

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"guard"
)

const good = `# what we pay
currency: USD
instances:
  - {type: p4d.24xlarge, scope: us-east-1, rate: {amount: "32.7726", per: hour}}
  - {type: p4d.24xlarge, scope: "*", rate: {amount: "39.10", per: hour}}
  - {type: p4d.24xlarge, scope: us-east-1, spot: true, rate: {amount: 9.83, per: hour}}
  - type: h100
    rate:
      amount: "2.49"
      per: hour
      per_gpu: true
    stopped: {amount: "0.10", per: hour}
  - {type: promo, rate: {amount: "0", free: true, per: hour}}
  - {type: bare, rate: {amount: "7300", currency: CNY, per: month}}
volumes:
  - {type: gp3, rate: {amount: "0.08", per: gb_month}}
`

func TestLookup(t *testing.T) {
	b, warnings, err := Parse("prices.yaml", []byte(good))
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	ask := func(f func(Want) (guard.Rate, bool), w Want) string {
		r, ok := f(w)
		if ok != r.Known() {
			t.Errorf("%+v: ok is %v for %v", w, ok, r)
		}
		if ok && r.Source != Source {
			t.Errorf("%+v: source %q", w, r.Source)
		}
		h, _ := r.Hourly()
		return h.String()
	}
	for _, c := range []struct {
		name string
		f    func(Want) (guard.Rate, bool)
		w    Want
		want string
	}{
		{"its own region", b.Instance, Want{Type: "p4d.24xlarge", Scope: "us-east-1"}, "32.7726 USD"},
		{"any other region", b.Instance, Want{Type: "p4d.24xlarge", Scope: "eu-west-1"}, "39.10 USD"},
		{"spot", b.Instance, Want{Type: "p4d.24xlarge", Scope: "us-east-1", Spot: true}, "9.83 USD"},
		{"no spot price is not the on-demand one", b.Instance, Want{Type: "p4d.24xlarge", Scope: "eu-west-1", Spot: true}, "unknown"},
		{"eight GPUs", b.Instance, Want{Type: "h100", GPUs: 8}, "19.92 USD"},
		{"GPUs not known", b.Instance, Want{Type: "h100"}, "unknown"},
		{"stopped", b.Stopped, Want{Type: "h100"}, "0.10 USD"},
		{"stopped not in the book", b.Stopped, Want{Type: "promo"}, "unknown"},
		{"free", b.Instance, Want{Type: "promo"}, "0.00 USD"},
		{"a month is 730 hours", b.Instance, Want{Type: "bare"}, "10.00 CNY"},
		{"unknown type", b.Instance, Want{Type: "p5.48xlarge", Scope: "us-east-1"}, "unknown"},
		{"a volume is no instance", b.Instance, Want{Type: "gp3"}, "unknown"},
		{"volume", b.Volume, Want{Type: "gp3", Scope: "us-east-1", SizeGB: 730}, "0.08 USD"},
		{"volume of a spot instance", b.Volume, Want{Type: "gp3", Spot: true, SizeGB: 730}, "0.08 USD"},
		{"volume of unknown size", b.Volume, Want{Type: "gp3"}, "unknown"},
		{"no book", (*Book)(nil).Instance, Want{Type: "p4d.24xlarge"}, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ask(c.f, c.w); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The book that is shipped as an example can be used, and nothing in it looks odd.
func TestExample(t *testing.T) {
	b, warnings, err := Load(filepath.Join("..", "..", "configs", "examples", "prices", "aws.yaml"))
	if err != nil || len(warnings) > 0 || b.Len() == 0 {
		t.Errorf("%d prices, %v, %v", b.Len(), warnings, err)
	}
}

// Every mistake of one file is told, each with its line.
func TestEveryMistakeAtOnce(t *testing.T) {
	const bad = `currency: USD
instances:
  - {type: a, rate: {amount: "1e3", per: hour}}
  - {type: b, rate: {amount: "0", per: hour}}
  - {type: c, rate: {amount: "-1", per: hour}}
  - {type: d, rate: {amount: "1"}}
  - {type: e, rate: {amount: "1", per: fortnight}}
  - {type: f, rate: {amount: "1", per: gb_month}}
  - {type: g}
  - {rate: {amount: "1", per: hour}}
  - {type: h, spot: maybe, rate: {amount: "1", per: hour}}
  - {type: i, colour: red, rate: {amount: "1", per: hour}}
  - {type: j, rate: {amount: "1", per: hour}}
  - {type: j, rate: {amount: "2", per: hour}}
  - {type: k, rate: {amount: "1", currency: DOLLARS, per: hour}}
  - {type: l, rate: {amount: "1", free: true, per: hour}}
  - {type: m, rate: {amount: "999999999999", per: second}}
  - {type: "*", rate: {amount: "1", per: hour}}
  - {type: n, rate: 12}
  - just a string
  - type: o
    rate:
      amount: [1]
      per: hour
  - {type: p, rate: {amount: , per: hour}}
volumes:
  - {type: gp3, rate: {amount: "1", per: gb_month, per_gpu: true}}
prices: {}
`
	_, _, err := Parse("p.yaml", []byte(bad))
	if !errors.Is(err, guard.ErrInvalid) {
		t.Fatal(err)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T", err)
	}
	got := map[int]string{}
	for _, p := range e.Problems {
		got[p.Line] = p.Text
	}
	for line, want := range map[int]string{
		3: "1e3", 4: "free: true", 5: "below zero", 6: "per is missing", 7: "fortnight", 8: "for volumes",
		9: "rate is missing", 10: "without a type", 11: "true or false", 12: "colour", 14: "line 13",
		15: "DOLLARS", 16: "contradicts", 17: "out of bounds", 18: "name the type", 19: "keys and values",
		20: "keys and values", 23: "plain value", 25: "empty", 27: "volume has no GPUs", 28: "prices",
	} {
		if !strings.Contains(got[line], want) {
			t.Errorf("line %d: got %q, want it to say %q", line, got[line], want)
		}
		delete(got, line)
	}
	for line, text := range got {
		t.Errorf("line %d: nobody expected %q", line, text)
	}
	if !strings.Contains(err.Error(), "p.yaml:7: ") {
		t.Errorf("no file and line in:\n%v", err)
	}
}

func TestNotABook(t *testing.T) {
	for name, data := range map[string]string{
		"empty":      "",
		"only text":  "hello",
		"a list":     "- a",
		"cut":        "instances: [",
		"two":        "currency: USD\n---\ncurrency: USD\n",
		"an alias":   "instances:\n  - {type: a, rate: &r {amount: \"1\", currency: USD, per: hour}}\n  - {type: b, rate: *r}\n",
		"twice":      "currency: USD\ncurrency: CNY\n",
		"no money":   "instances:\n  - {type: a, rate: {amount: \"1\", per: hour}}\n",
		"not a list": "currency: USD\ninstances: {type: a}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Parse("x", []byte(data)); !errors.Is(err, guard.ErrInvalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSuspicious(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, more string
		warns      bool
	}{
		"one and eight GPUs":      {a: "p3.2xlarge", b: "p3.16xlarge", warns: true},
		"another family":          {a: "p3.2xlarge", b: "g5.16xlarge"},
		"a count in front":        {a: "gpu_1x_h100", b: "gpu_8x_h100", warns: true},
		"a count behind":          {a: "H100x1", b: "H100x8", warns: true},
		"priced for one GPU each": {a: "gpu_1x_h100", b: "gpu_8x_h100", more: ", per_gpu: true"},
		"no count":                {a: "small", b: "large"},
	} {
		t.Run(name, func(t *testing.T) {
			rate := `rate: {amount: "3.06", currency: USD, per: hour` + c.more + `}`
			_, warnings, err := Parse("x", fmt.Appendf(nil, "instances:\n  - {type: %s, %s}\n  - {type: %s, %s}\n", c.a, rate, c.b, rate))
			if err != nil {
				t.Fatal(err)
			}
			if (len(warnings) == 1) != c.warns {
				t.Fatalf("got %v", warnings)
			}
			if c.warns && (warnings[0].Line != 3 || !strings.Contains(warnings[0].Text, "per_gpu")) {
				t.Errorf("got %+v", warnings[0])
			}
		})
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if _, _, err := Load(path); !errors.Is(err, guard.ErrInvalid) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	b, _, err := Load(path)
	if err != nil || b.Len() != 8 {
		t.Errorf("got %d prices, %v", b.Len(), err)
	}
	if err := os.WriteFile(path, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), "8 MiB") {
		t.Errorf("large file: %v", err)
	}
}

// What is written is what is charged: no amount changes on its way through the
// file, and none is zero that was not.
func TestAmountsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.IntRange(0, 999_999).Draw(t, "whole")
		frac := rapid.StringMatching(`[0-9]{1,12}`).Draw(t, "frac")
		quote := rapid.SampledFrom([]string{"", `"`}).Draw(t, "quote")
		amount := fmt.Sprintf("%d.%s", whole, frac)
		b, _, err := Parse("x", fmt.Appendf(nil, "instances: [{type: a, rate: {amount: %s%s%s, currency: USD, per: hour}}]", quote, amount, quote))
		want := guard.MustMoney(amount + "USD")
		if want.IsZero() {
			if err == nil {
				t.Fatalf("%s is a price", amount)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r, ok := b.Instance(Want{Type: "a", Scope: "anywhere"})
		if h, _ := r.Hourly(); !ok || !h.Equal(want) {
			t.Fatalf("%s became %v", amount, r)
		}
	})
}
