package autodl

import (
	"encoding/json"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below zero, nothing lives for
// free for a word that nobody knows, a code other than Success is never an answer, and what is
// no list is not an empty one.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"code":"Success","data":{"list":[{"uuid":"pro-1","status":"running","charge_type":"payg","start_mode":"gpu","req_gpu_amount":2,"started_at":{"Time":"2025-12-15T17:31:05+08:00","Valid":true}}],"page_index":1,"max_page":1,"result_total":1,"payg_price":1970}}`,
		`{"code":"Success","data":{"list":[{"uuid":"pro-1","status":"shutdown","charge_type":"payg","stopped_at":{"Time":"2025-12-15T17:31:05+08:00","Valid":true}}],"max_page":1,"result_total":1,"system_init_disk_size":1,"expand_system_disk_size":2}}`,
		`{"code":"Success","data":{"list":[{"uuid":"d","starting_num":0,"running_num":1,"gpu_num":1,"price":1e38,"status":"shutdown"}],"max_page":1,"result_total":1,"assets":1000,"blocked_asset":1}}`,
		`{"code":"Success","data":{"list":null,"max_page":0,"result_total":0}}`, `{"code":"Success","data":"running"}`,
		`{"code":"RecordNotFoundError","data":null}`, `{"code":"BadRequest","msg":"无当前资源访问权限"}`, `{"code":7}`,
		`{"code":"Success","data":{"list":[null,1],"max_page":1,"result_total":2}}`, `{"code":"Success"}`, `{}`, `[]`, `null`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		if err != nil {
			t.Fatal(err)
		}
		var whole struct {
			Code any `json:"code"`
		}
		success := json.Unmarshal([]byte(body), &whole) == nil && whole.Code == "Success"
		for _, res := range inv.Results {
			if res.Err == nil && (!success || len(res.Resources) == 0 && !strings.Contains(body, "result_total")) {
				t.Errorf("%d instances of %q", len(res.Resources), body)
			}
			for _, r := range res.Resources {
				sane(t, r)
			}
		}
		for _, id := range []guard.ResourceID{p.id(Scope, "pro-1"), p.id(Deployments, "deployment/d/c")} {
			switch l := p.Get(at(t), id)[0]; l.Verdict {
			case guard.VerdictAbsent:
				if success && id.Scope == Scope {
					t.Errorf("%s is absent, and the code is Success", id)
				}
			case guard.VerdictFound:
				sane(t, l.Resource)
			}
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err == nil && !success && !strings.Contains(body, "RecordNotFoundError") {
				t.Errorf("%s is released by %q", id, body)
			}
		}
		if b, err := p.Balance(at(t)); err == nil && (!success || !b.Amount.IsSet()) {
			t.Errorf("a balance of %s", b.Amount)
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
	if r.ID.ID == "" || r.GPUs < 0 || r.State == guard.StateUnknown && r.Bills == guard.No || r.Bills == guard.Yes && r.Rate.Free {
		t.Errorf("%+v", r)
	}
}
