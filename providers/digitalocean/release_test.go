package digitalocean

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func leftover(kind guard.Kind, n int, on string) providertest.Thing {
	return providertest.Thing{Kind: kind, ID: leftoverID(kind, n), Name: "left", AttachedTo: on}
}

// TestTheLifeOfADroplet goes through all of it: created, booting, running, off, on again,
// destroyed and gone; and through what it leaves.
func TestTheLifeOfADroplet(t *testing.T) {
	now := noon.Wall
	c := digitaloceantest.Of(providertest.World{})
	c.Cloud = &cloudtest.Cloud{Lags: cloudtest.Lags{Boot: time.Minute, Stop: time.Minute, End: time.Minute}, Clock: func() time.Time { return now }}
	box := thing(1)
	c.Create(box)
	for _, x := range []providertest.Thing{leftover(guard.Volume, 1, box.ID), leftover(guard.Snapshot, 2, ""), leftover(guard.Image, 3, ""), leftover(guard.Address, 4, box.ID)} {
		c.Create(x)
	}
	volume, image := leftoverID(guard.Volume, 1), leftoverID(guard.Image, 3)
	c.Special[leftoverID(guard.Snapshot, 2)] = digitaloceantest.Special{Of: volume}
	c.Special[image] = digitaloceantest.Special{Of: box.ID}
	p := on(t, c)
	id := p.id(guard.Instance, box.ID)
	is := func(after time.Duration, want guard.State) guard.Resource {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(at(t), id)[0]
		if l.Verdict != guard.VerdictFound || l.Resource.State != want || l.Resource.Bills != guard.Yes || !l.Resource.Created.Equal(noon.Wall) {
			t.Errorf("after %s it is %s, %+v: %v", after, l.Verdict, l.Resource, l.Err)
		}
		return l.Resource
	}
	release := func(id guard.ResourceID) error { return p.Release(at(t), id, providers.ReleaseOptions{}) }
	is(0, guard.StateProvisioning)
	if r := is(2*time.Minute, guard.StateRunning); len(r.Children) != 2 || r.Children[0].ID.ID != volume || r.Children[1].ID.ID != image {
		t.Errorf("its children are %v", r.Children)
	}
	if err := c.Stop(box.ID); err != nil {
		t.Fatal(err)
	}
	if r := is(4*time.Minute, guard.StateStopped); r.BillingRate().String() != "6.74 USD per hour" {
		t.Errorf("off, it costs %s", r.BillingRate())
	}
	if err := c.Start(box.ID); err != nil {
		t.Fatal(err)
	}
	is(6*time.Minute, guard.StateRunning)

	held := []guard.ResourceID{p.id(guard.Volume, volume), p.id(guard.Address, leftoverID(guard.Address, 4))}
	for _, x := range held {
		before := len(c.Calls())
		if err := release(x); !errors.Is(err, guard.ErrConflict) || !strings.Contains(err.Error(), box.ID) {
			t.Errorf("release %s, which the droplet has: %v", x, err)
		}
		sent := slices.ContainsFunc(c.Calls()[before:], func(call string) bool { return strings.HasPrefix(call, "DELETE") })
		if sent != (x.Kind == guard.Volume) {
			t.Errorf("%s: a deletion was sent: %t", x, sent)
		}
	}
	if r := listed(t, p, guard.Address)[held[1].ID]; r.Bills != guard.No || r.Parent != id {
		t.Errorf("an assigned address is %+v", r)
	}
	for range 2 {
		if err := release(id); err != nil {
			t.Error(err)
		}
	}
	is(6*time.Minute, guard.StateRunning) // accepted is not done
	now = noon.Wall.Add(8 * time.Minute)
	if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("in the end it is %s, %v", l.Verdict, l.Err)
	}
	if r := listed(t, p, guard.Address)[held[1].ID]; r.Bills != guard.Yes || !r.Parent.IsZero() {
		t.Errorf("an address that nothing has is %+v", r)
	}
	for kind, source := range map[guard.Kind]string{guard.Volume: "", guard.Snapshot: volume, guard.Image: box.ID, guard.Address: ""} {
		for _, r := range listed(t, p, kind) {
			l := p.Get(at(t), r.ID)[0]
			if l.Verdict != guard.VerdictFound || r.Source != source || l.Resource.Source != source {
				t.Errorf("%s %s is %s, of %q and %q: %v", kind, r.ID, l.Verdict, r.Source, l.Resource.Source, l.Err)
			}
			if err := release(r.ID); err != nil {
				t.Error(err)
			}
		}
		now = now.Add(2 * time.Minute)
		if left := listed(t, p, kind); len(left) != 0 {
			t.Errorf("left are %v", left)
		}
	}
}

