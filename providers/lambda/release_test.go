package lambda

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/lambda/lambdatest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestTheLifeOfAnInstance goes through all of it, to its end and to that of its file
// system; and of another that is taken back.
func TestTheLifeOfAnInstance(t *testing.T) {
	now := noon.Wall
	c := &lambdatest.Cloud{Key: providertest.Secret, Special: map[string]lambdatest.Special{},
		Cloud: &cloudtest.Cloud{Lags: cloudtest.Lags{Boot: 3 * time.Minute, End: time.Minute, Forget: time.Hour}, Clock: func() time.Time { return now }}}
	for _, id := range []string{"life", "cheap"} {
		c.Create(thing(id))
	}
	c.Create(fileSystemOn("data", "life"))
	p := on(t, c)
	is := func(after time.Duration, name string, want guard.State, bills guard.Tri, ended guard.How) {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(at(t), p.id(guard.Instance, name))[0]
		if l.Verdict != guard.VerdictFound || l.Resource.State != want || l.Resource.Bills != bills || l.Resource.Ended != ended {
			t.Errorf("after %s %s is %s, %+v: %v", after, name, l.Verdict, l.Resource, l.Err)
		}
	}
	release := func(id guard.ResourceID) error { return p.Release(at(t), id, providers.ReleaseOptions{}) }
	is(0, "life", guard.StateProvisioning, guard.Yes, "")
	is(3*time.Minute, "life", guard.StateRunning, guard.Yes, "")
	data := p.id(guard.Filesystem, "data")
	if err := release(data); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("release a file system that is mounted: %v", err)
	}
	for range 2 {
		if err := release(p.id(guard.Instance, "life")); err != nil {
			t.Error(err)
		}
	}
	is(3*time.Minute, "life", guard.StateReleasing, guard.Yes, "")
	is(5*time.Minute, "life", guard.StateGone, guard.No, "")
	if err := release(data); err != nil {
		t.Error(err)
	}
	now = noon.Wall.Add(7 * time.Minute)
	if l := p.Get(at(t), data)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("the file system is %s, %v", l.Verdict, l.Err)
	}
	if err := c.Reclaim("cheap", guard.StateGone); err != nil {
		t.Fatal(err)
	}
	is(8*time.Minute, "cheap", guard.StateGone, guard.No, guard.ByReclaim)
	now = noon.Wall.Add(3 * time.Hour)
	for _, name := range []string{"life", "cheap"} {
		if l := p.Get(at(t), p.id(guard.Instance, name))[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("forgotten, %s is %s", name, l.Verdict)
		}
		if err := release(p.id(guard.Instance, name)); err != nil {
			t.Errorf("release what is forgotten: %v", err)
		}
	}
}

func TestWhatAReleaseIsAnswered(t *testing.T) {
	answers := func(status int, body string) http.RoundTripper {
		f := &cloudtest.Faults{Next: cloud(thing("a"))}
		f.Add(0, func(r *http.Request) bool { return r.Method != http.MethodGet }, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
		return cloudtest.In(f)
	}
	for name, c := range map[string]struct {
		kind   guard.Kind
		status int
		body   string
		want   error
	}{
		"named":               {guard.Instance, 200, `{"data":{"terminated_instances":[{"id":"b"},{"id":"a","status":"terminating"}]}}`, nil},
		"and more":            {guard.Instance, 200, `{"data":{"terminated_instances":[null,7,{"id":"a"}],"request":"r-1"},"meta":{}}`, nil},
		"another's name":      {guard.Instance, 200, `{"data":{"terminated_instances":[{"id":"b"}]}}`, guard.ErrUncertain},
		"nothing ended":       {guard.Instance, 200, `{"data":{"terminated_instances":[]}}`, guard.ErrUncertain},
		"no data":             {guard.Instance, 200, `{"data":null}`, guard.ErrUncertain},
		"another shape":       {guard.Instance, 200, `{"data":[]}`, guard.ErrUncertain},
		"a file system":       {guard.Filesystem, 200, `{"data":{"deleted_ids":["a"]}}`, nil},
		"another file system": {guard.Filesystem, 200, `{"data":{"deleted_ids":["b"]}}`, guard.ErrUncertain},
		"in use":              {guard.Filesystem, 400, `{"error":{"code":"filesystems/filesystem-in-use"}}`, guard.ErrConflict},
		"refused":             {guard.Instance, 400, `{"error":{"code":"global/invalid-parameters"}}`, guard.ErrInvalid},
		"inactive":            {guard.Instance, 403, `{"error":{"code":"global/account-inactive"}}`, guard.ErrRefused},
		"a provider's":        {guard.Instance, 400, `{"error":{"code":"provider/internal-unavailable"}}`, guard.ErrUnavailable},
		"gone":                {guard.Instance, 404, `{"error":{"code":"global/object-does-not-exist"}}`, nil},
		"no such path":        {guard.Instance, 404, `{"error":{"code":"global/not-found"}}`, guard.ErrBadReply},
		"a volume":            {guard.Volume, 200, `{}`, guard.ErrUnsupported},
	} {
		p := adapter(t, "gpus", answers(c.status, c.body), guard.NewSecret(providertest.Secret))
		err := p.Release(at(t), p.id(c.kind, "a"), providers.ReleaseOptions{})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), c.body) {
			t.Errorf("%s: the error quotes the reply: %v", name, err)
		}
	}
}

// TestARefusalIsExplained: what ends already is ending, and what Lambda keeps is protected.
func TestARefusalIsExplained(t *testing.T) {
	kept := thing("kept")
	kept.Protected = true
	c := cloud(kept, thing("ending"), thing("plain"))
	c.Special["ending"] = lambdatest.Special{Set: map[string]any{"status": "terminating"}}
	f := &cloudtest.Faults{Next: c}
	f.Add(0, func(r *http.Request) bool { return r.Method == http.MethodPost }, func(w http.ResponseWriter, _ *http.Request) {
		lambdatest.Refuse(w, http.StatusConflict, "global/conflict", "no")
	})
	p := on(t, f)
	for name, want := range map[string]error{"kept": guard.ErrProtected, "ending": nil, "plain": guard.ErrConflict, "nobody": guard.ErrConflict} {
		if err := p.Release(at(t), p.id(guard.Instance, name), providers.ReleaseOptions{}); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
