package digitalocean

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/prices"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestPrices(t *testing.T) {
	for text, want := range map[string]string{
		"6.74":                "6.74 USD per hour",
		"0.00743999984115362": "0.00744 USD per hour", // a float of 32 bits with the digits of 64
		"23.920000076293945":  "23.92 USD per hour",   // another
		"23.92":               "23.92 USD per hour",   // which is none
		"0.5":                 "0.50 USD per hour",
		"1":                   "1.00 USD per hour",
		"1e1":                 "10.00 USD per hour",
		"0":                   "unknown",
		"-6.74":               "unknown",
		"1e38":                "unknown",
		"1e999":               "unknown",
		`"6.74"`:              "unknown",
		"null":                "unknown",
		"":                    "unknown",
	} {
		if got := hourly(providers.Field(text)).String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if m := hourly(providers.Field("0.007440001")).Amount.String(); m != "0.007440001 USD" {
		t.Errorf("digits of its own are lost: %s", m)
	}
}

// TestDroplets: both listings make one, in every state and price.
func TestDroplets(t *testing.T) {
	plain, off, contract := thing(2), thing(3), thing(4)
	plain.GPUs, off.Stopped, contract.Price = 0, true, guard.Money{}
	off.Tags = map[string]string{"env": "prod", "web": "", "guard:lease": "L-1"}
	c := cloud(thing(1), plain, off, contract)
	c.Create(providertest.Thing{Kind: guard.Volume, ID: leftoverID(guard.Volume, 1), AttachedTo: dropletID(1)})
	got := listed(t, on(t, c), guard.Instance)
	for n, want := range map[int]string{
		1: "running active, 2 of nvidia_h100 yes, 6.74 USD per hour, map[] [{ocean/506f78a4-e098-11e5-ad9f-000000000001 no}]",
		2: "running active, 0 of  no, 6.74 USD per hour, map[] []",
		3: "stopped off, 2 of nvidia_h100 yes, 6.74 USD per hour, map[env:prod guard:lease:L-1 web:] []",
		4: "running active, 2 of nvidia_h100 yes, unknown, map[] []",
	} {
		r := got[dropletID(n)]
		if s := fmt.Sprintf("%s %s, %d of %s %s, %s, %v %v", r.State, r.RawState, r.GPUs, r.GPUModel, r.HasGPU, r.Rate, r.Tags, r.Children); s != want {
			t.Errorf("%d is\n%s, want\n%s", n, s, want)
		}
		if r.Bills != guard.Yes || r.StopSaves != guard.StopSavesNothing || r.Created.IsZero() {
			t.Errorf("%d: %+v", n, r)
		}
	}
}

// TestPages: a list is what it counts, read page by page.
func TestPages(t *testing.T) {
	var boxes []providertest.Thing
	for i := range 450 {
		boxes = append(boxes, thing(i))
	}
	c := cloud(boxes...)
	p := on(t, c)
	if got := listed(t, p, guard.Instance); len(got) != 450 || len(c.Calls()) != 5 {
		t.Errorf("%d droplets in %d calls, want 450 in 5", len(got), len(c.Calls()))
	}
	page := func(ids string, total string) string {
		return `{"droplets":[` + ids + `],"links":{},"meta":{"total":` + total + `}}`
	}
	for name, x := range map[string]struct {
		pages []string
		want  int
		ok    bool
	}{
		"whole":                 {[]string{page(`{"id":1},{"id":2}`, "3"), page(`{"id":3}`, "3")}, 3, true},
		"empty":                 {[]string{page(``, "0")}, 0, true},
		"cut short":             {[]string{page(`{"id":1},{"id":2}`, "3"), page(``, "3")}, 2, false},
		"the same page again":   {[]string{page(`{"id":1},{"id":2}`, "4"), page(`{"id":1},{"id":2}`, "4")}, 2, false},
		"changed meanwhile":     {[]string{page(`{"id":1},{"id":2}`, "3"), page(`{"id":3}`, "4")}, 3, false},
		"more than it counts":   {[]string{page(`{"id":1},{"id":2}`, "1")}, 2, false},
		"no count":              {[]string{page(`{"id":1}`, "null")}, 1, false},
		"a count of words":      {[]string{page(`{"id":1}`, `"1"`)}, 1, false},
		"a count beyond reason": {[]string{page(`{"id":1}`, "1e9")}, 1, false},
		"an entry without name": {[]string{page(`{"id":1},{"id":"x"}`, "3"), page(`{"id":3}`, "3")}, 2, false},
	} {
		got, err := list[droplet](at(t), adapter(t, "ocean", &pager{x.pages}, guard.NewSecret("k")), "droplets", dropletsPath, nil)
		if len(got) != x.want || (err == nil) != x.ok || err != nil && !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("%s: %d, %v", name, len(got), err)
		}
	}
}

