package lambda

import (
	"errors"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/prismtest"
)

func mocked(t *testing.T, m *prismtest.Mock, prefer string) *Provider {
	t.Helper()
	p, err := New(Options{Name: "mock", Config: Config{APIKey: guard.NewSecret("mock"), Endpoint: m.URL}, Base: m.RoundTripper(t, prefer), Unpaced: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPrism makes every call against Lambda's own description: each request is valid by
// it, each of its examples is understood, and so is each refusal that it names.
func TestPrism(t *testing.T) {
	m := prismtest.Start(t, "lambda.json")
	t.Run("examples", func(t *testing.T) { understands(t, mocked(t, m, "")) })
	t.Run("random values", func(t *testing.T) {
		p := mocked(t, m, "dynamic=true")
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
	for code, want := range map[string]error{"401": guard.ErrPermission, "403": guard.ErrRefused} {
		t.Run(code, func(t *testing.T) { refused(t, mocked(t, m, "code="+code), want) })
	}
	t.Run("404", func(t *testing.T) {
		p := mocked(t, m, "code=404")
		id := p.id(guard.Instance, "0920582c7ff041399e34823a0be62549")
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
		for _, id := range []guard.ResourceID{id, p.id(guard.Filesystem, "398578a2336b49079e74043f0bd2cfe8")} {
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Errorf("release %s: %v", id, err)
			}
		}
	})
	t.Run("400", func(t *testing.T) {
		p := mocked(t, m, "code=400")
		if err := p.Release(at(t), p.id(guard.Filesystem, "398578a2336b49079e74043f0bd2cfe8"), providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) {
			t.Errorf("delete a file system that is in use: %v", err)
		}
	})
}

func understands(t *testing.T, p *Provider) {
	boxes := listed(t, p, guard.Instance)
	if len(boxes) == 0 {
		t.Error("no instance is understood")
	}
	for _, r := range boxes {
		sane(t, r)
		if !r.Rate.Known() || r.GPUs == 0 || r.GPUModel == "" || len(r.Tags) == 0 || len(r.Children) == 0 || r.State == guard.StateUnknown || r.ReleaseProtected == guard.Unknown {
			t.Errorf("the example's instance is %+v", r)
		}
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound {
			t.Errorf("%s by ID: %s, %v", r.ID, l.Verdict, l.Err)
		}
	}
	for _, r := range listed(t, p, guard.Filesystem) {
		sane(t, r)
		if l := p.Get(at(t), r.ID)[0]; l.Verdict != guard.VerdictFound || l.Resource.Created.IsZero() {
			t.Errorf("%s by ID: %+v, %v", r.ID, l.Resource, l.Err)
		}
		if err := p.Release(at(t), r.ID, providers.ReleaseOptions{}); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	// The instance of the example of a termination.
	if err := p.Release(at(t), p.id(guard.Instance, "0920582c7ff041399e34823a0be62549"), providers.ReleaseOptions{}); err != nil {
		t.Errorf("release: %v", err)
	}
}

func refused(t *testing.T, p *Provider, want error) {
	for _, kind := range []guard.Kind{guard.Instance, guard.Filesystem} {
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{kind}})
		if err != nil || !errors.Is(inv.Results[0].Err, want) {
			t.Errorf("list %ss: %+v, %v", kind, inv, err)
		}
		id := p.id(kind, "0920582c7ff041399e34823a0be62549")
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, want) {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); !errors.Is(err, want) {
			t.Errorf("release %s: %v", id, err)
		}
	}
}
