package runpod

import (
	"errors"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/prismtest"
)

const description = "runpod-v2.json"

// byMethod sends what writes one way and what reads another.
type byMethod struct{ reads, writes http.RoundTripper }

func (b byMethod) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return b.reads.RoundTrip(r)
	}
	return b.writes.RoundTrip(r)
}

func mocked(t *testing.T, m *prismtest.Mock, rt http.RoundTripper) *Provider {
	t.Helper()
	p, err := New(Options{Name: "mock", Config: Config{APIKey: guard.NewSecret("rpa_mock"), Endpoint: m.URL}, Base: rt, Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPrism makes every call against RunPod's own description: each request is valid by
// it, each of its examples is understood, and so is each refusal that it names.
func TestPrism(t *testing.T) {
	m := prismtest.Start(t, description)
	t.Run("examples", func(t *testing.T) { understands(t, mocked(t, m, m.RoundTripper(t, ""))) })
	t.Run("random values", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "dynamic=true"))
		for range 5 {
			inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem}})
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
	for code, want := range map[string]error{"401": guard.ErrPermission, "403": guard.ErrPermission, "429": guard.ErrThrottled} {
		t.Run(code, func(t *testing.T) { refused(t, mocked(t, m, m.RoundTripper(t, "code="+code)), want) })
	}
	t.Run("404", func(t *testing.T) {
		p := mocked(t, m, m.RoundTripper(t, "code=404"))
		for _, id := range things(p) {
			if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
				t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
			}
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Errorf("release %s: %v", id, err)
			}
		}
	})
	t.Run("409", func(t *testing.T) {
		p := mocked(t, m, byMethod{m.RoundTripper(t, ""), m.RoundTripper(t, "code=409")})
		id := p.id(guard.Instance, "7h9k2m4n6p")
		for what, err := range map[string]error{"release": p.Release(at(t), id, providers.ReleaseOptions{}), "stop": p.Stop(at(t), id), "unlock": p.Unprotect(at(t), id)} {
			if !errors.Is(err, guard.ErrConflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// things are one of each sort that has an ID of its own.
func things(p *Provider) []guard.ResourceID {
	return []guard.ResourceID{p.id(guard.Instance, "7h9k2m4n6p"), p.id(guard.Instance, "cluster/c1"), p.id(guard.Instance, "serverless/e1"), p.id(guard.Filesystem, "v1")}
}

func understands(t *testing.T, p *Provider) {
	boxes := listed(t, p, guard.Instance)
	pod, ok := boxes["7h9k2m4n6p"]
	if !ok || pod.State != guard.StateRunning || pod.Rate.String() != "0.44 USD per hour" || pod.GPUs != 1 || pod.SizeGB != 20 {
		t.Errorf("the example's pod is %+v", pod)
	}
	if len(boxes) < 2 {
		t.Errorf("%d instances, want endpoints too", len(boxes))
	}
	for _, r := range boxes {
		sane(t, r)
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound {
			t.Errorf("%s by ID: %s, %v", r.ID, l.Verdict, l.Err)
		}
		if err := p.Stop(at(t), r.ID); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := p.Release(at(t), r.ID, providers.ReleaseOptions{}); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if got := p.Signals(at(t), providers.SignalQuery{Of: []providers.SignalsOf{{Resource: pod}}}); got[0].Err != nil {
		t.Error(got[0].Err)
	}
	cluster := p.id(guard.Instance, "cluster/cluster_abc123")
	if l := p.Get(at(t), cluster)[0]; l.Verdict != guard.VerdictFound {
		t.Errorf("the example's cluster is %s, %v", l.Verdict, l.Err)
	}
	if err := p.Release(at(t), cluster, providers.ReleaseOptions{}); err != nil {
		t.Errorf("release: %v", err)
	}
	for _, r := range listed(t, p, guard.Filesystem) {
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound || !l.Resource.Rate.Known() && r.Type == standardVolume {
			t.Errorf("%s by ID: %+v, %v", r.ID, l.Resource, l.Err)
		}
		if err := p.Release(at(t), r.ID, providers.ReleaseOptions{}); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if err := p.Unprotect(at(t), pod.ID); err != nil {
		t.Errorf("unlock: %v", err)
	}
	// The examples' bills are of another month.
	if _, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -1)); err != nil {
		t.Error(err)
	}
}

func refused(t *testing.T, p *Provider, want error) {
	for _, kind := range []guard.Kind{guard.Instance, guard.Filesystem} {
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
		if err != nil || !errors.Is(inv.Results[0].Err, want) {
			t.Errorf("list %ss: %+v, %v", kind, inv, err)
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
	if _, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -1)); !errors.Is(err, want) {
		t.Errorf("charges: %v", err)
	}
}
