package digitalocean

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest/prismtest"
)

// kinds are all that DigitalOcean has.
var kinds = []guard.Kind{guard.Instance, guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem}

func mocked(t *testing.T, m *prismtest.Mock, rt http.RoundTripper) *Provider {
	t.Helper()
	p, err := New(Options{Name: "mock", Config: Config{Token: guard.NewSecret("mock"), Endpoint: m.URL, Prepaid: true}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byMethod sends what writes one way and what reads another.
type byMethod struct{ reads, writes http.RoundTripper }

func (b byMethod) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return b.reads.RoundTrip(r)
	}
	return b.writes.RoundTrip(r)
}

// apart sends the listings of GPU droplets and of regions ways of their own.
type apart struct{ gpus, regions, others http.RoundTripper }

func (x apart) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.URL.Query().Get("type") == "gpus":
		return x.gpus.RoundTrip(r)
	case r.URL.Path == "/v2/regions":
		return x.regions.RoundTrip(r)
	}
	return x.others.RoundTrip(r)
}

// whole makes the pages of a list count what they have: the description's examples of lists
// count more, and none is complete.
type whole struct{ next http.RoundTripper }

func (x whole) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	defer resp.Body.Close()
	var reply map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	for _, v := range reply {
		if all, ok := v.([]any); ok {
			reply["meta"] = map[string]int{"total": len(all)}
		}
	}
	body, err := json.Marshal(reply)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, err
}

// TestPrism makes every call against DigitalOcean's own description: each request is valid
// by it, each of its examples is understood, and so is each refusal that it names.
func TestPrism(t *testing.T) {
	m := prismtest.Start(t, "digitalocean.yaml")
	t.Run("examples", func(t *testing.T) {
		understands(t, mocked(t, m, apart{m.RoundTripper(t, "example=GPU Droplets"), whole{m.RoundTripper(t, "")}, m.RoundTripper(t, "")}))
	})
	t.Run("the example of a bill", func(t *testing.T) { understandsBill(t, m) })
	t.Run("a node of Kubernetes", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, ""))
		if left, err := p.leavePool(at(t), p.id(guard.Instance, "205545372"), cluster); !left || err != nil {
			t.Errorf("%t, %v", left, err)
		}
	})
	t.Run("random values", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "dynamic=true"))
		for range 3 {
			inv, err := p.List(at(t), providers.Query{Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range inv.Results {
				for _, r := range res.Resources {
					sane(t, r)
				}
			}
			if b, err := p.Balance(at(t)); err == nil && !b.Amount.IsSet() {
				t.Errorf("%+v", b)
			}
			saneBill(t, p)
		}
	})
	for code, want := range map[string]error{"401": guard.ErrPermission, "429": guard.ErrThrottled, "500": guard.ErrUnavailable} {
		t.Run(code, func(t *testing.T) { refused(t, mocked(t, m, m.RoundTripper(t, "code="+code)), want) })
	}
	t.Run("404", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "code=404"))
		if got, err := p.Charges(at(t), noon.Wall); !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("a bill that is not there: %v, %v", got, err)
		}
		for _, id := range things(p) {
			if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
				t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
			}
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Errorf("release %s: %v", id, err)
			}
		}
	})
	t.Run("a tag that is new", func(t *testing.T) {
		p := mocked(t, m, byMethod{m.RoundTripper(t, ""), m.RoundTripper(t, "")})
		if err := p.Tag(at(t), things(p)[0], map[string]string{guard.TagLease: "L-1", "env": "test"}); err != nil {
			t.Error(err)
		}
		p = mocked(t, m, byMethod{m.RoundTripper(t, ""), m.RoundTripper(t, "code=404")})
		if err := p.Tag(at(t), things(p)[0], map[string]string{guard.TagLease: "L-1"}); err == nil {
			t.Error("a tag that is not put on is taken for put on")
		}
	})
}

// things are one of each kind, by the description's examples.
func things(p *Provider) []guard.ResourceID {
	return []guard.ResourceID{
		p.id(guard.Instance, "3164444"), p.id(guard.Instance, "inference/6b5c619c-359c-44ca-87e2-47e98170c01d"), p.id(guard.Volume, "506f78a4-e098-11e5-ad9f-000f53306ae1"), p.id(guard.Snapshot, "fbe805e8-866b-11e6-96bf-000f53315a41"),
		p.id(guard.Image, "6918990"), p.id(guard.Address, "45.55.96.47"),
		p.id(guard.Filesystem, "atl1/baf4827c-6fa9-456f-9dbd-9ddfcacd0720"), p.id(guard.Snapshot, "atl1/0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d"),
		p.id(guard.Address, "2409:40d0:f7:1017:74b4:3a96:105e:4c6e"),
	}
}

