package compshare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "cs", cloudtest.In(h), guard.NewSecret(providertest.Secret))
}

// at is a context whose calls are made at noon.
func at(t testing.TB) context.Context { return guard.WithInstant(t.Context(), noon) }

// later is one whose calls are made so long after noon.
func later(t testing.TB, d time.Duration) context.Context {
	return guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(d), Elapsed: d})
}

// listed are the things of a kind by their IDs.
func listed(ctx context.Context, t testing.TB, p *Provider, kind guard.Kind) map[string]guard.Resource {
	t.Helper()
	inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{kind}})
	if err != nil || len(inv.Results) != 1 || inv.Results[0].Err != nil {
		t.Fatalf("%+v, %v", inv, err)
	}
	out := map[string]guard.Resource{}
	for _, r := range inv.Results[0].Resources {
		out[r.ID.ID] = r
	}
	return out
}

// tell says what a thing costs.
func tell(r guard.Resource) string {
	s := fmt.Sprintf("%s, bills %s, saves %s, %s, stopped %s", r.State, r.Bills, r.StopSaves, r.Rate, r.StoppedRate)
	if !r.Lump.IsZero() {
		s += fmt.Sprintf(", paid %s from %s until %s, renews %s", r.Lump.Amount, r.Lump.From.Format("02 15:04"), r.Lump.Until.Format("02 15:04"), r.Lump.Renews)
	}
	if !r.PlatformEnds.At.IsZero() {
		s += ", ends " + r.PlatformEnds.At.Format("02 15:04")
	}
	return s
}

