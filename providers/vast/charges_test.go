package vast

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

func money(s string) guard.Money { return guard.MustMoney(s) }

func TestCharges(t *testing.T) {
	c := full()
	today := noon.Wall.Truncate(day)
	yesterday := today.AddDate(0, 0, -1)
	c.Charge(today, "instance-1", map[string]guard.Money{"gpu": money("1.38USD"), "disk": money("0.02USD"), "bwu": money("3USD")})
	c.Charge(yesterday, "instance-1", map[string]guard.Money{"gpu": money("2USD")})
	c.Charge(yesterday, "volume-7", map[string]guard.Money{"disk": money("0.48USD")})
	c.Charge(yesterday, "endpoint-3", map[string]guard.Money{"gpu": money("0.5USD")})
	c.Charge(yesterday, "endpoint-3", map[string]guard.Money{"gpu": money("0.25USD")}) // the same twice is one
	c.Charge(yesterday, "instance-2", nil)                                             // of nothing
	c.Bills[yesterday][0]["amount"] = 5                                                // more than it names
	c.PageSize = 2
	p := on(t, c)
	got, err := p.Charges(at(t), yesterday)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s-%s %s %s %s", x.From.Format("2"), x.To.Format("2"), x.Resource.Key(), x.What, x.Amount))
	}
	want := []string{
		"9-10 // endpoint-3 gpu 0.75 USD",
		"9-10 boxes/instance/1 total 5.00 USD",
		"9-10 boxes/volume/7 disk 0.48 USD",
		"10-11 boxes/instance/1 bwu 3.00 USD",
		"10-11 boxes/instance/1 disk 0.02 USD",
		"10-11 boxes/instance/1 gpu 1.38 USD",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if n := len(c.Calls()); n != 4 { // three pages and one
		t.Errorf("two days: %d calls", n)
	}
	if _, err := p.Charges(at(t), noon.Wall.AddDate(-9, 0, 0)); err != nil || len(c.Calls()) > 4+100 {
		t.Errorf("nine years: %d calls, %v", len(c.Calls()), err)
	}
}

// TestDaysOfABill: the last day of a record is a whole one, and a record of more than the
// day that was asked for would be counted again tomorrow.
func TestDaysOfABill(t *testing.T) {
	field := func(s string) providers.Field { return providers.Field(s) }
	example := record{Start: field("1730419200"), End: field("1730678400"), Source: field(`"instance-12345678"`), Amount: field("38.421")}
	if from, to := example.span(); to.Sub(from) != 96*time.Hour {
		t.Errorf("the description's example is of %s, want 96 hours", to.Sub(from))
	}
	p := on(t, full())
	for start, want := range map[string]string{"2024-11-01": "more", "2024-11-03": "more", "2024-10-31": "none", "2024-11-05": "none"} {
		asked, _ := time.Parse(time.DateOnly, start)
		bill := map[string]guard.Charge{}
		err := p.charge(bill, example, asked)
		if (want == "more") != errors.Is(err, guard.ErrBadReply) || len(bill) != 0 {
			t.Errorf("asked for %s: %v, %v", start, bill, err)
		}
	}
	for _, x := range []record{{}, {Start: field("0"), End: field("1730678400")}, {Start: field("1730678400"), End: field("1730419200")}, {Start: field("1e300"), End: field("1e301")}} {
		if _, ok := x.key(); ok {
			t.Errorf("%+v passes", x)
		}
	}
}

// TestChargesOnTwoPages: a record that comes on two pages is charged once, and makes up for none
// that does not come.
func TestChargesOnTwoPages(t *testing.T) {
	today := noon.Wall.Truncate(day).Unix()
	line := func(id int) string {
		return fmt.Sprintf(`{"start":%d,"end":%d,"type":"instance","source":"instance-%d","amount":2,"items":[]}`, today, today, id)
	}
	for total, want := range map[int]int{2: 2, 3: 0} {
		p := on(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next := `"a"`
			if r.URL.Query().Get("after_token") != "" {
				next = "null"
			}
			fmt.Fprintf(w, `{"success":true,"total":%d,"next_token":%s,"results":[%s]}`, total, next, map[string]string{`"a"`: line(1) + "," + line(2), "null": line(2)}[next])
		}))
		got, err := p.Charges(at(t), noon.Wall.Truncate(day))
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("two, and %d are said to be: %+v, %v", total, got, err)
		}
		for _, c := range got {
			if c.Amount.String() != "2.00 USD" {
				t.Errorf("%s is charged %s", c.Resource, c.Amount)
			}
		}
	}
}

func TestChargesThatFail(t *testing.T) {
	f := &cloudtest.Faults{Next: full()}
	f.Add(1, func(r *http.Request) bool {
		return strings.Contains(r.URL.RawQuery, fmt.Sprint(noon.Wall.Truncate(day).Unix()))
	}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"success":false,"msg":"Must provide both"}`))
	})
	if got, err := on(t, f).Charges(at(t), noon.Wall.AddDate(0, 0, -3)); !errors.Is(err, guard.ErrRefused) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}
