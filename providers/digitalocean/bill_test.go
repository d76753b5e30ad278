package digitalocean

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/providertest/cloudtest"
)

const (
	january  = "22737513-0ea7-4206-8ceb-98a575af7681"
	february = "fdabb512-6faf-443c-ba2e-665452332a9e"
	running  = "1afe95e6-0958-4eb0-8d9a-9c5060d3ef03"
	disk     = "506f78a4-e098-11e5-ad9f-000000000007"
)

func money(s string) guard.Money { return guard.MustMoney(s) }

// when is a time of early 2026.
func when(month time.Month, day, hour int) time.Time {
	return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
}

// charged are the charges that an account has at a time for the last 72 hours, a line each.
func charged(t *testing.T, c *digitaloceantest.Cloud, now time.Time) []string {
	t.Helper()
	got, err := on(t, c).Charges(guard.WithInstant(t.Context(), guard.Instant{Wall: now}), now.Add(-72*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range got {
		out = append(out, fmt.Sprintf("%s to %s %s %s %s", x.From.Format("01-02 15"), x.To.Format("01-02 15"), x.Resource.Key(), x.What, x.Amount))
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhatItemsName: a droplet by its number and a volume by its UUID; all else names nothing.
func TestWhatItemsName(t *testing.T) {
	from, to := when(3, 1, 0), when(3, 9, 0)
	item := func(product, id, amount string) map[string]any {
		return digitaloceantest.Item(product, id, money(amount+"USD"), from, to)
	}
	less := func(x map[string]any, fields ...string) map[string]any {
		for _, f := range fields {
			delete(x, f)
		}
		return x
	}
	c := cloud()
	c.Invoices = []digitaloceantest.Invoice{{ID: running, Period: "2026-03", Updated: "2026-03-09T06:31:50Z", Items: []map[string]any{
		item("Droplets", "3164444", "12.34"), item("GPU Droplets", "3164445", "647.04"), item("Volumes", disk, "1.50"),
		item("Droplets", "web-1", "1"),                       // no number
		less(item("Droplets", "77", "2"), "resource_id"),     // a UUID is not its ID
		less(item("Volumes", disk, "0.25"), "resource_uuid"), // nor the other way round
		item("Droplet Backups", "3164444", "2.47"), item("Kubernetes Clusters", disk, "20"), item("Snapshots", "67512001", "0.05"),
		item("Spaces Subscription", "", "5"), item("Spaces Subscription", "", "5"), // two of them
		item("Bandwidth", "", "0"), item("Droplets", "3164446", "0"),
		less(item("Taxes", "", "1.16"), "start_time", "end_time"), less(item("Credits", "", "-100"), "product", "start_time", "end_time"),
		digitaloceantest.Item("Droplets", "3164447", money("0.01USD"), when(3, 2, 0), when(3, 2, 0)), // for a moment
		digitaloceantest.Item("Droplets", "3164448", money("9.50USD"), when(3, 7, 5), when(4, 1, 0)), // beyond the preview
	}}}
	same(t, "the preview", charged(t, c, when(3, 9, 12)),
		"03-01 00 to 03-09 00 // Droplet Backups 2.47 USD",
		"03-01 00 to 03-09 06 // Droplets 3.01 USD",
		"03-01 00 to 03-09 00 // Kubernetes Clusters 20.00 USD",
		"03-01 00 to 03-09 00 // Snapshots 0.05 USD",
		"03-01 00 to 03-09 00 // Spaces Subscription 10.00 USD",
		"03-01 00 to 03-09 06 // Taxes 1.16 USD",
		"03-01 00 to 03-09 00 // Volumes 0.25 USD",
		"03-01 00 to 03-09 06 // no product -100.00 USD",
		"03-01 00 to 03-09 00 ocean/instance/3164444 Droplets 12.34 USD",
		"03-01 00 to 03-09 00 ocean/instance/3164445 GPU Droplets 647.04 USD",
		"03-01 00 to 03-09 00 ocean/instance/3164446 Droplets 0.00 USD",
		"03-01 00 to 03-09 00 ocean/volume/"+disk+" Volumes 1.50 USD",
		"03-07 05 to 03-09 06 ocean/instance/3164448 Droplets 9.50 USD")
	if n := len(c.Calls()); n != 2 {
		t.Errorf("%d calls: %v", n, c.Calls())
	}
}

// TestWhatIsBilledSoFar: an item is of no more hours than it bills, whatever its end is.
func TestWhatIsBilledSoFar(t *testing.T) {
	for name, x := range map[string]struct {
		set  map[string]any
		want string
	}{
		"until midnight":     {map[string]any{"duration": "24"}, "03-02 00"},
		"for half an hour":   {map[string]any{"duration": "0.5"}, "03-01 00"},
		"for all of it":      {map[string]any{"duration": "31"}, "03-02 06"},
		"in another unit":    {map[string]any{"duration": "24", "duration_unit": "GiB"}, "03-02 06"},
		"for nothing":        {map[string]any{"duration": "0"}, "03-02 06"},
		"for less":           {map[string]any{"duration": "-3"}, "03-02 06"},
		"for a number":       {map[string]any{"duration": 24}, "03-02 06"},
		"for what is none":   {map[string]any{"duration": "long"}, "03-02 06"},
		"by another end":     {map[string]any{"duration": "744", "end_time": "2026-03-01T12:00:00Z"}, "03-01 12"},
		"of what names none": {map[string]any{"duration": "24", "resource_id": "web"}, "03-02 06"},
	} {
		item := digitaloceantest.Item("Droplets", "7", money("1USD"), when(3, 1, 0), when(4, 1, 0))
		maps.Copy(item, x.set)
		c := cloud()
		c.Invoices = []digitaloceantest.Invoice{{ID: running, Period: "2026-03", Updated: "2026-03-02T06:31:50Z", Items: []map[string]any{item}}}
		if got := charged(t, c, when(3, 2, 12)); len(got) != 1 || !strings.HasPrefix(got[0], "03-01 00 to "+x.want) {
			t.Errorf("%s: %v, want the end %s", name, got, x.want)
		}
	}
}

// TestTheMonthlyCap: what a thing costs by the hour holds for 672 hours a month, of all its
// items together.
func TestTheMonthlyCap(t *testing.T) {
	c := cloud()
	item := func(id string, from, to time.Time) map[string]any {
		return digitaloceantest.Item("Droplets", id, money("6.72USD"), from, to)
	}
	capped := item("5", when(3, 1, 0), when(4, 1, 0))
	capped["duration"] = "672"
	c.Invoices = []digitaloceantest.Invoice{{ID: running, Period: "2026-03", Updated: "2026-03-30T06:00:00Z", Items: []map[string]any{
		item("1", when(3, 1, 0), when(3, 29, 0)),
		item("2", when(3, 1, 0), when(3, 29, 1)),
		item("3", when(3, 1, 0), when(3, 15, 0)), item("3", when(3, 15, 0), when(4, 1, 0)), // resized
		capped, // whose meter stands still while it is there
		item("4", when(3, 1, 0), when(3, 2, 0)), item("4", when(3, 9, 0), when(3, 30, 0)),
	}}}
	same(t, "at the end of a month", charged(t, c, when(3, 30, 12)),
		"03-01 00 to 03-30 06 // Droplets beyond 672 hours of the month 20.16 USD",
		"03-01 00 to 03-29 00 ocean/instance/1 Droplets 6.72 USD",
		"03-09 00 to 03-30 00 ocean/instance/4 Droplets 6.72 USD",
		"03-15 00 to 03-30 06 // Droplets beyond 672 hours of the month 6.72 USD")
}

// TestMonths: early in a month the last one's invoice is read too, and no month twice.
func TestMonths(t *testing.T) {
	bill := func(id, period, updated string, from, to time.Time) digitaloceantest.Invoice {
		return digitaloceantest.Invoice{ID: id, Period: period, Updated: updated, Items: []map[string]any{digitaloceantest.Item("Droplets", "7", money("1USD"), from, to)}}
	}
	dec := time.Date(2025, 12, 20, 0, 0, 0, 0, time.UTC)
	december, jan, feb := bill(january, "2025-12", "", dec, when(1, 1, 0)), bill(january, "2026-01", "", when(1, 9, 0), when(2, 1, 0)), bill(february, "2026-02", "", when(2, 9, 0), when(3, 1, 0))
	marched := bill(running, "2026-03", "2026-03-02T06:00:00Z", when(3, 1, 0), when(3, 2, 6))
	for name, x := range map[string]struct {
		invoices []digitaloceantest.Invoice
		now      time.Time
		calls    int
		want     []string
	}{
		"on the 2nd": {[]digitaloceantest.Invoice{jan, feb, marched}, when(3, 2, 12), 3,
			[]string{"02-09 00 to 03-01 00 ocean/instance/7 Droplets 1.00 USD", "03-01 00 to 03-02 06 ocean/instance/7 Droplets 1.00 USD"}},
		"on the 4th at noon": {[]digitaloceantest.Invoice{jan, feb, marched}, when(3, 4, 12), 2,
			[]string{"03-01 00 to 03-02 06 ocean/instance/7 Droplets 1.00 USD"}},
		"in January": {[]digitaloceantest.Invoice{december, bill(running, "2026-01", "2026-01-02T06:00:00Z", when(1, 1, 0), when(1, 2, 6))}, when(1, 2, 12), 3,
			[]string{"12-20 00 to 01-01 00 ocean/instance/7 Droplets 1.00 USD", "01-01 00 to 01-02 06 ocean/instance/7 Droplets 1.00 USD"}},
		"with no preview yet": {[]digitaloceantest.Invoice{jan, feb}, when(3, 1, 12), 2,
			[]string{"02-09 00 to 03-01 00 ocean/instance/7 Droplets 1.00 USD"}},
		"with the old preview and no invoice yet": {[]digitaloceantest.Invoice{jan, bill(running, "2026-02", "2026-03-01T06:00:00Z", when(2, 9, 0), when(3, 1, 0))}, when(3, 1, 12), 2,
			[]string{"02-09 00 to 03-01 00 ocean/instance/7 Droplets 1.00 USD"}},
		"with the old preview and its invoice": {[]digitaloceantest.Invoice{feb, bill(running, "2026-02", "2026-03-01T06:00:00Z", when(2, 9, 0), when(3, 1, 0))}, when(3, 1, 12), 2,
			[]string{"02-09 00 to 03-01 00 ocean/instance/7 Droplets 1.00 USD"}},
		"two invoices of a month": {[]digitaloceantest.Invoice{feb, bill(january, "2026-02", "", when(2, 9, 0), when(2, 28, 23))}, when(3, 1, 12), 3,
			[]string{"02-09 00 to 03-01 00 ocean/instance/7 Droplets 2.00 USD"}},
		"an account without any": {nil, when(3, 2, 23), 1, nil},
	} {
		c := cloud()
		c.Invoices = x.invoices
		same(t, name, charged(t, c, x.now), x.want...)
		if n := len(c.Calls()); n != x.calls {
			t.Errorf("%s: %d calls: %v", name, n, c.Calls())
		}
	}
}

// TestHowFarBack: who asks for all of it gets a year.
func TestHowFarBack(t *testing.T) {
	c := cloud()
	for i := range 36 {
		c.Invoices = append(c.Invoices, digitaloceantest.Invoice{ID: fmt.Sprintf("old-%d", i), Period: when(2, 1, 0).AddDate(0, -i, 0).Format("2006-01")})
	}
	c.Invoices = append(c.Invoices, digitaloceantest.Invoice{ID: running, Period: "2026-03", Updated: "2026-03-10T06:00:00Z"})
	if got, err := on(t, c).Charges(at(t), time.Time{}); err != nil || len(got) != 0 || len(c.Calls()) != 14 {
		t.Errorf("%v, %v in %d calls", got, err, len(c.Calls()))
	}
}

// TestLongBills: a bill of several pages, which may be written anew between two of them.
func TestLongBills(t *testing.T) {
	c := cloud()
	x := digitaloceantest.Invoice{ID: running, Period: "2026-03", Updated: "2026-03-10T06:00:00Z"}
	for range 450 { // all the same
		x.Items = append(x.Items, digitaloceantest.Item("Spaces", "", money("0.01USD"), when(3, 1, 0), when(3, 10, 0)))
	}
	for i := range 450 {
		x.Items[i]["description"] = fmt.Sprint(i)
	}
	c.Invoices = []digitaloceantest.Invoice{x}
	same(t, "450 items", charged(t, c, when(3, 10, 12)), "03-01 00 to 03-10 00 // Spaces 4.50 USD")
	if n := len(c.Calls()); n != 5 {
		t.Errorf("%d calls: %v", n, c.Calls())
	}
	for name, change := range map[string]func(){
		"written anew":    func() { c.Invoices[0].Updated = "2026-03-10T07:00:00Z" },
		"one item more":   func() { c.Invoices[0].Items = append(slices.Clone(x.Items), x.Items[0]) },
		"the month ended": func() { c.Invoices[0].Updated = "" },
		"it is gone":      func() { c.Invoices = nil },
		"the page before": nil,
	} {
		c.Invoices = []digitaloceantest.Invoice{x}
		f := &cloudtest.Faults{Next: c}
		f.Add(1, func(r *http.Request) bool { return r.URL.Query().Get("page") == "2" }, func(w http.ResponseWriter, r *http.Request) {
			if change == nil {
				r.URL.RawQuery = "page=1&per_page=200"
			} else {
				change()
			}
			c.ServeHTTP(w, r)
		})
		if got, err := on(t, f).Charges(at(t), when(3, 7, 0)); !errors.Is(err, guard.ErrBadReply) || got != nil {
			t.Errorf("%s: %d charges, %v", name, len(got), err)
		}
	}
}

// TestOddBills: of a bill that cannot be read whole nothing is told.
func TestOddBills(t *testing.T) {
	item := digitaloceantest.Item("Droplets", "7", money("1USD"), when(3, 1, 0), when(3, 9, 0))
	with := func(set map[string]any) map[string]any {
		x := maps.Clone(item)
		maps.Copy(x, set)
		return x
	}
	preview := func(set func(*digitaloceantest.Invoice), items ...map[string]any) []digitaloceantest.Invoice {
		x := digitaloceantest.Invoice{ID: running, Period: "2026-03", Updated: "2026-03-10T06:00:00Z", Items: items}
		if set != nil {
			set(&x)
		}
		return []digitaloceantest.Invoice{x}
	}
	for name, x := range map[string][]digitaloceantest.Invoice{
		"no amount":            preview(nil, item, with(map[string]any{"amount": nil})),
		"an amount of words":   preview(nil, item, with(map[string]any{"amount": "free"})),
		"a number for it":      preview(nil, item, with(map[string]any{"amount": 1.25})),
		"an absurd amount":     preview(nil, item, with(map[string]any{"amount": "1e999"})),
		"no beginning":         preview(nil, item, with(map[string]any{"start_time": nil})),
		"no time":              preview(nil, item, with(map[string]any{"start_time": nil, "end_time": nil})),
		"an odd time":          preview(nil, item, with(map[string]any{"product": "Taxes", "start_time": "soon", "end_time": "later"})),
		"an end before":        preview(nil, item, with(map[string]any{"end_time": "2026-02-01T00:00:00Z"})),
		"an item to come":      preview(nil, item, with(map[string]any{"start_time": "2026-03-11T00:00:00Z", "end_time": "2026-03-12T00:00:00Z"})),
		"a month of words":     preview(func(x *digitaloceantest.Invoice) { x.Period = "March" }, item),
		"a preview of no time": preview(func(x *digitaloceantest.Invoice) { x.Updated = "tonight" }, item),
		"no preview":           nil,
		"an empty one of none": preview(func(x *digitaloceantest.Invoice) { x.Updated = "tonight" }),
		"an ID with a path":    preview(func(x *digitaloceantest.Invoice) { x.ID = "../balance" }, item),
		"an invoice without":   preview(func(x *digitaloceantest.Invoice) { x.ID, x.Updated = "", "" }, item),
		"an invoice of words":  preview(func(x *digitaloceantest.Invoice) { x.Period, x.Updated = "", "" }, item),
	} {
		c := cloud()
		c.Invoices = x
		if got, err := on(t, c).Charges(at(t), when(3, 7, 0)); !errors.Is(err, guard.ErrBadReply) || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestATokenWithoutBilling names the scope; one that is not known at all lacks more.
func TestATokenWithoutBilling(t *testing.T) {
	for status, want := range map[int]bool{http.StatusForbidden: true, http.StatusUnauthorized: false} {
		f := &cloudtest.Faults{Next: cloud()}
		f.Add(0, func(*http.Request) bool { return true }, func(w http.ResponseWriter, _ *http.Request) {
			digitaloceantest.Refuse(w, status, "forbidden", "You are not authorized to perform this operation")
		})
		_, err := on(t, f).Charges(at(t), when(3, 7, 0))
		if !errors.Is(err, guard.ErrPermission) || strings.Contains(err.Error(), "billing:read") != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
