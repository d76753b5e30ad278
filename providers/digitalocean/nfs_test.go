package digitalocean

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

const (
	files   = "atl1/" + disk
	files2  = "nyc3/0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d"
	daily   = "atl1/1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d"
	ofDisks = "506f78a4-e098-11e5-ad9f-000000000011"
)

// withShares is an account with two shares, a snapshot of one, and one of a volume.
func withShares() *digitaloceantest.Cloud {
	c := cloud()
	for id, kind := range map[string]guard.Kind{files: guard.Filesystem, files2: guard.Filesystem, daily: guard.Snapshot, ofDisks: guard.Snapshot} {
		c.Create(providertest.Thing{Kind: kind, ID: id, Name: "data"})
	}
	c.Special[daily] = digitaloceantest.Special{Of: files}
	return c
}

// TestShares: what they are, by the status and the tier that they tell.
func TestShares(t *testing.T) {
	book, _, err := prices.Parse("book", []byte(`currency: USD
volumes:
  - {type: nfs-high, scope: "*", rate: {amount: "0.73", per: gb_month}}
  - {type: nfs-standard, scope: "*", rate: {amount: "0.073", per: gb_month}}
  - {type: nfs-snapshot, scope: "*", rate: {amount: "0.0073", per: gb_month}}
`))
	if err != nil {
		t.Fatal(err)
	}
	const (
		high = "nfs-high running bills yes, 100 GB for 0.10 USD per hour (100 × 0.73 USD per gb per month), of "
		gone = "gone bills no, 100 GB for unknown, of "
	)
	for name, x := range map[string]struct {
		set         map[string]any
		share, snap string
	}{
		"as it is":            {nil, high, "nfs-snapshot running bills yes, 100 GB for 0.001 USD per hour (100 × 0.0073 USD per gb per month), of " + files},
		"attached nowhere":    {map[string]any{"status": "INACTIVE", "performance_tier": "standard"}, "nfs-standard running bills yes, 100 GB for 0.01 USD per hour (100 × 0.073 USD per gb per month), of ", ""},
		"in another tier":     {map[string]any{"performance_tier": "PERFORMANCE_TIER_EXTREME"}, "nfs running bills yes, 100 GB for unknown, of ", ""},
		"being made":          {map[string]any{"status": "CREATING"}, strings.Replace(high, "running", "provisioning", 1), ""},
		"failed":              {map[string]any{"status": "FAILED"}, "nfs-high unknown bills unknown, 100 GB for 0.10 USD per hour (100 × 0.73 USD per gb per month), of ", ""},
		"deleted":             {map[string]any{"status": "DELETED"}, "nfs-high " + gone, "nfs-snapshot " + gone + files},
		"of a new word":       {map[string]any{"status": "THAWING"}, high, ""},
		"of no size":          {map[string]any{"size_gib": "many"}, "nfs-high running bills yes, 0 GB for unknown, of ", "nfs-snapshot running bills yes, 0 GB for unknown, of " + files},
		"of an unknown share": {map[string]any{"share_id": nil}, high, "nfs-snapshot running bills yes, 100 GB for 0.001 USD per hour (100 × 0.0073 USD per gb per month), of "},
	} {
		c := withShares()
		c.Special[files] = digitaloceantest.Special{Set: x.set}
		c.Special[daily] = digitaloceantest.Special{Of: files, Set: x.set}
		p := on(t, c)
		p.book = book
		for id, want := range map[guard.ResourceID]string{p.id(guard.Filesystem, files): x.share, {Account: "ocean", Kind: guard.Snapshot, Scope: NFS, ID: daily}: x.snap} {
			got := listed(t, p, id.Kind)
			r, l := got[id.ID], p.Get(at(t), id)[0]
			for _, r := range []guard.Resource{r, l.Resource} {
				if s := fmt.Sprintf("%s %s bills %s, %d GB for %s, of %s", r.Type, r.State, r.Bills, r.SizeGB, r.Rate, r.Source); want != "" && s != want || r.UsesUntold != (id.Kind == guard.Filesystem) || r.ID != id || r.Created.IsZero() {
					t.Errorf("%s: %s is\n%s, want\n%s: %+v", name, id, s, want, r)
				}
			}
			if len(got) != 2 {
				t.Errorf("%d %ss", len(got), id.Kind)
			}
		}
	}
}

