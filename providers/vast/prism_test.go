package vast

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

const description = "vast.yaml"

// byMethod sends what writes one way and what reads another.
type byMethod struct{ reads, writes http.RoundTripper }

func (b byMethod) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return b.reads.RoundTrip(r)
	}
	return b.writes.RoundTrip(r)
}

// onePage makes the only page of each: by the example more follow, always the same.
type onePage struct{ next http.RoundTripper }

func (o onePage) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var page map[string]json.RawMessage
	if json.Unmarshal(body, &page) == nil && page["next_token"] != nil {
		delete(page, "next_token")
		delete(page, "total_instances")
		delete(page, "total")
		if body, err = json.Marshal(page); err != nil {
			return nil, err
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func mocked(t *testing.T, m *prismtest.Mock, rt http.RoundTripper) *Provider {
	t.Helper()
	p, err := New(Options{Name: "mock", Config: Config{APIKey: guard.NewSecret("mock"), Endpoint: m.URL}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPrism makes every call against Vast's own description: each request is valid by it,
// each of its examples is understood, and so is each refusal that it names.
func TestPrism(t *testing.T) {
	m := prismtest.Start(t, description)
	t.Run("examples", func(t *testing.T) { understands(t, mocked(t, m, onePage{m.RoundTripper(t, "")})) })
	t.Run("random values", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "dynamic=true"))
		for range 5 {
			inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}})
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range inv.Results {
				for _, r := range res.Resources {
					sane(t, r)
				}
			}
		}
	})
	for code, want := range map[string]error{"401": guard.ErrPermission, "429": guard.ErrThrottled} {
		t.Run(code, func(t *testing.T) { refused(t, mocked(t, m, m.RoundTripper(t, "code="+code)), want) })
	}
	t.Run("404", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "code=404"))
		for _, id := range []guard.ResourceID{p.id(guard.Instance, "312"), p.id(guard.Volume, "100")} {
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Errorf("release %s: %v", id, err)
			}
		}
		// Of a key that no user has.
		if _, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -1)); !errors.Is(err, guard.ErrPermission) {
			t.Errorf("charges: %v", err)
		}
	})
	t.Run("400", func(t *testing.T) {
		p := mocked(t, m, byMethod{m.RoundTripper(t, ""), m.RoundTripper(t, "code=400")})
		for what, err := range map[string]error{
			"release an instance": p.Release(at(t), p.id(guard.Instance, "312"), providers.ReleaseOptions{}),
			"stop an instance":    p.Stop(at(t), p.id(guard.Instance, "312")),
		} {
			if !errors.Is(err, guard.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func understands(t *testing.T, p *Provider) {
	boxes := listed(t, p, guard.Instance)
	r, ok := boxes["312"]
	if !ok || r.State != guard.StateRunning || r.Rate.String() != "0.8021 USD per hour" || r.StoppedRate.String() != "0.0013 USD per hour" || r.GPUs != 1 ||
		r.GPUModel != "RTX 4090" || r.SizeGB != 11 || r.Name != "ML Training Job 2025" || r.Created.Year() != 2022 || r.Spot {
		t.Errorf("the example's instance is %+v", r)
	}
	l := p.Get(at(t), p.id(guard.Instance, "883"))[0]
	if r := l.Resource; l.Verdict != guard.VerdictFound || r.State != guard.StateRunning || r.Name != "" {
		t.Errorf("by ID: %s %+v, %v", l.Verdict, r, l.Err)
	}
	if got := p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: r}}})[0]; got.Err != nil || len(got.Samples) != 1 {
		t.Errorf("signals: %+v", got)
	}
	for _, id := range []guard.ResourceID{r.ID, p.id(guard.Volume, "100")} {
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
			t.Errorf("release %s: %v", id, err)
		}
	}
	if err := p.Stop(at(t), r.ID); err != nil {
		t.Errorf("stop: %v", err)
	}
	// The examples' charges are of four days of another year: none of the day asked for.
	if got, err := p.Charges(at(t), noon.Wall.Add(-time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("charges: %+v, %v", got, err)
	}
	// Of a volume and of a user there is no example: the mock makes their numbers 0, and the
	// balance less than any can be.
	inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Volume}})
	if err != nil || !errors.Is(inv.Results[0].Err, guard.ErrBadReply) {
		t.Errorf("volumes: %+v, %v", inv, err)
	}
	if _, err := p.Identity(at(t)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("identity: %v", err)
	}
	if _, err := p.Balance(at(t)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("balance: %v", err)
	}
}

func refused(t *testing.T, p *Provider, want error) {
	for _, kind := range []guard.Kind{guard.Instance, guard.Volume} {
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
		if err != nil || !errors.Is(inv.Results[0].Err, want) {
			t.Errorf("list %ss: %+v, %v", kind, inv, err)
		}
		id := p.id(kind, "312")
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, want) {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
	}
	if err := p.Stop(at(t), p.id(guard.Instance, "312")); !errors.Is(err, want) {
		t.Errorf("stop: %v", err)
	}
	if _, err := p.Charges(at(t), noon.Wall.Add(-time.Hour)); !errors.Is(err, want) {
		t.Errorf("charges: %v", err)
	}
}
