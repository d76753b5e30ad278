package vast

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/vast/vasttest"
)

// full is an account with an instance that has a volume, and another volume.
func full() *vasttest.Cloud {
	return vasttest.Of(providertest.World{
		Instances: []providertest.Thing{thing("1"), thing("2")},
		Leftovers: []providertest.Thing{{Kind: guard.Volume, ID: "7", AttachedTo: "1"}, {Kind: guard.Volume, ID: "8"}},
	})
}

func TestWhatCannotBeEnded(t *testing.T) {
	c := full()
	p := on(t, c)
	for what, tt := range map[string]struct{ err, want error }{
		"release a volume that is in use": {p.Release(at(t), p.id(guard.Volume, "7"), providers.ReleaseOptions{}), guard.ErrConflict},
		"release a snapshot":              {p.Release(at(t), p.id(guard.Snapshot, "7"), providers.ReleaseOptions{}), guard.ErrUnsupported},
		"release a name":                  {p.Release(at(t), p.id(guard.Instance, "train"), providers.ReleaseOptions{}), guard.ErrInvalid},
		"release ..":                      {p.Release(at(t), p.id(guard.Volume, ".."), providers.ReleaseOptions{}), guard.ErrInvalid},
		"stop a volume":                   {p.Stop(at(t), p.id(guard.Volume, "8")), guard.ErrUnsupported},
		"stop a name":                     {p.Stop(at(t), p.id(guard.Instance, "1/2")), guard.ErrInvalid},
		"stop nothing":                    {p.Stop(at(t), p.id(guard.Instance, "99")), guard.ErrNotFound},
		"read a name":                     {p.Get(at(t), p.id(guard.Instance, "train"))[0].Err, guard.ErrInvalid},
		"read a snapshot":                 {p.Get(at(t), p.id(guard.Snapshot, "7"))[0].Err, guard.ErrUnsupported},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", what, tt.err, tt.want)
		}
	}
	err := p.Release(at(t), p.id(guard.Volume, "7"), providers.ReleaseOptions{})
	if err == nil || !strings.Contains(err.Error(), "attached to 1") {
		t.Errorf("it does not say to what: %v", err)
	}
	if err := errors.Join(p.Release(at(t), p.id(guard.Instance, "1"), providers.ReleaseOptions{}), p.Release(at(t), p.id(guard.Volume, "7"), providers.ReleaseOptions{})); err != nil {
		t.Errorf("after its instance: %v", err)
	}
}

// TestRefusalsWithStatus200: Vast answers with success false, and a status that says nothing.
func TestRefusalsWithStatus200(t *testing.T) {
	for body, want := range map[string]error{
		`{"success":false,"error":"auth_error","msg":"Invalid user key"}`: guard.ErrPermission,
		`{"success":false,"error":"rate_limit_exceeded"}`:                 guard.ErrThrottled,
		`{"success":false,"error":"invalid_args"}`:                        guard.ErrInvalid,
		`{"success":false,"msg":"the host says no"}`:                      guard.ErrRefused,
		`{"success":null}`: guard.ErrBadReply,
		`{}`:               guard.ErrBadReply,
	} {
		p := adapter(t, "boxes", cloudtest.Canned(body), guard.NewSecret("k"))
		id := p.id(guard.Instance, "1")
		release, stop, look := p.Release(at(t), id, providers.ReleaseOptions{}), p.Stop(at(t), id), p.Get(at(t), id)[0]
		inv, _ := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		_, identity := p.Identity(at(t))
		for what, err := range map[string]error{"release": release, "stop": stop, "get": look.Err, "list": inv.Results[0].Err, "identity": identity} {
			if !errors.Is(err, want) || strings.Contains(err.Error(), "host says") {
				t.Errorf("%s, answered %s: %v, want %v", what, body, err, want)
			}
		}
		if uncertain := want == guard.ErrBadReply; errors.Is(release, guard.ErrUncertain) != uncertain || look.Verdict != guard.VerdictUnknown {
			t.Errorf("answered %s: %v, %s", body, release, look.Verdict)
		}
	}
	p := adapter(t, "boxes", cloudtest.Canned(`{"success":false,"error":"not_found"}`), guard.NewSecret("k"))
	if err := p.Release(at(t), p.id(guard.Instance, "1"), providers.ReleaseOptions{}); err != nil {
		t.Errorf("what is not found: %v", err)
	}
}

// TestErrors: a 404 is an absence only by the API's own word, and a key that nobody has is
// a 404 too.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		want   error
	}{
		{404, `{"success":false,"error":"auth_error","msg":"Invalid user key"}`, guard.ErrPermission},
		{400, `{"success":false,"error":"auth_error"}`, guard.ErrPermission},
		{404, `{"success":false,"error":"no_such_instance"}`, guard.ErrNotFound},
		{404, `{"success":false,"error":"no_such_ask"}`, guard.ErrBadReply},
		{404, `{"error":"not_found"}`, guard.ErrBadReply},
		{404, `{"error":"no_such_instance","msg":"No such instance"}`, guard.ErrNotFound},
		{404, `{"success":true,"error":"no_such_instance"}`, guard.ErrBadReply},
		{404, `404 page not found`, guard.ErrBadReply},
		{404, `{"error":"auth_error"}`, guard.ErrPermission},
		{410, `{"success":false,"error":"deprecated_endpoint"}`, guard.ErrBadReply},
		{400, `{"success":false,"error":"not_found"}`, guard.ErrInvalid},
		{500, `{"success":false,"error":"not_found"}`, guard.ErrUnavailable},
		{429, `API requests too frequent`, guard.ErrThrottled},
		{429, `{"detail":"API requests too frequent endpoint threshold=1.0"}`, guard.ErrThrottled},
	} {
		p := on(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		if _, err := (&listing{p: p}).instance(at(t), "1"); !errors.Is(err, tt.want) {
			t.Errorf("%d %s: %v, want %v", tt.status, tt.body, err, tt.want)
		}
	}
}