// TestReleasingShares: a share goes after its snapshots, each with its region.
func TestReleasingShares(t *testing.T) {
	c := withShares()
	p := on(t, c)
	share, snap := p.id(guard.Filesystem, files), guard.ResourceID{Account: "ocean", Kind: guard.Snapshot, Scope: NFS, ID: daily}
	if err := p.Release(at(t), share, providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) || !strings.Contains(err.Error(), "after its snapshots") {
		t.Errorf("a share with a snapshot: %v", err)
	}
	for _, id := range []guard.ResourceID{snap, share} {
		for range 2 {
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Error(err)
			}
		}
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
	}
	if left := listed(t, p, guard.Filesystem); len(left) != 1 || left[files2].State != guard.StateRunning {
		t.Errorf("left are %v", left)
	}
	if left := listed(t, p, guard.Snapshot); len(left) != 1 || left[ofDisks].Type != snapshotType {
		t.Errorf("left are %v", left)
	}
}

// TestOneRegionOfMany: a region without shares has none, and one that fails hides some.
func TestOneRegionOfMany(t *testing.T) {
	asked := 0
	refusing := func(status int, id, path, region string) *Provider {
		f := &cloudtest.Faults{Next: withShares()}
		f.Add(0, func(r *http.Request) bool {
			return r.URL.Path == path && (region == "" || r.URL.Query().Get("region") == region)
		}, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			digitaloceantest.Refuse(w, status, id, "no")
		})
		return on(t, f)
	}
	for name, x := range map[string]struct {
		status           int
		id, path, region string
		want             int
		err              error
		says             string
	}{
		"none there":           {404, "not_found", "/v2/nfs", "nyc3", 1, nil, ""},
		"not a region of it":   {422, "unprocessable_entity", "/v2/nfs", "nyc3", 1, nil, ""},
		"in none":              {404, "not_found", "/v2/nfs", "", 0, guard.ErrBadReply, "no region has"},
		"in none of them":      {422, "", "/v2/nfs", "", 0, guard.ErrBadReply, "no region has"},
		"a proxy's not found":  {404, "", "/v2/nfs", "nyc3", 1, guard.ErrBadReply, "region nyc3"},
		"one that fails":       {500, "", "/v2/nfs", "atl1", 1, guard.ErrUnavailable, "region atl1"},
		"one that says nobody": {401, "", "/v2/nfs", "atl1", 1, guard.ErrPermission, "region atl1"},
		"without leave":        {403, "", "/v2/nfs", "", 0, guard.ErrPermission, "nfs:list"},
		"no regions":           {500, "", "/v2/regions", "", 0, guard.ErrUnavailable, "list the regions"},
		"no leave for regions": {403, "", "/v2/regions", "", 0, guard.ErrPermission, "regions:read"},
		"no such regions":      {404, "not_found", "/v2/regions", "", 0, guard.ErrBadReply, "list the regions"},
	} {
		asked = 0
		p := refusing(x.status, x.id, x.path, x.region)
		inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Filesystem, guard.Volume}})
		res := inv.Results[0]
		if err != nil || !errors.Is(res.Err, x.err) || len(res.Resources) != x.want || x.says != "" && !strings.Contains(res.Err.Error(), x.says) {
			t.Errorf("%s: %d, %v", name, len(res.Resources), res.Err)
		}
		if x.status == 403 && asked != 1 {
			t.Errorf("%s: asked %d times", name, asked)
		}
		if inv.Results[1].Err != nil {
			t.Errorf("%s: volumes: %v", name, inv.Results[1].Err)
		}
	}
	p := refusing(403, "", "/v2/nfs/snapshots", "")
	inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Snapshot}})
	if err != nil || len(inv.Results) != 2 || inv.Results[0].Err != nil || len(inv.Results[0].Resources) != 1 || inv.Results[1].Scope != NFS || !errors.Is(inv.Results[1].Err, guard.ErrPermission) {
		t.Errorf("without leave for snapshots of shares: %+v, %v", inv, err)
	}
	asked = 0
	f := &cloudtest.Faults{Next: withShares()}
	f.Add(0, func(r *http.Request) bool { return r.URL.Path == "/v2/nfs" }, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "60")
		digitaloceantest.Refuse(w, http.StatusTooManyRequests, "too_many_requests", "slower")
	})
	if inv, err := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Filesystem}}); err != nil || asked != 1 || !errors.Is(inv.Results[0].Err, guard.ErrThrottled) {
		t.Errorf("asked %d times: %+v, %v", asked, inv, err)
	}
}