func understands(t *testing.T, p *Provider) {
	if id, err := p.Identity(at(t)); err != nil || id.ID == "" || !id.Strong {
		t.Errorf("Identity: %+v, %v", id, err)
	}
	if b, err := p.Balance(at(t)); err != nil || b.Amount.String() != "-23.44 USD" || b.At.IsZero() {
		t.Errorf("Balance: %+v, %v", b, err)
	}
	for _, kind := range kinds {
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range inv.Results {
			// The example of images has one of them four times, which no complete list does.
			if err := res.Err; (err == nil) == (kind == guard.Image) || len(res.Resources) == 0 {
				t.Errorf("%ss of %s: %+v", kind, res.Scope, res)
			}
			for _, r := range res.Resources {
				sane(t, r)
				if kind != guard.Address && r.Created.IsZero() {
					t.Errorf("%s has no creation time", r.ID)
				}
			}
		}
	}
	gpus, price := map[int]int{}, map[int]string{1: "6.74 USD per hour", 0: "0.00744 USD per hour"}
	for _, r := range listed(t, p, guard.Instance) {
		if _, ok := endpointID(r.ID); ok { // the example has no spec
			if r.State != guard.StateRunning || r.HasGPU != guard.Yes || r.Rate.Known() {
				t.Errorf("the example's endpoint is %+v", r)
			}
			continue
		}
		gpus[r.GPUs]++
		if r.Rate.String() != price[r.GPUs] || r.HasGPU != guard.TriOf(r.GPUs > 0) || r.TagsUntold {
			t.Errorf("the example's droplet is %+v", r)
		}
	}
	if gpus[1] != 1 || gpus[0] != 3 {
		t.Errorf("droplets by their GPUs are %v", gpus)
	}
	if l := p.Get(at(t), things(p)[6])[0]; l.Verdict != guard.VerdictFound || l.Resource.SizeGB != 1024 || l.Resource.Type != "nfs-high" {
		t.Errorf("the example's share is %+v, %v", l.Resource, l.Err)
	}
	if l := p.Get(at(t), things(p)[8])[0]; l.Verdict != guard.VerdictFound || l.Resource.Parent.ID != "3164444" || l.Resource.Created.IsZero() {
		t.Errorf("the example's IPv6 is %+v, %v", l.Resource, l.Err)
	}
	for _, id := range things(p) {
		// The description's examples of one thing and of a list are of different ones.
		if l := p.Get(at(t), id)[0]; l.Verdict == guard.VerdictAbsent {
			t.Errorf("%s is absent", id)
		}
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil && !errors.Is(err, guard.ErrConflict) {
			t.Errorf("release %s: %v", id, err)
		}
	}
}

func refused(t *testing.T, p *Provider, want error) {
	if _, err := p.Identity(at(t)); !errors.Is(err, want) {
		t.Errorf("Identity: %v", err)
	}
	if _, err := p.Balance(at(t)); !errors.Is(err, want) {
		t.Errorf("Balance: %v", err)
	}
	if got, err := p.Charges(at(t), noon.Wall); !errors.Is(err, want) || got != nil {
		t.Errorf("Charges: %v, %v", got, err)
	}
	for _, kind := range kinds {
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
		for _, res := range inv.Results {
			if err != nil || !errors.Is(res.Err, want) {
				t.Errorf("list %ss of %s: %+v, %v", kind, res.Scope, res, err)
			}
		}
	}
	for _, id := range things(p) {
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, want) {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); !errors.Is(err, want) {
			t.Errorf("release %s: %v", id, err)
		}
	}
}

func sane(t *testing.T, r guard.Resource) {
	t.Helper()
	if h, ok := r.Rate.Hourly(); ok && !h.IsPositive() {
		t.Errorf("%s costs %s", r.ID, r.Rate)
	}
	if !shaped(r.ID) || r.GPUs < 0 || r.SizeGB < 0 || r.State == guard.StateUnknown && r.Bills != guard.Yes || r.ID.Kind == guard.Instance && r.Bills != guard.Yes {
		t.Errorf("%+v", r)
	}
}

// understandsBill: the examples of invoices are of the winter of 2020, and each has the same
// two items.
func understandsBill(t *testing.T, m *prismtest.Mock) {
	ctx := guard.WithInstant(t.Context(), guard.Instant{Wall: time.Date(2020, 2, 23, 12, 0, 0, 0, time.UTC)})
	since := time.Date(2019, 12, 31, 0, 0, 0, 0, time.UTC)
	if got, err := mocked(t, m, m.RoundTripper(t, "")).Charges(ctx, since); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("2 invoices of 70 are a bill of %d charges, %v", len(got), err)
	}
	got, err := mocked(t, m, whole{m.RoundTripper(t, "")}).Charges(ctx, since.AddDate(0, 0, 2))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []string{"Kubernetes Clusters 12.34 USD", "Spaces Subscription 34.45 USD"} {
		if c := got[i]; c.Resource.ID != "" || c.What+" "+c.Amount.String() != want || c.From.Month() != time.January || !c.To.Equal(c.From.AddDate(0, 1, 0)) {
			t.Errorf("%+v, want %s of January", c, want)
		}
	}
}

func saneBill(t *testing.T, p *Provider) {
	t.Helper()
	got, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -3))
	for _, c := range got {
		if err != nil || !c.Amount.IsSet() || !c.From.Before(c.To) || c.What == "" || c.Resource.ID != "" && !shaped(c.Resource) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}
