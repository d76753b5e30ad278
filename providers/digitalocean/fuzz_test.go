package digitalocean

import (
	"encoding/json"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest/cloudtest"
)

// FuzzReplies: whatever a reply holds, nothing panics, no price is below or at zero, no
// droplet is free, nothing is absent with status 200, a list without a list in it is not
// an empty one, and a bill is of amounts and times.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		`{"droplets":[{"id":3164444,"name":"a","status":"active","locked":false,"created_at":"2020-07-21T18:37:44Z","size":{"slug":"gpu-h100x1-80gb","price_hourly":6.74,"gpu_info":{"count":1}},"tags":["web","env:prod"],"volume_ids":["v-1"],"snapshot_ids":[1]}],"links":{},"meta":{"total":1}}`,
		`{"droplet":{"id":1,"status":"off","size":{"price_hourly":0.00743999984115362}},"volume":{"id":"v","droplet_ids":[1],"size_gigabytes":10},"snapshot":{"id":"s","resource_id":"v","size_gigabytes":2.34}}`,
		`{"images":[{"id":1,"type":"backup","status":"deleted","size_gigabytes":1e300}],"snapshots":[{"id":"1"}],"volumes":[],"reserved_ips":[{"ip":"45.55.96.47","droplet":{"id":1}}],"meta":{"total":1}}`,
		`{"dedicated_inferences":[{"id":"i","status":"active","region":"atl1","spec":{"model_deployments":[{"accelerators":[{"accelerator_slug":"gpu-mi300x1-192gb","scale":2}]}]}}],"sizes":[{"gpu_slug":"gpu-mi300x1-192gb","price_per_hour":"2","region":"atl1","currency":"USD"}],"meta":{"total":1}}`,
		`{"dedicated_inference":{"id":"6b5c619c-359c-44ca-87e2-47e98170c01d","status":"error","pending_deployment_spec":{"model_deployments":[{"accelerators":[{"accelerator_slug":"gpu-x","scale":1e9}]}]}},"sizes":[]}`,
		`{"regions":[{"slug":"atl1"}],"shares":[{"id":"i","region":"atl1","size_gib":1024,"status":"ACTIVE","performance_tier":"PERFORMANCE_TIER_HIGH"}],"snapshots":[{"id":"s","region":"atl1","share_id":"i","status":"DELETED"}],"meta":{"total":1}}`,
		`{"share":{"id":"baf4827c-6fa9-456f-9dbd-9ddfcacd0720","region":"atl1","size_gib":-1},"snapshot":{"id":"0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d","region":"atl1"}}`,
		`{"reserved_ips":[],"reserved_ipv6s":[{"ip":"fd53:616d:6d60::dc9:c001","reserved_at":"2020-01-01T00:00:00Z"}],"reserved_ipv6":{"ip":"2409:40D0:f7:1017:74b4:3a96:105e:4c6e","droplet":{"id":1}},"links":{},"meta":{"total":0}}`,
		`{"node_pools":[{"id":"p","nodes":[{"id":"n","droplet_id":"3164444","status":{"state":"running"}},{"droplet_id":7},null]}]}`,
		`{"account":{"uuid":"u","team":{"uuid":"t"}},"month_to_date_balance":"-12.5"}`,
		`{"invoices":[{"invoice_uuid":"i","invoice_period":"2026-03"}],"invoice_preview":null,"invoice_items":[{"product":"Droplets","resource_id":"1","amount":"1.25","start_time":"2026-03-01T00:00:00Z","end_time":"2026-03-09T00:00:00Z"}],"meta":{"total":1}}`,
		`{"invoices":[],"invoice_preview":{"invoice_uuid":"i","invoice_period":"2026-03","updated_at":"2026-03-09T06:00:00Z"},"meta":{"total":0}}`,
		`{"droplets":[],"meta":{"total":0}}`, `{"droplets":[null],"meta":{"total":1}}`, `{"droplets":null}`, `{}`, `[]`, `null`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := adapter(t, "fuzz", cloudtest.Canned(body), guard.NewSecret("k"))
		var whole map[string]json.RawMessage
		_ = json.Unmarshal([]byte(body), &whole) // or nothing is told
		inv, err := p.List(at(t), providers.Query{Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{
			"global/instance": "droplets", "inference/instance": "dedicated_inferences", "global/volume": "volumes", "global/snapshot": "snapshots",
			"global/image": "images", "global/address": "reserved_ips", "global/filesystem": "shares", "nfs/snapshot": "snapshots",
		}
		for _, res := range inv.Results {
			if name := names[res.Scope+"/"+string(res.Kind)]; res.Err == nil && len(res.Resources) == 0 && !strings.HasPrefix(string(whole[name]), "[") {
				t.Errorf("an empty list of %ss", res.Kind)
			}
			for _, r := range res.Resources {
				sane(t, r)
			}
		}
		for _, id := range things(p) {
			switch l := p.Get(at(t), id)[0]; l.Verdict {
			case guard.VerdictAbsent:
				if id.Kind != guard.Snapshot { // of a droplet, it is an image
					t.Errorf("%s is absent, with status 200", id)
				}
			case guard.VerdictFound:
				sane(t, l.Resource)
			}
		}
		if b, err := p.Balance(at(t)); err == nil && !b.Amount.IsSet() {
			t.Errorf("%+v", b)
		}
		saneBill(t, p)
		if id, err := p.Identity(at(t)); err == nil && id.ID == "" {
			t.Errorf("%+v", id)
		}
		_, _ = p.leavePool(at(t), things(p)[0], cluster)            // nor this
		_ = p.Tag(at(t), things(p)[0], map[string]string{"a": "b"}) // must not panic
	})
}
