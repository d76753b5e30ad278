package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"guard/daemon/wire"
)

// TestOtherUnit: a budget for one GPU of eight, or for eight times the machine, is told;
// one that merely is small or large is not.
func TestOtherUnit(t *testing.T) {
	now := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	text := func(s string) *string { return &s }
	end := now.Add(10 * time.Hour)
	whole := wire.Item{GPUs: 8, Rate: text("32.00 USD"), ExpiresAt: &end} // 320 USD in ten hours
	for budget, want := range map[string]string{
		"40.00 USD": "one of its 8 GPUs", "50.00 USD": "one of its 8 GPUs", "38.00 USD": "one of its 8 GPUs",
		"2560.00 USD": "not of one", "3000.00 USD": "not of one",
		"320.00 USD": "", "300.00 USD": "", "100.00 USD": "", "20.00 USD": "", "1000.00 USD": "", "99999.00 USD": "", "40.00 CNY": "",
	} {
		it := whole
		it.Budget = &budget
		got := otherUnit(wire.Registered{Now: now, Item: it})
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", budget, got, want)
		}
	}
	for budget, warned := range map[string]bool{"160.00 USD": true, "150.00 USD": false, "180.00 USD": false, "640.00 USD": false} {
		it := whole
		it.GPUs, it.Budget = 2, &budget
		if got := otherUnit(wire.Registered{Now: now, Item: it}); (got != "") != warned {
			t.Errorf("two GPUs, %s: %q", budget, got)
		}
	}
	for name, change := range map[string]func(*wire.Item){
		"one GPU":    func(it *wire.Item) { it.GPUs = 1 },
		"no price":   func(it *wire.Item) { it.Rate = nil },
		"no expiry":  func(it *wire.Item) { it.ExpiresAt = nil },
		"no budget":  func(it *wire.Item) { it.Budget = nil },
		"over":       func(it *wire.Item) { it.ExpiresAt = &now },
		"a free one": func(it *wire.Item) { it.Rate = text("0.00 USD") },
	} {
		it := whole
		it.Budget = text("40.00 USD")
		change(&it)
		if got := otherUnit(wire.Registered{Now: now, Item: it}); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestCards: the price of one GPU stands beside that of all, unless it was quoted so.
func TestCards(t *testing.T) {
	rate := "240.00 CNY"
	for _, c := range []struct {
		it   wire.Item
		want string
	}{
		{wire.Item{Rate: &rate, GPUs: 8, RateQuote: "240.00 CNY per hour"}, "; 30.00 CNY for each of its 8 GPUs"},
		{wire.Item{Rate: &rate, GPUs: 7}, "; 34.29 CNY for each of its 7 GPUs"},
		{wire.Item{Rate: &rate, GPUs: 8, RateQuote: "8 × 30.00 CNY per gpu per hour"}, ""},
		{wire.Item{Rate: &rate, GPUs: 8, RateQuote: "8 × 21900.00 CNY per gpu per month"}, "; 30.00 CNY for each of its 8 GPUs"},
		{wire.Item{Rate: &rate, GPUs: 1}, ""},
		{wire.Item{GPUs: 8}, ""},
	} {
		if got := cards(c.it); got != c.want {
			t.Errorf("%+v: %q, want %q", c.it, got, c.want)
		}
	}
}

// TestOfferInEightyColumns: what the whole costs and what one GPU does stand side by side in
// a terminal of 80 columns, beside the longest of IDs; in a locale whose ellipsis takes two
// columns, too.
func TestOfferInEightyColumns(t *testing.T) {
	t.Cleanup(func() { text.OverrideRuneWidthEastAsianWidth(false) })
	for _, asian := range []bool{true, false} {
		text.OverrideRuneWidthEastAsianWidth(asian)
		rate, spent := "16.00 USD", "18.45 USD"
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out, Width: 80}}
		a.offer(time.Time{}, []wire.Item{{Account: "gpus", ID: strings.Repeat("8", 32), Name: "训练-大模型七十亿", Type: "gpu_8x_a100_80gb_sxm4", GPUs: 8, GPUModel: "A100 (80 GB SXM4)", Rate: &rate, Spend: &spent}})
		for line := range strings.Lines(out.String()) {
			if w := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); w > 80 {
				t.Errorf("%d columns: %s", w, line)
			}
		}
		if !strings.Contains(out.String(), "PER HOUR   PER GPU\n") || !strings.Contains(out.String(), "16.00 USD  2.00 USD\n") {
			t.Errorf("\n%s", out.String())
		}
	}
}
