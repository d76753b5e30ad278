package compshare

import (
	"encoding/json"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below zero, nothing that
// lives is free of charge for a word that nobody knows, a code other than 0 is never an answer,
// and what is no list is not an empty one.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"RetCode":0,"TotalCount":1,"UHostSet":[{"UHostId":"a","State":"Running","ChargeType":"Postpay","GPU":2,"GpuType":"4090","InstancePrice":1.48,"CompShareImagePrice":0,"DiskPriceInfo":[{"ChargeType":"Postpay","Price":0.18,"IsBoot":true}],"PostPayPowerOffBillingResource":[]}]}`,
		`{"RetCode":0,"TotalCount":1,"UHostSet":[{"UHostId":"a","State":"Stopped","ChargeType":"Month","ExpireTime":1773144000,"AutoRenew":"No","InstancePrice":1068,"ReleaseTime":1773144000}]}`,
		`{"RetCode":0,"TotalCount":1,"UHostSet":[{"UHostId":"a","ChargeType":"Dynamic","ExpireTime":4070908800,"InstancePrice":1e38,"DiskSet":[{"DiskId":"d","IsBoot":"False"}]}],"DiskSet":[{"ResourceId":"v","Configuration":"100GB","ChargeType":"Day","ExpiredTime":1773144000}]}`,
		`{"RetCode":0,"ProjectSet":[{"ProjectId":"org-1","IsDefault":true}],"Data":{"List":[{"UHostId":"a","Metrics":[{"MetricKey":"cloudwatch_gpu_util","Results":[{"TagMap":{"gpu_bus_id":"0"},"Values":[{"Timestamp":1773144000,"Value":42}]}]}]}]}}`,
		`{"RetCode":0,"TotalCount":0,"UHostSet":null}`, `{"RetCode":171,"Message":"Signature VerifyAC Error"}`, `{"RetCode":1,"Message":"InstanceOperationInProgress"}`,
		`{"RetCode":0,"TotalCount":1,"ZoneInfo":[{"Region":"cn-wlcb","Zone":"cn-wlcb-01"}],"ImageSet":[{"CompShareImageId":"i","Size":40960,"Visibility":0,"CreateTime":"1773144000"}]}`,
		`{"RetCode":0,"TotalCount":2,"UHostSet":[null,1]}`, `{"RetCode":"0"}`, `{}`, `[]`, `null`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		var whole struct {
			Code  json.RawMessage `json:"RetCode"`
			Total json.RawMessage `json:"TotalCount"`
			Disks json.RawMessage `json:"DiskSet"`
		}
		success := json.Unmarshal([]byte(body), &whole) == nil && string(whole.Code) == "0"
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume, guard.Image}})
		if err != nil {
			t.Fatal(err)
		}
		var q providers.SignalQuery
		for _, res := range inv.Results {
			told := whole.Total
			if res.Kind == guard.Volume {
				told = whole.Disks
			}
			if res.Err == nil && (!success || len(res.Resources) == 0 && told == nil) {
				t.Errorf("%d %ss of %q", len(res.Resources), res.Kind, body)
			}
			for _, r := range res.Resources {
				sane(t, r)
				q.Of = append(q.Of, providers.SignalsOf{Resource: r})
			}
		}
		p.Signals(at(t), q)
		for _, id := range []guard.ResourceID{p.id(guard.Instance, "a"), p.id(guard.Volume, "v"), p.id(guard.Image, "i")} {
			switch l := p.Get(at(t), id)[0]; l.Verdict {
			case guard.VerdictAbsent:
				if !success {
					t.Errorf("%s is absent by %q", id, body)
				}
			case guard.VerdictFound:
				sane(t, l.Resource)
			}
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err == nil && !success {
				t.Errorf("%s is released by %q", id, body)
			}
		}
		if id, err := p.Identity(at(t)); err == nil && (!success || id.ID == "") {
			t.Errorf("identity %+v of %q", id, body)
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
	if l := r.Lump; !l.IsZero() && (!l.From.Before(l.Until) || l.From.After(noon.Wall) || l.Amount.IsSet() && !l.Amount.IsPositive()) {
		t.Errorf("%s is paid ahead: %+v", r.ID, l)
	}
	if r.ID.ID == "" || r.GPUs < 0 || r.SizeGB < 0 || r.State == guard.StateUnknown && r.Bills == guard.No || r.Bills == guard.Yes && r.Rate.Free && !r.Lump.Amount.IsSet() {
		t.Errorf("%+v", r)
	}
}
