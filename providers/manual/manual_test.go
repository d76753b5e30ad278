package manual

import (
	"context"
	"errors"
	"strings"
	"testing"

	"guard"
	"guard/providers"
)

func desk(t *testing.T) *Provider {
	t.Helper()
	p, err := New("desk", Config{How: "AutoDL's console, then Release"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNothingIsAbsent: whatever is asked for is there, and no listing says otherwise.
func TestNothingIsAbsent(t *testing.T) {
	p := desk(t)
	id := guard.ResourceID{Account: "desk", Kind: guard.Instance, ID: "autodl-3f2a"}
	for _, l := range p.Get(t.Context(), id, id) {
		if l.Verdict != guard.VerdictFound || l.Resource.ID.Key() != id.Key() || l.Resource.Bills != guard.Yes || l.Resource.Rate.Known() {
			t.Errorf("%+v", l)
		}
	}
	inv, err := p.List(t.Context(), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}})
	if err != nil || len(inv.Results) != 2 || inv.Results[0].Err != nil || len(inv.Results[0].Resources) != 0 || !errors.Is(inv.Results[1].Err, guard.ErrUnsupported) {
		t.Errorf("%+v, %v", inv, err)
	}
	for name, c := range map[string]struct {
		id   guard.ResourceID
		want error
	}{
		"a volume":   {guard.ResourceID{Account: "desk", Kind: guard.Volume, ID: "v"}, guard.ErrUnsupported},
		"a sentence": {guard.ResourceID{Account: "desk", Kind: guard.Instance, ID: "the big one"}, guard.ErrInvalid},
		"a novel":    {guard.ResourceID{Account: "desk", Kind: guard.Instance, ID: strings.Repeat("x", 200)}, guard.ErrInvalid},
	} {
		if l := p.Get(t.Context(), c.id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, c.want) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// TestReleaseAsksAPerson, and says what they have to do.
func TestReleaseAsksAPerson(t *testing.T) {
	p := desk(t)
	id := guard.ResourceID{Account: "desk", Kind: guard.Instance, ID: "autodl-3f2a"}
	if err := p.Release(t.Context(), id, providers.ReleaseOptions{}); !errors.Is(err, guard.ErrUnsupported) || !strings.Contains(err.Error(), "AutoDL's console") {
		t.Error(err)
	}
	if who, err := p.Identity(t.Context()); err != nil || who.Strong || who.ID != "manual:desk" {
		t.Errorf("%+v, %v", who, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Release(gone, id, providers.ReleaseOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.List(gone, providers.Query{Kinds: []guard.Kind{guard.Instance}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if l := p.Get(gone, id)[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, context.Canceled) {
		t.Errorf("%+v", l)
	}
	if _, err := New("", Config{}); !errors.Is(err, guard.ErrInvalid) {
		t.Error(err)
	}
	var said []string
	(&Config{How: "two\nlines"}).Check(func(key, _ string) { said = append(said, key) })
	(&Config{How: "one line"}).Check(func(key, _ string) { said = append(said, key) })
	if len(said) != 1 || said[0] != "how" {
		t.Error(said)
	}
}