// pager gives one body after the other, the last for ever.
type pager struct{ pages []string }

func (x *pager) RoundTrip(r *http.Request) (*http.Response, error) {
	body := cloudtest.Canned(x.pages[0])
	if len(x.pages) > 1 {
		x.pages = x.pages[1:]
	}
	return body.RoundTrip(r)
}

// TestReadingMany: beyond four the listings are asked, and by ID only what they have not.
func TestReadingMany(t *testing.T) {
	c := cloud(thing(1), thing(2), thing(3), thing(4), thing(5))
	p := on(t, c)
	var ids []guard.ResourceID
	for _, n := range []int{1, 2, 3, 4, 5, 9, 1} {
		ids = append(ids, p.id(guard.Instance, dropletID(n)))
	}
	for i, l := range p.Get(at(t), ids...) {
		if want := map[bool]guard.Verdict{true: guard.VerdictAbsent, false: guard.VerdictFound}[i == 5]; l.Verdict != want || l.ID != ids[i] {
			t.Errorf("%d: %s is %s, %v", i, l.ID, l.Verdict, l.Err)
		}
	}
	if n := len(c.Calls()); n != 3 {
		t.Errorf("%d calls, want two listings and one by ID: %v", n, c.Calls())
	}
	if l := p.Get(at(t), ids[0])[0]; l.Resource.HasGPU != guard.Yes || l.Resource.GPUs != 2 {
		t.Errorf("by ID it is %+v", l.Resource)
	}
}

// TestADropletsSnapshot is an image here; that it is no snapshot of a volume is no absence.
func TestADropletsSnapshot(t *testing.T) {
	for what, want := range map[string]guard.Verdict{"volume": guard.VerdictFound, "droplet": guard.VerdictUnknown} {
		p := adapter(t, "ocean", cloudtest.Canned(`{"snapshot":{"id":"6372321","resource_type":"`+what+`"}}`), guard.NewSecret("k"))
		if l := p.Get(at(t), p.id(guard.Snapshot, "6372321"))[0]; l.Verdict != want {
			t.Errorf("of a %s: %s, %v", what, l.Verdict, l.Err)
		}
	}
}

// TestReservedIPv6: it is listed beside the others, under its address as everybody writes it.
func TestReservedIPv6(t *testing.T) {
	const free, taken = "2409:40d0:f7:1017::4c6e", "fd53:616d:6d60::dc9:c001"
	c := cloud(thing(1))
	for id, on := range map[string]string{free: "", taken: dropletID(1), leftoverID(guard.Address, 1): ""} {
		c.Create(providertest.Thing{Kind: guard.Address, ID: id, AttachedTo: on})
	}
	c.Special[free] = digitaloceantest.Special{Set: map[string]any{"ip": "2409:40D0:F7:1017:0:0:0:4C6E"}}
	p := on(t, c)
	got := listed(t, p, guard.Address)
	for id, want := range map[string]string{
		free: "reserved-ipv6 bills unknown, on , untold false, created true", taken: "reserved-ipv6 bills no, on 3164001, untold false, created true",
		leftoverID(guard.Address, 1): "reserved-ip bills yes, on , untold false, created false",
	} {
		l := p.Get(at(t), p.id(guard.Address, id))[0]
		for _, r := range []guard.Resource{got[id], l.Resource} {
			if s := fmt.Sprintf("%s bills %s, on %s, untold %t, created %t", r.Type, r.Bills, r.Parent.ID, r.UsesUntold, !r.Created.IsZero()); s != want || r.ID.ID != id {
				t.Errorf("%s is %s, want %s: %v", id, s, want, l.Err)
			}
		}
	}
	if err := p.Release(at(t), p.id(guard.Address, taken), providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("release what a droplet has: %v", err)
	}
	for range 2 {
		if err := p.Release(at(t), p.id(guard.Address, free), providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	if got := listed(t, p, guard.Address); len(got) != 2 || len(got[free].ID.ID) > 0 {
		t.Errorf("left are %v", got)
	}
	for _, path := range []string{"/v2/reserved_ips", "/v2/reserved_ipv6"} {
		for status, calls := range map[int]int{http.StatusForbidden: 2, http.StatusNotFound: 2} {
			f, asked := &cloudtest.Faults{Next: c}, len(c.Calls())
			f.Add(0, func(r *http.Request) bool { return r.URL.Path == path }, func(w http.ResponseWriter, _ *http.Request) {
				asked--
				digitaloceantest.Refuse(w, status, "not_found", "no")
			})
			inv, err := on(t, f).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Address}})
			if path == "/v2/reserved_ips" && status != http.StatusNotFound {
				calls = 1
			}
			if err != nil || inv.Results[0].Err == nil || len(c.Calls())-asked != calls {
				t.Errorf("%s is %d: %d calls, %+v, %v", path, status, len(c.Calls())-asked, inv, err)
			}
		}
	}
}

