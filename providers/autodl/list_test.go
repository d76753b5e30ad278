package autodl

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
	"guard/providers/autodl/autodltest"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// on is an adapter on a handler.
func on(t testing.TB, h http.Handler) *Provider {
	return adapter(t, "dl", cloudtest.In(h), guard.NewSecret(providertest.Secret))
}

// at is a context whose calls are made at noon.
func at(t testing.TB) context.Context { return guard.WithInstant(t.Context(), noon) }

// later is one whose calls are made so long after noon.
func later(t testing.TB, d time.Duration) context.Context {
	return guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(d), Elapsed: d})
}

// listed are the instances of all scopes by their IDs; none may have failed.
func listed(t testing.TB, p *Provider, ctx context.Context) map[string]guard.Resource {
	t.Helper()
	inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]guard.Resource{}
	for _, res := range inv.Results {
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		for _, r := range res.Resources {
			out[r.ID.ID] = r
		}
	}
	return out
}

func TestWhatAnInstanceBills(t *testing.T) {
	c := cloud(thing("pro-on"), thing("pro-off"), thing("pro-disk"), thing("pro-blind"), thing("pro-nogpu"), thing("pro-month"), thing("pro-new"), thing("pro-free"), thing("pro-when"))
	c.Clock = func() time.Time { return noon.Wall }
	c.Pro["pro-disk"] = autodltest.Instance{Expanded: 70}
	c.Pro["pro-blind"] = autodltest.Instance{Detail: map[string]any{"usage_info": nil}}
	c.Pro["pro-nogpu"] = autodltest.Instance{Mode: "non_gpu"}
	c.Pro["pro-month"] = autodltest.Instance{Charge: "monthly"}
	c.Pro["pro-new"] = autodltest.Instance{Set: map[string]any{"status": "levitating", "charge_type": nil}}
	c.Pro["pro-when"] = autodltest.Instance{Set: map[string]any{"stopped_at": nil}}
	c.Pro["pro-free"] = autodltest.Instance{Detail: map[string]any{"payg_price": 0}}
	for _, id := range []string{"pro-off", "pro-disk", "pro-blind", "pro-month", "pro-when"} {
		if err := c.Stop(id); err != nil {
			t.Fatal(err)
		}
	}
	p := on(t, c)
	got := listed(t, p, at(t))
	for id, want := range map[string]string{
		"pro-on":    "running, bills yes, saves all, 3.94 CNY per hour, stopped 0.00 CNY per hour, until -",
		"pro-off":   "stopped, bills no, saves all, 3.94 CNY per hour, stopped 0.00 CNY per hour, until 25 12:00",
		"pro-disk":  "stopped, bills yes, saves compute, 3.94 CNY per hour, stopped unknown, until 25 12:00",
		"pro-blind": "stopped, bills unknown, saves compute, 3.94 CNY per hour, stopped unknown, until 25 12:00",
		"pro-nogpu": "running, bills yes, saves all, unknown, stopped 0.00 CNY per hour, until -",
		"pro-month": "stopped, bills yes, saves nothing, unknown, stopped unknown, until 25 12:00",
		"pro-when":  "stopped, bills no, saves all, 3.94 CNY per hour, stopped 0.00 CNY per hour, until 25 12:00",
		"pro-new":   "unknown, bills yes, saves , unknown, stopped unknown, until -",
		"pro-free":  "running, bills yes, saves all, unknown, stopped 0.00 CNY per hour, until -",
	} {
		if s := tell(got[id]); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
	}
	if r := got["pro-on"]; r.GPUs != 2 || r.GPUModel != autodltest.Model || r.Type != autodltest.Spec || r.Rate.Source != "api" || r.HasGPU != guard.Yes ||
		r.Created.Location() != time.UTC {
		t.Errorf("%+v", r)
	}
	book, _, err := prices.Parse("book", []byte(`
currency: CNY
instances:
  - {type: pro6000-p, scope: "*", rate: {amount: "1.97", per: hour, per_gpu: true}, stopped: {amount: "0.05", per: hour}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p.book = book
	got = listed(t, p, at(t))
	for id, want := range map[string]string{
		"pro-free": "running, bills yes, saves compute, 3.94 CNY per hour (2 × 1.97 CNY per gpu per hour), stopped 0.05 CNY per hour, until -",
		"pro-off":  "stopped, bills yes, saves compute, 3.94 CNY per hour (2 × 1.97 CNY per gpu per hour), stopped 0.05 CNY per hour, until 25 12:00",
	} {
		if s := tell(got[id]); s != want {
			t.Errorf("with a price book, %s is\n%s, want\n%s", id, s, want)
		}
	}
}

func tell(r guard.Resource) string {
	until := "-"
	if !r.PlatformEnds.At.IsZero() {
		until = r.PlatformEnds.At.Format("02 15:04")
	}
	return fmt.Sprintf("%s, bills %s, saves %s, %s, stopped %s, until %s", r.State, r.Bills, r.StopSaves, r.Rate, r.StoppedRate, until)
}

// TestPricesAreAskedForOnce: of an instance that is new, or was started again; and now and then.
func TestPricesAreAskedForOnce(t *testing.T) {
	now := noon.Wall
	var things []providertest.Thing
	for i := range 120 {
		things = append(things, thing(proID(i)))
	}
	c := cloud(things...)
	c.Clock = func() time.Time { return now }
	p := on(t, c)
	asked := func(after time.Duration, want int) map[string]guard.Resource {
		t.Helper()
		now = noon.Wall.Add(after)
		before := len(snapshots(c))
		got := listed(t, p, later(t, after))
		if n := len(snapshots(c)) - before; n != want {
			t.Errorf("after %s %d details were read, want %d", after, n, want)
		}
		return got
	}
	asked(0, mostNew)
	asked(time.Minute, mostNew)
	got := asked(2*time.Minute, 20)
	for id, r := range got {
		if !r.Rate.Known() {
			t.Fatalf("%s has no price: %+v", id, r)
		}
	}
	asked(3*time.Minute, 0)
	if err := errors.Join(c.Stop(proID(3)), c.Start(proID(3))); err != nil {
		t.Fatal(err)
	}
	c.Pro[proID(7)] = autodltest.Instance{Detail: map[string]any{"payg_price": nil}}
	asked(4*time.Minute, 1)
	asked(detailFor+time.Minute, mostOld)
	f := &cloudtest.Faults{Next: c}
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/snapshot") }, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "InternalError", "")
	})
	before := p.details[proID(50)].rate
	p.api = on(t, f).api
	now = noon.Wall.Add(20 * time.Hour)
	if got := listed(t, p, later(t, 20*time.Hour)); !before.Known() || !got[proID(50)].Rate.Same(before) {
		t.Errorf("a detail that cannot be read any more: %s, it was %s", got[proID(50)].Rate, before)
	}
	p.forget(nil)
	if len(p.details) != 0 {
		t.Error("details of what is gone are kept")
	}
}

// TestAPriceThatIsNotThereYet is asked for again soon, and then believed.
func TestAPriceThatIsNotThereYet(t *testing.T) {
	month := cloud(thing("pro-1"))
	month.Pro["pro-1"] = autodltest.Instance{Charge: "monthly", Detail: map[string]any{"payg_price": 0}}
	ahead := on(t, month)
	for _, after := range []time.Duration{0, detailAgain} {
		if listed(t, ahead, later(t, after)); len(snapshots(month)) != 1 {
			t.Errorf("of what has no price by the hour, after %s asked %d times", after, len(snapshots(month)))
		}
	}
	c := cloud(thing("pro-1"))
	c.Pro["pro-1"] = autodltest.Instance{Detail: map[string]any{"payg_price": 0}}
	p := on(t, c)
	for _, tt := range []struct {
		after time.Duration
		asked int
		known bool
	}{{0, 1, false}, {detailAgain - time.Minute, 1, false}, {detailAgain, 2, true}, {2 * detailAgain, 2, true}} {
		if tt.after == detailAgain {
			delete(c.Pro, "pro-1")
		}
		if got := listed(t, p, later(t, tt.after))["pro-1"]; got.Rate.Known() != tt.known || len(snapshots(c)) != tt.asked {
			t.Errorf("after %s: %s, asked %d times", tt.after, got.Rate, len(snapshots(c)))
		}
	}
}

func snapshots(c *autodltest.Cloud) []string {
	return slices.DeleteFunc(c.Calls(), func(s string) bool { return !strings.HasSuffix(s, "/snapshot") })
}

// TestAReadOfManyAsksForFewPrices: as few as a listing, and of nothing else.
func TestAReadOfManyAsksForFewPrices(t *testing.T) {
	var things []providertest.Thing
	for i := range 120 {
		things = append(things, thing(proID(i)))
	}
	c := cloud(things...)
	p := on(t, c)
	var ids []guard.ResourceID
	for i := range 110 {
		ids = append(ids, p.id(Scope, proID(i)))
	}
	for i, l := range p.Get(at(t), append(ids, ids...)...) {
		if l.Verdict != guard.VerdictFound || l.Resource.ID != ids[i%110] || l.Resource.Rate.Known() != (i%110 < mostNew) {
			t.Fatalf("%d: %+v", i, l)
		}
	}
	if n := len(snapshots(c)); n != mostNew {
		t.Errorf("%d details were read, want %d", n, mostNew)
	}
	if l := on(t, c).Get(at(t), ids[3])[0]; !l.Resource.Rate.Known() || len(snapshots(c)) != mostNew+1 {
		t.Errorf("of one, %d details were read: %+v", len(snapshots(c))-mostNew, l)
	}
}

// TestAThrottledDetailEndsTheAsking, and leaves the listing complete.
func TestAThrottledDetailEndsTheAsking(t *testing.T) {
	c := cloud(thing("pro-1"), thing("pro-2"), thing("pro-3"))
	f := &cloudtest.Faults{Next: c}
	asked := 0
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/snapshot") }, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if got := listed(t, on(t, f), at(t)); len(got) != 3 || asked != 1 {
		t.Errorf("%d instances, %d details were asked for", len(got), asked)
	}
}

// TestAFailedListingForgetsNoPrice.
func TestAFailedListingForgetsNoPrice(t *testing.T) {
	c := cloud(thing("pro-1"), thing("pro-2"), thing("pro-3"))
	c.PageSize = 2
	f := &cloudtest.Faults{Next: c}
	p := on(t, f)
	listed(t, p, at(t))
	lists := 0
	f.Add(0, func(*http.Request) bool { lists++; return lists == 2 }, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "InternalError", "")
	})
	if got, err := p.instances(at(t)); err == nil || len(got) != 2 {
		t.Errorf("%d instances, %v", len(got), err)
	}
	if p.detailOf("pro-3").asked.IsZero() {
		t.Error("the price of what the failed page would have told is forgotten")
	}
}

// TestPagesThatAreNotAll: what contradicts itself is never complete.
func TestPagesThatAreNotAll(t *testing.T) {
	page := func(set map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			data := map[string]any{"list": []any{map[string]any{"uuid": "pro-1", "status": "running"}}, "page_index": 1, "max_page": 1, "result_total": 1}
			for k, v := range set {
				data[k] = v
			}
			cloudtest.Reply(w, http.StatusOK, map[string]any{"code": "Success", "data": data})
		}
	}
	for name, c := range map[string]struct {
		set  map[string]any
		want error
	}{
		"more than there are":     {map[string]any{"result_total": 0}, guard.ErrBadReply},
		"fewer than there are":    {map[string]any{"result_total": 2}, guard.ErrBadReply},
		"the same one twice":      {map[string]any{"result_total": 2, "list": []any{map[string]any{"uuid": "pro-1"}, map[string]any{"uuid": "pro-1"}}}, guard.ErrBadReply},
		"no list":                 {map[string]any{"list": nil}, guard.ErrBadReply},
		"no total":                {map[string]any{"result_total": nil}, guard.ErrBadReply},
		"no number of pages":      {map[string]any{"max_page": "one"}, guard.ErrBadReply},
		"another page":            {map[string]any{"page_index": 2}, guard.ErrBadReply},
		"a page more, the same":   {map[string]any{"max_page": 2}, guard.ErrBadReply},
		"pages without an end":    {map[string]any{"max_page": 1 << 40}, guard.ErrBadReply},
		"an entry that is null":   {map[string]any{"list": []any{nil}}, guard.ErrBadReply},
		"an entry without an ID":  {map[string]any{"list": []any{map[string]any{"uuid": ""}}}, guard.ErrBadReply},
		"nothing, without a list": {map[string]any{"list": "", "result_total": 0, "max_page": 0}, guard.ErrBadReply},
		"nothing":                 {map[string]any{"list": nil, "result_total": 0, "max_page": 0}, nil},
		"one":                     {nil, nil},
	} {
		_, err := on(t, page(c.set)).instances(at(t))
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	f := &cloudtest.Faults{Next: cloud(thing("pro-1"), thing("pro-2"), thing("pro-3"))}
	f.Next.(*autodltest.Cloud).PageSize = 2
	f.Add(1, func(r *http.Request) bool { return true }, func(w http.ResponseWriter, r *http.Request) {
		f.Next.ServeHTTP(w, r)
		if err := f.Next.(*autodltest.Cloud).Stop("pro-1"); err != nil {
			t.Error(err)
		}
		if err := f.Next.(*autodltest.Cloud).Release(guard.Instance, "pro-1"); err != nil {
			t.Error(err)
		}
	})
	if _, err := on(t, f).instances(at(t)); !errors.Is(err, guard.ErrUnavailable) {
		t.Errorf("one went while the pages were read, and another was never seen: %v", err)
	}
}
