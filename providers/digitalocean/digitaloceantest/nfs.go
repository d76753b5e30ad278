package digitaloceantest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

// Regions are all there are; NoNFS are those of them that have no shares. Things of NFS have
// their region and a slash before their ID.
var (
	Regions = []string{"nyc3", "atl1", "tor1"}
	NoNFS   = []string{"tor1"}
)

var shareStatuses = map[guard.State]string{guard.StateProvisioning: "CREATING", guard.StateRunning: "ACTIVE", guard.StateReleasing: "ACTIVE"}

func (c *Cloud) listRegions(w http.ResponseWriter, r *http.Request) {
	out := []map[string]any{}
	for _, slug := range Regions {
		out = append(out, map[string]any{"name": slug, "slug": slug, "features": []string{"metadata"}, "available": true, "sizes": []string{}})
	}
	c.page(w, r, "regions", out)
}

// regional is the record of a thing of NFS.
func (c *Cloud) regional(t cloudtest.Thing) map[string]any {
	region, id, _ := strings.Cut(t.ID, "/")
	out := map[string]any{"id": id, "name": t.Name, "size_gib": GB, "region": region, "status": shareStatuses[t.State], "created_at": t.Created.Format(time.RFC3339)}
	if t.Kind == guard.Snapshot {
		_, out["share_id"], _ = strings.Cut(c.Special[t.ID].Of, "/")
	} else {
		out["vpc_ids"], out["performance_tier"] = []string{"796c6fe3-2a1d-4da2-9f3e-38239827dc91"}, "PERFORMANCE_TIER_HIGH"
	}
	return c.made(t, out)
}

// listRegional lists one region. It does not tell how many there are.
func (c *Cloud) listRegional(kind guard.Kind, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		region := r.URL.Query().Get("region")
		if !slices.Contains(Regions, region) || slices.Contains(NoNFS, region) {
			refuse(w, guard.ErrNotFound)
			return
		}
		all := slices.DeleteFunc(c.records(kind, c.regional), func(x map[string]any) bool { return x["region"] != region })
		page, size := asked(r, "page", 1, 1<<20), asked(r, "per_page", 20, 200)
		if c.PageSize > 0 {
			size = min(size, c.PageSize)
		}
		out, _ := cloudtest.Page(all, (page-1)*size, size)
		cloudtest.Reply(w, http.StatusOK, map[string]any{name: out})
	}
}

func (c *Cloud) getRegional(kind guard.Kind, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if t, err := c.one(kind, r.URL.Query().Get("region")+"/"+r.PathValue("id")); !refuse(w, err) {
			cloudtest.Reply(w, http.StatusOK, map[string]any{name: c.regional(t)})
		}
	}
}

// endRegional deletes a thing; a share with snapshots is not.
func (c *Cloud) endRegional(kind guard.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("region") + "/" + r.PathValue("id")
		for _, t := range c.List(guard.Snapshot, "") {
			if kind == guard.Filesystem && t.State != guard.StateGone && c.Special[t.ID].Of == id {
				Refuse(w, http.StatusPreconditionFailed, "precondition_failed", "The share has snapshots.")
				return
			}
		}
		r.SetPathValue("id", id)
		c.end(kind)(w, r)
	}
}