func TestWhatCannotBeEnded(t *testing.T) {
	locked := thing(1)
	locked.Protected = true
	c := cloud(locked, thing(2))
	p := on(t, c)
	id := func(kind guard.Kind, id string) guard.ResourceID { return p.id(kind, id) }
	for what, x := range map[string]struct {
		id   guard.ResourceID
		want error
	}{
		"a locked droplet":        {id(guard.Instance, dropletID(1)), guard.ErrProtected},
		"another collection":      {id(guard.Instance, "../volumes/x"), guard.ErrInvalid},
		"all droplets":            {id(guard.Instance, ""), guard.ErrInvalid},
		"droplets by a tag":       {id(guard.Instance, "?tag_name=x"), guard.ErrInvalid},
		"a droplet by its name":   {id(guard.Instance, "box-2"), guard.ErrInvalid},
		"a negative droplet":      {id(guard.Instance, "-1"), guard.ErrInvalid},
		"a padded droplet":        {id(guard.Instance, "03164002"), guard.ErrInvalid},
		"a volume with a path":    {id(guard.Volume, "a/actions"), guard.ErrInvalid},
		"a snapshot by a query":   {id(guard.Snapshot, "a?x=y"), guard.ErrInvalid},
		"an image by its slug":    {id(guard.Image, "ubuntu-20-04-x64"), guard.ErrInvalid},
		"an address that is none": {id(guard.Address, "45.55.96"), guard.ErrInvalid},
		"an address of six":       {id(guard.Address, "2409:40d0::1::"), guard.ErrInvalid},
		"an address in long":      {id(guard.Address, "2409:40D0:0::1"), guard.ErrInvalid},
		"an address of both":      {id(guard.Address, "::ffff:45.55.96.47"), guard.ErrInvalid},
		"an address in a zone":    {id(guard.Address, "fe80::1%eth0"), guard.ErrInvalid},
		"an endpoint's droplets":  {id(guard.Instance, "inference/../droplets/3164002"), guard.ErrInvalid},
		"a share of no region":    {id(guard.Filesystem, disk), guard.ErrInvalid},
		"a share with a path":     {id(guard.Filesystem, "atl1/a/actions"), guard.ErrInvalid},
		"a share with a query":    {id(guard.Filesystem, "atl1/a?x=y"), guard.ErrInvalid},
		"a share above":           {id(guard.Filesystem, "../"+disk), guard.ErrInvalid},
		"a snapshot of no name":   {id(guard.Snapshot, "atl1/"), guard.ErrInvalid},
		"an endpoint of none":     {id(guard.Instance, "inference/"), guard.ErrInvalid},
		"a spot request":          {id(guard.SpotRequest, "x"), guard.ErrUnsupported},
	} {
		before := len(c.Calls())
		if err := p.Release(at(t), x.id, providers.ReleaseOptions{}); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", what, err, x.want)
		}
		if calls := c.Calls()[before:]; x.want != guard.ErrProtected && len(calls) > 0 {
			t.Errorf("%s: %v", what, calls)
		}
		if l := p.Get(at(t), x.id)[0]; x.want == guard.ErrInvalid && (l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrInvalid)) {
			t.Errorf("%s is %s, %v", what, l.Verdict, l.Err)
		}
	}
	if got := listed(t, p, guard.Instance); len(got) != 2 || got[dropletID(1)].ReleaseProtected != guard.Yes || got[dropletID(2)].ReleaseProtected != guard.No {
		t.Errorf("left are %v", got)
	}
}

// TestRefusals: what the status and the body of a refusal become.
func TestRefusals(t *testing.T) {
	const date, later = "Tue, 10 Mar 2026 12:00:00 GMT", "1773144090" // 90 s later
	for name, c := range map[string]struct {
		status int
		body   string
		header map[string]string
		want   error
		wait   time.Duration
	}{
		"its own not found":       {404, `{"id":"not_found","message":"x"}`, nil, guard.ErrNotFound, 0},
		"another's not found":     {404, `{"error":"no route"}`, nil, guard.ErrBadReply, 0},
		"a bare 404":              {404, ``, nil, guard.ErrBadReply, 0},
		"throttled until a time":  {429, `{"id":"too_many_requests"}`, map[string]string{"Date": date, "Ratelimit-Reset": later}, guard.ErrThrottled, 90 * time.Second},
		"throttled, with a wait":  {429, `{}`, map[string]string{"Date": date, "Ratelimit-Reset": later, "Retry-After": "7"}, guard.ErrThrottled, 7 * time.Second},
		"throttled until a past":  {429, `{}`, map[string]string{"Date": date, "Ratelimit-Reset": "1"}, guard.ErrThrottled, 0},
		"throttled, and no more":  {429, `{}`, nil, guard.ErrThrottled, 0},
		"unprocessable":           {422, `{"id":"unprocessable_entity"}`, nil, guard.ErrInvalid, 0},
		"a server that is broken": {500, `{"id":"server_error"}`, nil, guard.ErrUnavailable, 0},
	} {
		f := &cloudtest.Faults{Next: cloud(thing(1))}
		f.Add(0, func(*http.Request) bool { return true }, func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		})
		_, err := on(t, f).read(providers.Read(at(t)), dropletsPath, nil)
		if wait, _ := guard.RetryAfter(err); !errors.Is(err, c.want) || wait != c.wait {
			t.Errorf("%s: %v, asks to wait %s; want %v and %s", name, err, wait, c.want, c.wait)
		}
		if err != nil && (strings.Contains(err.Error(), "/v2/") || strings.Contains(err.Error(), "request_id")) {
			t.Errorf("%s: the error quotes the call: %v", name, err)
		}
	}
}
