package vast

import (
	"encoding/json"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below zero, nothing that
// is there is free of charge, a list without a list in it is not an empty one, and what a
// reply lists is not absent.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"success":true,"instances":[{"id":1,"actual_status":"running","cur_state":"running","intended_status":"running","next_state":"running","instance":{"totalHour":0.8021,"diskHour":1.3e-3},"num_gpus":2,"gpu_util":42,"volume_info":[{"id":7}]}],"total_instances":1,"next_token":null}`,
		`{"instances":[{"id":1,"actual_status":"exited","cur_state":"stopped","intended_status":"stopped","next_state":"stopped","is_bid":true,"dph_base":1,"dph_total":1.0020740740740741}],"next_token":"x"}`,
		`{"instances":[{"id":1,"actual_status":null,"cur_state":"running","start_date":1761008618.225083,"end_date":2034617753.0,"inet_up_cost":0.02}],"volumes":[{"id":7,"instances":[{"id":1},2],"disk_space":10.08,"storage_total_cost":0.0005}]}`,
		`{"instances":[],"volumes":[],"results":[],"total":3}`,
		`{"results":[{"start":1773100800,"end":1773100800,"source":"instance-1","amount":1.5,"items":[{"type":"gpu","amount":1.5}]}],"id":4711,"balance":-3.2e-1,"credit":5}`,
		`{"instances":null}`, `{"success":false,"error":"not_found"}`, `{"success":false,"error":"auth_error"}`, `{}`, `[]`, `null`, ``, `{"instances":{"id":1,"cur_state":7}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}})
		if err != nil {
			t.Fatal(err)
		}
		var boxes []providers.SignalsOf
		for _, res := range inv.Results {
			var whole map[string][]json.RawMessage
			if res.Err == nil && len(res.Resources) == 0 && json.Unmarshal([]byte(body), &whole) == nil && whole[string(res.Kind)+"s"] == nil {
				t.Errorf("an empty list of %ss", res.Kind)
			}
			for _, r := range res.Resources {
				sane(t, r)
				boxes = append(boxes, providers.SignalsOf{Resource: r})
				if l := p.Get(at(t), r.ID)[0]; l.Verdict == guard.VerdictAbsent && !strings.Contains(body, "success") {
					t.Errorf("%s is listed and absent", r.ID)
				}
			}
		}
		for _, x := range p.Signals(at(t), providers.SignalQuery{Of: boxes}) {
			for _, s := range x.Samples {
				if g := s.GPUs[0].Util; !g.OK || g.V < 0 || g.V > 100 {
					t.Errorf("it works at %v %%", g)
				}
			}
		}
		charges, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -1))
		for _, c := range charges {
			if err != nil || !c.Amount.IsSet() || !c.From.Before(c.To) {
				t.Errorf("%+v, %v", c, err)
			}
		}
		if b, err := p.Balance(at(t)); err == nil && !b.Amount.IsSet() {
			t.Error("a balance of no amount")
		}
	})
}

func sane(t *testing.T, r guard.Resource) {
	t.Helper()
	for _, rate := range []guard.Rate{r.Rate, r.StoppedRate} {
		if h, ok := rate.Hourly(); ok && (h.IsNegative() || h.IsZero()) {
			t.Errorf("%s costs %s", r.ID, rate)
		}
	}
	if r.ID.ID == "" || len(r.ID.ID) > 18 || r.GPUs < 0 || r.SizeGB < 0 || r.Bills != guard.Yes || r.Egress.PerGB.IsNegative() || r.Egress.InPerGB.IsNegative() {
		t.Errorf("%+v", r)
	}
}