func TestWhatAnInstanceBills(t *testing.T) {
	hour := noon.Wall.Add(40 * time.Minute)
	price := guard.MustMoney("71.20CNY")
	var things []providertest.Thing
	for _, id := range []string{"on", "off", "off-disk", "off-untold", "off-when", "spot", "taken", "hour", "day", "month", "month-off", "months", "year", "image", "untold", "lapsed", "new", "silent", "mixed"} {
		x := thing(id)
		if strings.HasPrefix(id, "day") || strings.HasPrefix(id, "month") || id == "year" || id == "image" || id == "lapsed" {
			x.Price = price
		}
		if id == "silent" {
			x.Price = guard.Money{}
		}
		things = append(things, x)
	}
	c := cloud(things...)
	c.Clock = func() time.Time { return noon.Wall }
	c.Instances = map[string]compsharetest.Instance{
		"on":         {Boot: "0.18", Image: "0.5"},
		"off-disk":   {Boot: "0.18", Image: "0.5"},
		"off-untold": {Set: map[string]any{"PostPayPowerOffBillingResource": nil}},
		"off-when":   {Set: map[string]any{"ReleaseTime": nil}},
		"spot":       {Spot: true},
		"taken":      {Spot: true},
		"hour":       {Charge: "Dynamic", Expires: hour},
		"day":        {Charge: "Day", Expires: noon.Wall.Add(6 * time.Hour), Renews: "No", Boot: "8"},
		"month":      {Charge: "Month", Expires: noon.Wall.AddDate(0, 0, 10)},
		"month-off":  {Charge: "Month", Expires: noon.Wall.AddDate(0, 0, 10)},
		"months":     {Charge: "Month", Expires: noon.Wall.AddDate(0, 3, 10)},
		"year":       {Charge: "Year", Expires: noon.Wall.AddDate(0, 3, 0), Renews: "No"},
		"image":      {Charge: "Month", Expires: noon.Wall.AddDate(0, 0, 10), Image: "0.5"},
		"untold":     {Charge: "Day"},
		"lapsed":     {Charge: "Day", Expires: noon.Wall.Add(-time.Hour), Renews: "No"},
		"mixed":      {Set: map[string]any{"DiskPriceInfo": []any{map[string]any{"ChargeType": "Month", "Price": 8, "IsBoot": true}}}},
		"new":        {Set: map[string]any{"ChargeType": "Barter", "State": "Levitating"}},
	}
	for _, id := range []string{"off", "off-disk", "off-untold", "off-when", "month-off"} {
		if err := c.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Reclaim("taken", guard.StateStopped); err != nil {
		t.Fatal(err)
	}
	p := on(t, c)
	got := listed(at(t), t, p, guard.Instance)
	for id, want := range map[string]string{
		"on":         "running, bills yes, saves compute, 3.84 CNY per hour, stopped 0.68 CNY per hour",
		"off":        "stopped, bills no, saves compute, 3.16 CNY per hour, stopped 0.00 CNY per hour, ends 17 12:00",
		"off-disk":   "stopped, bills yes, saves compute, 3.84 CNY per hour, stopped 0.68 CNY per hour, ends 17 12:00",
		"off-untold": "stopped, bills unknown, saves compute, 3.16 CNY per hour, stopped unknown, ends 17 12:00",
		"off-when":   "stopped, bills no, saves compute, 3.16 CNY per hour, stopped 0.00 CNY per hour, ends 17 12:00",
		"spot":       "running, bills yes, saves unsupported, 3.16 CNY per hour, stopped 0.00 CNY per hour",
		"taken":      "stopped, bills no, saves compute, 3.16 CNY per hour, stopped 0.00 CNY per hour, ends 17 12:00",
		"hour":       "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 3.16 CNY from 10 11:40 until 10 12:40, renews yes",
		"day":        "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 79.20 CNY from 09 18:00 until 10 18:00, renews no, ends 11 06:00",
		"month":      "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 71.20 CNY from 20 12:00 until 20 12:00, renews yes",
		"month-off":  "stopped, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 71.20 CNY from 20 12:00 until 20 12:00, renews yes",
		"months":     "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 71.20 CNY from 20 12:00 until 20 12:00, renews unknown",
		"year":       "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 71.20 CNY from 10 12:00 until 10 12:00, renews no",
		"image":      "running, bills yes, saves nothing, unknown, stopped unknown, paid 71.20 CNY from 20 12:00 until 20 12:00, renews yes",
		"untold":     "running, bills yes, saves nothing, unknown, stopped unknown",
		"lapsed":     "running, bills yes, saves nothing, 0.00 CNY per hour, stopped unknown, paid 71.20 CNY from 09 11:00 until 10 11:00, renews no, ends 10 23:00",
		"new":        "unknown, bills yes, saves , unknown, stopped unknown",
		"mixed":      "running, bills yes, saves compute, unknown, stopped 0.00 CNY per hour",
		"silent":     "running, bills yes, saves compute, unknown, stopped 0.00 CNY per hour",
	} {
		if s := tell(got[id]); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
	}
	if r := got["taken"]; r.Ended != guard.ByReclaim || !r.Spot || got["off"].Ended != "" {
		t.Errorf("taken back: %+v", r)
	}
	if r := got["on"]; r.GPUs != 2 || r.GPUModel != compsharetest.GPU || r.HasGPU != guard.Yes || !r.Created.Equal(noon.Wall.Add(-time.Hour)) && r.Created.IsZero() {
		t.Errorf("%+v", r)
	}
	if until := got["months"].Lump.Until; until.Month() != time.March {
		t.Errorf("of three months, the present one ends %s", until)
	}
	book, _, err := prices.Parse("book", []byte(`
currency: CNY
instances: [{type: "4090", scope: "*", rate: {amount: "1.5", per: hour, per_gpu: true}, stopped: {amount: "0.1", per: hour}}]
volumes: [{type: data-disk, scope: "*", rate: {amount: "1", per: gb_month}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	p.book = book
	if s := tell(listed(at(t), t, p, guard.Instance)["off-untold"]); s != "stopped, bills yes, saves compute, 3.00 CNY per hour (2 × 1.50 CNY per gpu per hour), stopped 0.10 CNY per hour, ends 17 12:00" {
		t.Errorf("with a price book: %s", s)
	}
}

// TestPricesAreAskedForByID, in hundreds, and now and then; where they cannot be read the old
// ones stand.
func TestPricesAreAskedForByID(t *testing.T) {
	now := noon.Wall
	var things []providertest.Thing
	for i := range 250 {
		things = append(things, thing(uhostID(i)))
	}
	c := cloud(things...)
	c.Clock = func() time.Time { return now }
	p := on(t, c)
	asked := func(after time.Duration, want int) map[string]guard.Resource {
		t.Helper()
		now = noon.Wall.Add(after)
		before := len(c.Calls())
		got := listed(later(t, after), t, p, guard.Instance)
		if n := len(c.Calls()) - before; n != want {
			t.Errorf("after %s: %d calls, want %d", after, n, want)
		}
		for id, r := range got {
			if !r.Rate.Known() {
				t.Fatalf("after %s %s has no price: %+v", after, id, r)
			}
		}
		return got
	}
	asked(0, 6)
	asked(time.Minute, 3)
	if err := c.Stop(uhostID(7)); err != nil {
		t.Fatal(err)
	}
	asked(2*time.Minute, 4)
	asked(11*time.Minute, 6)
	p.forget(nil)
	if len(p.quotes) != 0 {
		t.Error("prices of what is gone are kept")
	}
}

// TestAFailedPriceLeavesTheOldOne, and the listing complete.
func TestAFailedPriceLeavesTheOldOne(t *testing.T) {
	c := cloud(thing("a"), thing("b"))
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	listed(at(t), t, p, guard.Instance)
	calls := 0
	f.Add(0, func(*http.Request) bool { calls++; return calls%2 == 0 }, func(w http.ResponseWriter, _ *http.Request) {
		compsharetest.Code(w, 8433, "")
	})
	if got := listed(later(t, time.Hour), t, p, guard.Instance); len(got) != 2 || !got["a"].Rate.Known() || calls != 2 {
		t.Errorf("%+v after %d calls", got, calls)
	}
	if got := listed(later(t, time.Hour+time.Minute), t, p, guard.Instance); len(got) != 2 || calls != 3 {
		t.Errorf("a minute later: %d calls", calls)
	}
}

// TestAFailedListingForgetsNoPrice, and one during which something went and something came is
// not whole.
func TestAFailedListingForgetsNoPrice(t *testing.T) {
	c := cloud(thing("a"), thing("b"), thing("c"))
	c.PageSize = 2
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	listed(at(t), t, p, guard.Instance)
	calls := 0
	f.Add(0, func(*http.Request) bool { calls++; return calls == 2 }, func(w http.ResponseWriter, _ *http.Request) {
		compsharetest.Code(w, 8433, "")
	})
	if got, err := p.instances(at(t)); err == nil || len(got) != 2 {
		t.Errorf("%d instances, %v", len(got), err)
	}
	if p.quoteOf("c").asked.IsZero() {
		t.Error("the price of what the failed page would have told is forgotten")
	}
	calls = 10
	f.Add(1, func(*http.Request) bool { return true }, func(w http.ResponseWriter, r *http.Request) {
		c.ServeHTTP(w, r)
		if err := errors.Join(c.Stop("a"), c.Release(guard.Instance, "a")); err != nil {
			t.Error(err)
		}
	})
	if _, err := p.all(at(t)); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("one went while the pages were read, and another was never seen: %v", err)
	}
}

// describes answers everything with one set of instances, or of disks.
func describes(set map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		out := map[string]any{"RetCode": 0, "TotalCount": 1, "UHostSet": []any{map[string]any{"UHostId": "a", "State": "Running"}}}
		for k, v := range set {
			out[k] = v
		}
		cloudtest.Reply(w, http.StatusOK, out)
	}
}

// TestPagesThatAreNotAll: what contradicts itself is never complete.
func TestPagesThatAreNotAll(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]any
		want error
	}{
		"more than there are":    {map[string]any{"TotalCount": 0}, guard.ErrBadReply},
		"fewer than there are":   {map[string]any{"TotalCount": 2, "UHostSet": []any{}}, guard.ErrBadReply},
		"no list":                {map[string]any{"UHostSet": nil}, guard.ErrBadReply},
		"no total":               {map[string]any{"TotalCount": nil}, guard.ErrBadReply},
		"a total without an end": {map[string]any{"TotalCount": 1 << 40}, guard.ErrBadReply},
		"an entry that is null":  {map[string]any{"UHostSet": []any{nil}}, guard.ErrBadReply},
		"an entry without an ID": {map[string]any{"UHostSet": []any{map[string]any{"UHostId": ""}}}, guard.ErrBadReply},
		"nothing":                {map[string]any{"UHostSet": nil, "TotalCount": 0}, nil},
		"one":                    {nil, nil},
	} {
		_, err := on(t, describes(c.set)).all(at(t))
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// A page that is the same again and again ends, too.
	if _, err := on(t, describes(map[string]any{"TotalCount": 2})).all(at(t)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("the same page for ever: %v", err)
	}
}

// TestAbsenceIsOfWholeAnswers: one about other instances, or which counts more than it has,
// says nothing of those that it leaves out.
func TestAbsenceIsOfWholeAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]any
		want guard.Verdict
	}{
		"nothing":         {map[string]any{"TotalCount": 0, "UHostSet": []any{}}, guard.VerdictAbsent},
		"no list at all":  {map[string]any{"TotalCount": 0, "UHostSet": nil}, guard.VerdictAbsent},
		"another":         {nil, guard.VerdictUnknown},
		"more than it is": {map[string]any{"TotalCount": 1, "UHostSet": []any{}}, guard.VerdictUnknown},
		"a null":          {map[string]any{"TotalCount": 1, "UHostSet": []any{nil}}, guard.VerdictUnknown},
		"no total":        {map[string]any{"TotalCount": nil, "UHostSet": []any{}}, guard.VerdictUnknown},
		"no list":         {map[string]any{"UHostSet": nil}, guard.VerdictUnknown},
	} {
		p := on(t, describes(c.set))
		if l := p.Get(at(t), p.id(guard.Instance, "gone"))[0]; l.Verdict != c.want || (l.Err == nil) != (c.want == guard.VerdictAbsent) {
			t.Errorf("%s: %s, %v", name, l.Verdict, l.Err)
		}
		err := p.Release(at(t), p.id(guard.Instance, "gone"), providers.ReleaseOptions{})
		if (err == nil) != (c.want == guard.VerdictAbsent) {
			t.Errorf("%s: a release of it: %v", name, err)
		}
	}
	// One that has another twice does not have two.
	a := map[string]any{"UHostId": "a", "State": "Running"}
	p := on(t, describes(map[string]any{"TotalCount": 2, "UHostSet": []any{a, a}}))
	if l := p.Get(at(t), p.id(guard.Instance, "a"), p.id(guard.Instance, "b")); l[0].Verdict != guard.VerdictFound || l[1].Verdict != guard.VerdictUnknown {
		t.Errorf("one twice: %+v", l)
	}
}

func TestVolumes(t *testing.T) {
	until := noon.Wall.AddDate(0, 0, 10).Unix()
	disk := func(id string, set map[string]any) map[string]any {
		out := map[string]any{"ResourceId": id, "Name": id, "Configuration": "100GB", "Zone": compsharetest.Zone, "MountInstance": "", "ChargeType": "Postpay", "Status": "Available"}
		for k, v := range set {
			out[k] = v
		}
		return out
	}
	all := []any{
		disk("free", nil), disk("month", map[string]any{"ChargeType": "Month", "ExpiredTime": until}), disk("day", map[string]any{"ChargeType": "Day", "ExpiredTime": noon.Wall.Add(time.Hour).Unix()}),
		disk("untold", map[string]any{"ChargeType": "Month"}), disk("odd", map[string]any{"Configuration": "big"}), disk("new", map[string]any{"ChargeType": "Barter"}),
		disk("on", map[string]any{"MountInstance": "uhost-1"}), disk("on-what", map[string]any{"MountInstance": []any{"uhost-1"}}),
	}
	p := on(t, describes(map[string]any{"DiskSet": all, "TotalCount": len(all)}))
	got := listed(at(t), t, p, guard.Volume)
	for id, want := range map[string]string{
		"free":   "running, bills yes, saves , 0.05 CNY per hour (100 × 0.0005 CNY per gb per hour), stopped unknown",
		"month":  "running, bills yes, saves , 0.00 CNY per hour, stopped unknown, paid 30.00 CNY from 20 12:00 until 20 12:00, renews unknown",
		"day":    "running, bills yes, saves , 0.00 CNY per hour, stopped unknown, paid 1.10 CNY from 09 13:00 until 10 13:00, renews unknown",
		"untold": "running, bills yes, saves , 0.041096 CNY per hour (100 × 0.30 CNY per gb per month), stopped unknown",
		"odd":    "running, bills yes, saves , unknown, stopped unknown",
		"new":    "running, bills yes, saves , unknown, stopped unknown",
		"on":     "running, bills yes, saves , 0.05 CNY per hour (100 × 0.0005 CNY per gb per hour), stopped unknown",
	} {
		if s := tell(got[id]); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
		if got[id].UsesUntold {
			t.Errorf("what has %s mounted is not known", id)
		}
	}
	if !got["on-what"].UsesUntold {
		t.Error("what cannot be read of a mount is taken for none")
	}
	for id, want := range map[string]error{"on": guard.ErrConflict, "on-what": guard.ErrBadReply} {
		if err := p.Release(at(t), p.id(guard.Volume, id), providers.ReleaseOptions{}); !errors.Is(err, want) {
			t.Errorf("release of %s: %v, want %v", id, err, want)
		}
	}
	if got["on"].Parent.ID != "uhost-1" || !got["free"].Parent.IsZero() || got["free"].SizeGB != 100 {
		t.Errorf("%+v", got["on"])
	}
	for name, set := range map[string]map[string]any{
		"no list":                    {"DiskSet": nil},
		"an empty object":            {"DiskSet": map[string]any{}},
		"more than there are":        {"DiskSet": all, "TotalCount": 3},
		"a total that is none":       {"DiskSet": all, "TotalCount": "seven"},
		"one without an ID":          {"DiskSet": []any{disk("", nil)}, "TotalCount": 1},
		"one twice":                  {"DiskSet": []any{all[0], all[0]}, "TotalCount": 2},
		"a page without a total":     {"DiskSet": slices.Repeat(all, 3), "TotalCount": nil},
		"one that is not the list's": {"DiskSet": []any{nil}, "TotalCount": 1},
	} {
		p := on(t, describes(set))
		if _, err := p.volumes(at(t)); !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("%s: %v", name, err)
		}
		if l := p.Get(at(t), p.id(guard.Volume, "gone"))[0]; l.Verdict != guard.VerdictUnknown {
			t.Errorf("%s: what is not in it is %s", name, l.Verdict)
		}
		if err := p.Release(at(t), p.id(guard.Volume, "gone"), providers.ReleaseOptions{}); err == nil {
			t.Errorf("%s: what is not in it is released", name)
		}
	}
	p = on(t, describes(map[string]any{"DiskSet": all, "TotalCount": nil}))
	if l := p.Get(at(t), p.id(guard.Volume, "gone"), p.id(guard.Volume, "free")); l[0].Verdict != guard.VerdictAbsent || l[1].Verdict != guard.VerdictFound {
		t.Errorf("a short list without a total: %+v", l)
	}
}

// TestTimes are seconds since 1970, as a number or as digits; anything else is no time.
func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		`1773144000`: "2026-03-10 12:00:00", `"1773144000"`: "2026-03-10 12:00:00", `1773144000.0`: "2026-03-10 12:00:00",
		`1773144000000`: "", `"2026-03-10 20:00:00"`: "", `0`: "", `"0"`: "", `-1`: "", `7`: "", `null`: "", `[]`: "", `4102444801`: "", `1e9`: "",
	} {
		got := ""
		if at := unix(providers.Field(text)); !at.IsZero() {
			got = at.Format(time.DateTime)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

// TestDataDisks are those that are not the system's, by the ID of the list of disks.
func TestDataDisks(t *testing.T) {
	c := cloud(thing("a"))
	c.Instances["a"] = compsharetest.Instance{Set: map[string]any{"DiskSet": []any{
		map[string]any{"DiskId": "boot", "IsBoot": "True"}, map[string]any{"DiskId": "udisk-1", "IsBoot": "False"},
		map[string]any{"DiskId": "bsm-2", "UDiskId": "udisk-2", "IsBoot": "False"}, map[string]any{"DiskId": "udisk-3", "UDiskId": "", "IsBoot": false},
		map[string]any{"DiskId": "what", "IsBoot": nil}, map[string]any{"IsBoot": "False"}, nil,
	}}}
	var got []string
	for _, x := range listed(at(t), t, on(t, c), guard.Instance)["a"].Children {
		got = append(got, string(x.ID.Kind)+" "+x.ID.ID)
	}
	if want := "[volume udisk-1 volume udisk-2 volume udisk-3]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
