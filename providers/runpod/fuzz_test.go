package runpod

import (
	"encoding/json"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below zero, nothing
// that lives is free of charge for a word that nobody knows, and a list without a list in
// it is not an empty one.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"pods":[{"id":"a","status":"RUNNING","cost":0.44,"gpu":{"id":"x","count":2},"mounts":{"persistent":{"size":20}},"runtime":{"gpus":[{"util":94,"memoryUtil":78}]}}]}`,
		`{"pods":[{"id":"a","status":"EXITED","cost":0.0,"mounts":{"network":[{"volumeId":"v"}]},"cluster":{"id":"c"}}],"clusters":[{"id":"c","compute":{"gpuCountPerPod":8,"podCount":4}}]}`,
		`{"pods":[],"endpoints":[{"id":"e","workers":{"max":2},"networkVolumes":["v"]}],"workers":[{"id":"w","status":"IDLE","gpuCount":1}],"networkVolumes":[{"id":"v","size":2048,"type":"STANDARD"}]}`,
		`{"gpus":[{"id":"x","memory":24,"price":{"secure":1e999,"serverless":-1}}],"pods":[null]}`,
		`{"records":[{"startTime":"2026-03-10T10:00:00Z","endTime":"2026-03-10T11:00:00Z","podId":"p","totalAmount":1.5e-5,"gpuAmount":1}]}`,
		`{"pods":null}`, `{}`, `[]`, `null`, ``, `{"pods":[{"id":"a","cost":1e38,"status":7}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Filesystem}})
		if err != nil {
			t.Fatal(err)
		}
		var boxes []providers.SignalsOf
		for _, res := range inv.Results {
			var whole map[string][]json.RawMessage
			if res.Err == nil && len(res.Resources) == 0 && json.Unmarshal([]byte(body), &whole) == nil && whole["pods"] == nil {
				t.Errorf("an empty list of %ss", res.Kind)
			}
			for _, r := range res.Resources {
				sane(t, r)
				boxes = append(boxes, providers.SignalsOf{Resource: r})
			}
		}
		p.Signals(at(t), providers.SignalQuery{Of: boxes})
		for _, id := range []guard.ResourceID{p.id(guard.Instance, "a"), p.id(guard.Instance, "cluster/c"), p.id(guard.Instance, "serverless/e"), p.id(guard.Filesystem, "v")} {
			switch l := p.Get(at(t), id)[0]; l.Verdict {
			case guard.VerdictAbsent:
				t.Errorf("%s is absent, with status 200", id)
			case guard.VerdictFound:
				sane(t, l.Resource)
			}
		}
		charges, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -1))
		for _, c := range charges {
			if err != nil || !c.Amount.IsSet() || !c.From.Before(c.To) {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}

func sane(t *testing.T, r guard.Resource) {
	t.Helper()
	for _, rate := range []guard.Rate{r.Rate, r.StoppedRate} {
		if h, ok := rate.Hourly(); ok && (h.IsNegative() || h.IsZero() && !rate.Free) {
			t.Errorf("%s costs %s", r.ID, rate)
		}
	}
	if r.ID.ID == "" || len(r.ID.ID) > 2*maxID || r.GPUs < 0 || r.SizeGB < 0 || r.State == guard.StateUnknown && r.Bills == guard.No || r.Bills == guard.Yes && r.Rate.Free {
		t.Errorf("%+v", r)
	}
}