// TestTooOften: a refusal in plain text, labelled as a page and without a wait, is one for
// coming too often; nothing more is asked, and nothing is taken for absent.
func TestTooOften(t *testing.T) {
	f := &cloudtest.Faults{Next: full()}
	n := 0
	f.Add(0, func(*http.Request) bool { n++; return true }, vasttest.TooOften)
	p := on(t, f)
	for i, l := range p.Get(at(t), p.id(guard.Instance, "1"), p.id(guard.Instance, "2"), p.id(guard.Volume, "7")) {
		if _, wait := guard.RetryAfter(l.Err); l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrThrottled) || wait {
			t.Errorf("%d: %s, %v", i, l.Verdict, l.Err)
		}
	}
	if n != 1 {
		t.Errorf("%d calls, want one", n)
	}
}

// TestNothingIsAbsentOnlyWithAListing: right after a destruction Vast answers with nothing;
// only where the listing does not have it either is it gone.
func TestNothingIsAbsentOnlyWithAListing(t *testing.T) {
	for _, body := range []string{`{"instances":null}`, `{"instances":{}}`} {
		f := &cloudtest.Faults{Next: full()}
		f.Add(0, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/v0/instances/") }, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		})
		p := on(t, f)
		if l := p.Get(at(t), p.id(guard.Instance, "1"))[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning || l.Resource.ID.ID != "1" {
			t.Errorf("%s, and listed: %s %+v, %v", body, l.Verdict, l.Resource, l.Err)
		}
		if l := p.Get(at(t), p.id(guard.Instance, "77"))[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s, and not listed: %s, %v", body, l.Verdict, l.Err)
		}
		f.Add(0, func(r *http.Request) bool { return r.URL.Path == "/api/v1/instances" }, vasttest.TooOften)
		if l := p.Get(at(t), p.id(guard.Instance, "77"))[0]; l.Verdict != guard.VerdictUnknown || !errors.Is(l.Err, guard.ErrThrottled) {
			t.Errorf("%s, and no listing: %s, %v", body, l.Verdict, l.Err)
		}
	}
}

func TestGetMany(t *testing.T) {
	c := cloud(thing("1"), thing("2"), thing("3"), thing("4"), thing("5"), thing("6"))
	p := on(t, c)
	var ids []guard.ResourceID
	for _, n := range []string{"1", "2", "3", "4", "1", "5", "6", "99"} {
		ids = append(ids, p.id(guard.Instance, n))
	}
	p.Get(at(t), ids[:5]...)
	if n := len(c.Calls()); n != 4 {
		t.Errorf("four instances: %d calls, want 4", n)
	}
	for i, l := range p.Get(at(t), ids...) {
		if want := i < 7; l.ID != ids[i] || (l.Verdict == guard.VerdictFound) != want || !want && l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", l.ID, l.Verdict, l.Err)
		}
	}
	if n := len(c.Calls()) - 4; n != 2 {
		t.Errorf("six instances and one that is gone: %d calls, want 2", n)
	}
}

// TestTheLifeOfAnInstance goes through all of it: created, loading, running, stopped,
// started, released and gone; and another that the account's balance stops.
func TestTheLifeOfAnInstance(t *testing.T) {
	now := noon.Wall
	c := &vasttest.Cloud{Cloud: &cloudtest.Cloud{Lags: cloudtest.Lags{Boot: 2 * time.Minute, End: time.Minute, Stop: time.Minute}, Clock: func() time.Time { return now }},
		Key: providertest.Secret, Boxes: map[string]vasttest.Box{}}
	c.Create(thing("1"))
	c.Create(thing("2"))
	p := on(t, c)
	id := p.id(guard.Instance, "1")
	is := func(after time.Duration, want guard.State, price string) {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(at(t), id)[0]
		h, _ := l.Resource.BillingRate().Hourly()
		if l.Verdict != guard.VerdictFound || l.Resource.State != want || h.String() != price || l.Resource.Bills != guard.Yes || !l.Resource.Created.Equal(noon.Wall) {
			t.Errorf("after %s it is %s, %s for %s, created %s: %v", after, l.Verdict, l.Resource.State, h, l.Resource.Created, l.Err)
		}
	}
	is(0, guard.StateProvisioning, "1.38 USD")
	is(2*time.Minute, guard.StateRunning, "1.38 USD")
	if err := p.Stop(at(t), id); err != nil {
		t.Fatal(err)
	}
	is(150*time.Second, guard.StateStopping, "1.38 USD")
	is(3*time.Minute, guard.StateStopped, "0.02 USD")
	if err := p.Stop(at(t), id); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	if err := c.Start("1"); err != nil {
		t.Fatal(err)
	}
	is(6*time.Minute, guard.StateRunning, "1.38 USD")
	if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	is(6*time.Minute, guard.StateRunning, "1.38 USD") // accepted is not done
	now = noon.Wall.Add(8 * time.Minute)
	if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("in the end it is %s, %v", l.Verdict, l.Err)
	}
	if err := c.Drain(); err != nil {
		t.Fatal(err)
	}
	id = p.id(guard.Instance, "2")
	is(10*time.Minute, guard.StateStopped, "0.02 USD")
}
