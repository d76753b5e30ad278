package lambda

import (
	"encoding/json"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below or at zero,
// nothing that lives is free of charge for a word that nobody knows, nothing is absent
// unless a whole list says so, and a list without a list in it is not an empty one.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"id":"a","status":"active","instance_type":{"name":"gpu_8x_v100","price_cents_per_hour":632,"specs":{"gpus":8}},"tags":[{"key":"k","value":"v"}],"actions":{"terminate":{"available":true}},"file_system_mounts":[{"file_system_id":"f"}]}]}`,
		`{"data":{"id":"a","status":"preempted","jupyter_token":"x"}}`,
		`{"data":[{"id":"f","name":"fs","created":"2026-03-06T09:00:00Z","is_in_use":true,"bytes_used":1e20}]}`,
		`{"data":[null,7,{}]}`, `{"data":[]}`, `{"data":null}`, `{}`, `[]`, `null`, ``,
		`{"data":[{"id":"a","instance_type":{"price_cents_per_hour":-1e38,"specs":{"gpus":1e38}}}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		var whole struct{ Data []json.RawMessage }
		empty := json.Unmarshal([]byte(body), &whole) == nil && whole.Data != nil && len(whole.Data) == 0
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem}})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range inv.Results {
			if res.Err == nil && len(res.Resources) == 0 && !empty {
				t.Errorf("an empty list of %ss", res.Kind)
			}
			for _, r := range res.Resources {
				sane(t, r)
			}
		}
		for _, id := range []guard.ResourceID{p.id(guard.Instance, "a"), p.id(guard.Filesystem, "f")} {
			switch l := p.Get(at(t), id)[0]; l.Verdict {
			case guard.VerdictAbsent:
				if id.Kind == guard.Instance || inv.Results[1].Err != nil {
					t.Errorf("%s is absent", id)
				}
			case guard.VerdictFound:
				sane(t, l.Resource)
			}
			_ = p.Release(at(t), id, providers.ReleaseOptions{}) // must not panic
		}
	})
}

func sane(t *testing.T, r guard.Resource) {
	t.Helper()
	if h, ok := r.Rate.Hourly(); ok && !h.IsPositive() {
		t.Errorf("%s costs %s", r.ID, r.Rate)
	}
	if r.ID.ID == "" || len(r.ID.ID) > maxID || r.GPUs < 0 || r.SizeGB < 0 || (r.Bills == guard.No) != (r.State == guard.StateGone) {
		t.Errorf("%+v", r)
	}
}
