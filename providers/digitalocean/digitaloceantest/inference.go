package digitaloceantest

import (
	"net/http"
	"strings"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

// Endpoint stands before the IDs of those instances that are endpoints of Dedicated
// Inference. One has a machine for each of its GPUs, and a price for each of these.
const Endpoint = "inference/"

// endpointRegion is where all endpoints are.
const endpointRegion = "atl1"

func isEndpoint(t cloudtest.Thing) bool { return strings.HasPrefix(t.ID, Endpoint) }

var endpointStatuses = map[guard.State]string{
	guard.StateProvisioning: "provisioning", guard.StateRunning: "active", guard.StateReleasing: "deleting",
}

// endpoint is the record of one, as a list has it: without its spec.
func (c *Cloud) endpoint(t cloudtest.Thing) map[string]any {
	return c.made(t, map[string]any{
		"id": strings.TrimPrefix(t.ID, Endpoint), "name": t.Name, "status": endpointStatuses[t.State], "region": endpointRegion,
		"vpc_uuid":   "997615ce-132d-4bae-9270-9ee21b395e5d",
		"endpoints":  map[string]any{"public_endpoint_fqdn": "https://b4bfug-public.do-infra.ai"},
		"created_at": t.Created.Format(time.RFC3339), "updated_at": t.Created.Format(time.RFC3339),
	})
}

// endpointSpec is what one runs; what is special of it may say something else.
func endpointSpec(t cloudtest.Thing) map[string]any {
	return map[string]any{"version": 1, "name": t.Name, "region": endpointRegion, "enable_public_endpoint": true, "model_deployments": []any{
		map[string]any{"model_slug": "mistral/mistral-7b-instruct-v3", "accelerators": []any{
			map[string]any{"accelerator_slug": "gpu-mi300x1-192gb", "scale": t.GPUs, "type": "prefill_decode", "status": "active"},
		}},
	}}
}

func (c *Cloud) listEndpoints(w http.ResponseWriter, r *http.Request) {
	out := []map[string]any{}
	for _, t := range c.List(guard.Instance, "") {
		if t.State != guard.StateGone && isEndpoint(t) {
			out = append(out, c.endpoint(t))
		}
	}
	c.page(w, r, "dedicated_inferences", out)
}

func (c *Cloud) getEndpoint(w http.ResponseWriter, r *http.Request) {
	t, err := c.one(guard.Instance, Endpoint+r.PathValue("id"))
	if refuse(w, err) {
		return
	}
	out := c.endpoint(t)
	if _, special := out["spec"]; !special {
		out["spec"] = endpointSpec(t)
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"dedicated_inference": out})
}

func (c *Cloud) endEndpoint(w http.ResponseWriter, r *http.Request) {
	r.SetPathValue("id", Endpoint+r.PathValue("id"))
	c.endWith(http.StatusAccepted, guard.Instance)(w, r)
}

// listSizes has the price of every endpoint's GPUs there is, the last one's.
func (c *Cloud) listSizes(w http.ResponseWriter, _ *http.Request) {
	sizes := []map[string]any{{"gpu_slug": "gpu-h100x8-640gb", "price_per_hour": "23.92", "region": endpointRegion, "currency": "USD"}}
	for _, t := range c.List(guard.Instance, "") {
		if isEndpoint(t) && t.Price.IsSet() {
			sizes = append(sizes, map[string]any{"gpu_slug": "gpu-mi300x1-192gb", "price_per_hour": t.Price.Rat().FloatString(2), "region": endpointRegion, "currency": "USD"})
		}
	}
	cloudtest.Reply(w, http.StatusOK, map[string]any{"enabled_regions": []string{endpointRegion, "nyc2"}, "sizes": sizes})
}