// TestMoreThanItCounts: the list of IPv6 may, where there is no further page; no other.
func TestMoreThanItCounts(t *testing.T) {
	two := `[{"ip":"fd53::1","droplet":null},{"ip":"fd53::2","droplet":null}]`
	for body, ok := range map[string]bool{
		`{"reserved_ips":[],"reserved_ipv6s":` + two + `,"links":{},"meta":{"total":0}}`:                               true,
		`{"reserved_ips":[],"reserved_ipv6s":` + two + `,"links":{"pages":{"next":"https://x/y"}},"meta":{"total":0}}`: false,
		`{"reserved_ips":` + two + `,"reserved_ipv6s":[],"links":{},"meta":{"total":0}}`:                               false,
	} {
		inv, err := adapter(t, "ocean", cloudtest.Canned(body), guard.NewSecret("k")).List(at(t), providers.Query{Kinds: []guard.Kind{guard.Address}})
		if err != nil || (inv.Results[0].Err == nil) != ok || len(inv.Results[0].Resources) != 2 {
			t.Errorf("%s: %+v, %v", body, inv, err)
		}
	}
}

// TestLeftovers: what is left of droplets, and what a price book says of it.
func TestLeftovers(t *testing.T) {
	c := cloud(thing(1))
	book, _, err := prices.Parse("book", []byte(`currency: USD
volumes:
  - {type: volume, scope: "*", rate: {amount: "0.10", per: gb_month}}
  - {type: reserved-ip, scope: "*", rate: {amount: "5", per: month}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := on(t, c)
	p.book = book
	c.Create(leftover(guard.Snapshot, 11, ""))
	for kind, n := range map[guard.Kind]int{guard.Volume: 1, guard.Image: 4, guard.Address: 2} {
		for i := range n {
			c.Create(leftover(kind, i+1, ""))
		}
	}
	image, address := func(n int) string { return leftoverID(guard.Image, n) }, leftoverID(guard.Address, 2)
	c.Special[image(2)] = digitaloceantest.Special{Type: "backup"}
	c.Special[image(3)] = digitaloceantest.Special{Type: "custom", Set: map[string]any{"status": "deleted"}}
	c.Special[image(4)] = digitaloceantest.Special{Type: "lunar", Set: map[string]any{"size_gigabytes": nil}}
	c.Special[address] = digitaloceantest.Special{Set: map[string]any{"droplet": 7}}
	for id, want := range map[string]string{
		leftoverID(guard.Volume, 1):    "volume running bills yes, 100 GB for 0.013699 USD per hour (100 × 0.10 USD per gb per month), uses untold false",
		leftoverID(guard.Snapshot, 11): "volume-snapshot running bills yes, 100 GB for unknown, uses untold false",
		image(1):                       "droplet-snapshot running bills yes, 100 GB for unknown, uses untold false",
		image(2):                       "backup running bills yes, 100 GB for unknown, uses untold false",
		image(3):                       "custom-image gone bills no, 100 GB for unknown, uses untold false",
		image(4):                       " running bills yes, 0 GB for unknown, uses untold false",
		leftoverID(guard.Address, 1):   "reserved-ip running bills yes, 1 GB for 0.006849 USD per hour (5.00 USD per month), uses untold false",
		address:                        "reserved-ip running bills unknown, 1 GB for 0.006849 USD per hour (5.00 USD per month), uses untold true",
	} {
		var r guard.Resource
		for _, kind := range kinds[1:] {
			if x, ok := listed(t, p, kind)[id]; ok && r.ID.ID == "" {
				r = x
			}
		}
		if s := fmt.Sprintf("%s %s bills %s, %d GB for %s, uses untold %t", r.Type, r.State, r.Bills, r.SizeGB, r.Rate, r.UsesUntold); s != want {
			t.Errorf("%s is\n%s, want\n%s", id, s, want)
		}
	}
}