// TestPagesOfShares: their lists need not count, nor have pages at all, nor keep to a region.
func TestPagesOfShares(t *testing.T) {
	c := withShares()
	for i := range 250 {
		c.Create(providertest.Thing{Kind: guard.Filesystem, ID: fmt.Sprintf("atl1/share-%d", i)})
	}
	p := on(t, c)
	calls := func(after time.Duration) []string {
		t.Helper()
		before := len(c.Calls())
		inv, err := p.List(guard.WithInstant(t.Context(), guard.Instant{Wall: noon.Wall.Add(after)}), providers.Query{Kinds: []guard.Kind{guard.Filesystem}})
		if err != nil || inv.Results[0].Err != nil || len(inv.Results[0].Resources) != 252 {
			t.Fatalf("%d, %v, %v", len(inv.Results[0].Resources), err, inv.Results[0].Err)
		}
		return c.Calls()[before:]
	}
	// The regions; nyc3 twice, for the second page has nothing new; atl1 three times; tor1 once.
	if got := calls(0); len(got) != 7 || got[0] != "GET /v2/regions?page=1&per_page=200" {
		t.Errorf("%d calls: %v", len(got), got)
	}
	if got := calls(time.Minute); len(got) != 6 {
		t.Errorf("again, %d calls: %v", len(got), got)
	}
	if got := calls(time.Hour); len(got) != 7 {
		t.Errorf("an hour later, %d calls: %v", len(got), got)
	}
	entry := func(region, id string) string { return fmt.Sprintf(`{"region":%s,"id":%s}`, region, id) }
	for name, x := range map[string]struct {
		entries []string
		want    []string
		ok      bool
	}{
		"none":              {nil, nil, true},
		"the same for each": {[]string{entry(`"atl1"`, `"a"`), entry(`"nyc3"`, `"a"`)}, []string{"atl1/a", "nyc3/a"}, true},
		"without a region":  {[]string{entry(`"atl1"`, `"a"`), entry(`null`, `"b"`)}, []string{"atl1/a"}, false},
		"without an ID":     {[]string{entry(`"atl1"`, `7`)}, nil, false},
		"of an odd region":  {[]string{entry(`"atl1/x"`, `"a"`)}, nil, false},
		"null":              {[]string{"null"}, nil, false},
	} {
		body := `{"regions":[{"slug":"atl1"},{"slug":"nyc3"}],"meta":{"total":2},"shares":[` + strings.Join(x.entries, ",") + `]}`
		inv, err := adapter(t, "ocean", cloudtest.Canned(body), guard.NewSecret("k")).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Filesystem}})
		var got []string
		for _, r := range inv.Results[0].Resources {
			got = append(got, r.ID.ID)
		}
		if err != nil || !slices.Equal(got, x.want) || (inv.Results[0].Err == nil) != x.ok {
			t.Errorf("%s: %v, %v", name, got, inv.Results[0].Err)
		}
	}
	for _, body := range []string{`{"regions":[],"meta":{"total":0},"shares":[]}`, `{"regions":[{"slug":"atl1"}],"meta":{"total":1}}`, `{"regions":[{"slug":"a/b"}],"meta":{"total":1},"shares":[]}`} {
		inv, err := adapter(t, "ocean", cloudtest.Canned(body), guard.NewSecret("k")).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Filesystem}})
		if err != nil || !errors.Is(inv.Results[0].Err, guard.ErrBadReply) {
			t.Errorf("%s: %+v, %v", body, inv, err)
		}
	}
}

// TestAShareOfAnotherRegion: the answer is about the thing that was asked for, region and all.
func TestAShareOfAnotherRegion(t *testing.T) {
	p := adapter(t, "ocean", cloudtest.Canned(`{"share":{"id":"a","region":"nyc3","status":"ACTIVE"}}`), guard.NewSecret("k"))
	for id, want := range map[string]guard.Verdict{"nyc3/a": guard.VerdictFound, "atl1/a": guard.VerdictUnknown, "nyc3/b": guard.VerdictUnknown} {
		if l := p.Get(at(t), p.id(guard.Filesystem, id))[0]; l.Verdict != want {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
	}
}
