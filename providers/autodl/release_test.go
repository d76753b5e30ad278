package autodl

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/autodl/autodltest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestTheLifeOfAnInstance goes through all of it: created, booting, running, stopped because it
// has to be first, released and gone; and another that stays off for too long.
func TestTheLifeOfAnInstance(t *testing.T) {
	now := noon.Wall
	c := cloud()
	c.Lags, c.Clock = cloudtest.Lags{Boot: time.Minute, Stop: 20 * time.Second}, func() time.Time { return now }
	c.Create(thing("pro-life"))
	c.Create(thing("pro-left"))
	p := on(t, c)
	id := p.id(Scope, "pro-life")
	is := func(after time.Duration, id guard.ResourceID, want string) {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(later(t, after), id)[0]
		if got := fmt.Sprintf("%s, %s, bills %s", l.Verdict, l.Resource.State, l.Resource.Bills); got != want || l.Verdict == guard.VerdictFound && !l.Resource.Created.Equal(noon.Wall) {
			t.Errorf("after %s it is %s, created %s, %v; want %s", after, got, l.Resource.Created, l.Err, want)
		}
	}
	is(0, id, "found, provisioning, bills yes")
	is(2*time.Minute, id, "found, running, bills yes")
	for range 3 {
		err := p.Release(at(t), id, providers.ReleaseOptions{})
		if after, ok := guard.RetryAfter(err); !errors.Is(err, guard.ErrConflict) || !ok || after != stopWait {
			t.Fatalf("while it is not off: %v", err)
		}
	}
	is(2*time.Minute, id, "found, stopping, bills yes")
	is(3*time.Minute, id, "found, stopped, bills no")
	for range 2 {
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	is(3*time.Minute, id, "absent, , bills unknown")
	offs := 0
	for _, call := range c.Calls() {
		if strings.HasSuffix(call, "/power_off") {
			offs++
		}
	}
	if offs != 1 {
		t.Errorf("%d stops", offs)
	}
	left := p.id(Scope, "pro-left")
	if err := p.Stop(at(t), left); err != nil {
		t.Fatal(err)
	}
	is(4*time.Minute, left, "found, stopped, bills no")
	ends := p.Get(at(t), left)[0].Resource.PlatformEnds
	is(ends.At.Sub(noon.Wall)-time.Second, left, "found, stopped, bills no")
	is(ends.At.Sub(noon.Wall), left, "absent, , bills unknown")
}

// TestAStopOfWhatIsOff is nil, though it is refused.
func TestAStopOfWhatIsOff(t *testing.T) {
	c := cloud(thing("pro-1"))
	f := &cloudtest.Faults{Next: c}
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/power_off") }, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "BadRequest", "实例状态不支持")
	})
	p := on(t, f)
	if err := p.Stop(at(t), p.id(Scope, "pro-1")); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("while it runs: %v", err)
	}
	if err := p.Release(at(t), p.id(Scope, "pro-1"), providers.ReleaseOptions{}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a release whose stop is refused: %v", err)
	}
	if err := c.Stop("pro-1"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(at(t), p.id(Scope, "pro-1")); err != nil {
		t.Errorf("when it is off: %v", err)
	}
}

// TestAReleaseOfWhatIsInANewState: where it cannot be stopped it may be off already, and where
// it is not, its release is refused.
func TestAReleaseOfWhatIsInANewState(t *testing.T) {
	for off, want := range map[bool]error{true: nil, false: guard.ErrConflict} {
		c := cloud(thing("pro-1"))
		if off {
			if err := c.Stop("pro-1"); err != nil {
				t.Fatal(err)
			}
		}
		f := &cloudtest.Faults{Next: c}
		f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/status") }, func(w http.ResponseWriter, _ *http.Request) {
			cloudtest.Reply(w, http.StatusOK, map[string]any{"code": "Success", "data": "levitating"})
		})
		f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/power_off") }, func(w http.ResponseWriter, _ *http.Request) {
			autodltest.Code(w, "BadRequest", "实例状态不支持")
		})
		p := on(t, f)
		if err := p.Release(at(t), p.id(Scope, "pro-1"), providers.ReleaseOptions{}); !errors.Is(err, want) || (err == nil) != off {
			t.Errorf("off %t: %v, want %v", off, err, want)
		}
	}
}

// TestAReleaseOfWhatStarts waits where that cannot be stopped yet.
func TestAReleaseOfWhatStarts(t *testing.T) {
	now := noon.Wall
	c := cloud()
	c.Lags, c.Clock = cloudtest.Lags{Boot: time.Minute}, func() time.Time { return now }
	c.Create(thing("pro-1"))
	f := &cloudtest.Faults{Next: c}
	f.Add(1, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/power_off") }, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "BadRequest", "实例状态不支持")
	})
	p := on(t, f)
	for _, after := range []time.Duration{0, 2 * time.Minute} {
		now = noon.Wall.Add(after)
		err := p.Release(later(t, after), p.id(Scope, "pro-1"), providers.ReleaseOptions{})
		if wait, ok := guard.RetryAfter(err); !errors.Is(err, guard.ErrConflict) || errors.Is(err, guard.ErrInvalid) || !ok || wait != stopWait {
			t.Errorf("after %s: %v", after, err)
		}
	}
	if got := p.Get(later(t, 2*time.Minute), p.id(Scope, "pro-1"))[0]; got.Resource.State != guard.StateStopped {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotBeEnded(t *testing.T) {
	p := on(t, cloud())
	volume := guard.ResourceID{Account: "dl", Kind: guard.Volume, ID: "v"}
	for what, c := range map[string]struct{ err, want error }{
		"release a volume":                   {p.Release(at(t), volume, providers.ReleaseOptions{}), guard.ErrUnsupported},
		"stop a volume":                      {p.Stop(at(t), volume), guard.ErrUnsupported},
		"read a volume":                      {p.Get(at(t), volume)[0].Err, guard.ErrUnsupported},
		"stop a container":                   {p.Stop(at(t), p.id(Deployments, "deployment/d/c")), guard.ErrUnsupported},
		"release an ID without an end":       {p.Release(at(t), p.id(Deployments, "deployment/d"), providers.ReleaseOptions{}), guard.ErrInvalid},
		"release an ID with two":             {p.Release(at(t), p.id(Deployments, "deployment/d/a/b"), providers.ReleaseOptions{}), guard.ErrInvalid},
		"release nothing":                    {p.Release(at(t), p.id(Scope, ""), providers.ReleaseOptions{}), guard.ErrInvalid},
		"release a container, not a company": {p.Release(at(t), p.id(Deployments, "deployment/d/c"), providers.ReleaseOptions{}), guard.ErrPermission},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
}

// TestAnOrdinaryAccount is asked for deployments now and then, and is not blind without them.
func TestAnOrdinaryAccount(t *testing.T) {
	c := cloud(thing("pro-1"))
	p := on(t, c)
	scopes := func(after time.Duration) string {
		t.Helper()
		inv, err := p.List(later(t, after), providers.Query{Kinds: []guard.Kind{guard.Instance}})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range inv.Results {
			out = append(out, fmt.Sprintf("%s %d %v", r.Scope, len(r.Resources), r.Err))
		}
		return strings.Join(out, ", ")
	}
	asked := func() int { return strings.Count(strings.Join(c.Calls(), " "), "/deployment/list") }
	for _, after := range []time.Duration{0, time.Minute, 5 * time.Hour} {
		if got := scopes(after); got != "global 1 <nil>" || asked() != 1 {
			t.Errorf("after %s: %s, asked %d times", after, got, asked())
		}
	}
	c.Change(func(c *autodltest.Cloud) {
		c.Company, c.Deployments = true, []autodltest.Deployment{{ID: "d", Containers: []autodltest.Container{{ID: "c", Status: "running"}}}}
	})
	if got := scopes(7 * time.Hour); got != "global 1 <nil>, deployments 1 <nil>" || asked() != 2 {
		t.Errorf("when it is a company: %s, asked %d times", got, asked())
	}
	c.Change(func(c *autodltest.Cloud) { c.Company = false })
	if got := scopes(8 * time.Hour); !strings.HasPrefix(got, "global 1 <nil>, deployments 0 list the instances of dl in deployments: permission denied") {
		t.Errorf("when it is none any more: %s", got)
	}
	c.Change(func(c *autodltest.Cloud) { c.Company = true })
	f := &cloudtest.Faults{Next: c}
	f.Add(0, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/container/list") }, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "BadRequest", "无当前资源访问权限")
	})
	p = on(t, f)
	if got := scopes(0); !strings.HasPrefix(got, "global 1 <nil>, deployments 0 list the instances") {
		t.Errorf("where the containers of a deployment are refused: %s", got)
	}
	c.Change(func(c *autodltest.Cloud) {
		c.PageSize, c.Deployments = 1, append(c.Deployments, autodltest.Deployment{ID: "e"})
	})
	f = &cloudtest.Faults{Next: c}
	pages := 0
	f.Add(0, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/deployment/list") {
			pages++
		}
		return pages == 2
	}, func(w http.ResponseWriter, _ *http.Request) {
		autodltest.Code(w, "BadRequest", "无当前资源访问权限")
	})
	p = on(t, f)
	if got := scopes(0); !strings.HasPrefix(got, "global 1 <nil>, deployments 0 list the instances") || pages != 2 {
		t.Errorf("where the second page of deployments is refused: %s", got)
	}
	for name, code := range map[string][2]string{"another reason": {"BadRequest", "余额不足"}, "a failure": {"InternalError", ""}, "a new code": {"CompanyOnly", ""}} {
		f := &cloudtest.Faults{Next: c}
		f.Add(0, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/deployment/") }, func(w http.ResponseWriter, _ *http.Request) {
			autodltest.Code(w, code[0], code[1])
		})
		p = on(t, f)
		if got := scopes(0); !strings.HasPrefix(got, "global 1 <nil>, deployments 0 list the instances of dl in deployments:") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestContainers(t *testing.T) {
	c := cloud()
	c.Company = true
	c.Deployments = []autodltest.Deployment{
		{ID: "d1", Name: "serve", Replicas: 2, Containers: []autodltest.Container{
			{ID: "a", Status: "running", GPU: "RTX 4090", GPUs: 1, Price: 1880}, {ID: "b", Status: "oss_merged", GPU: "RTX 4090", GPUs: 2, Price: 3760},
			{ID: "c", Status: "shutdown", GPU: "RTX 4090", GPUs: 1, Price: 1880}}},
		{ID: "d2", Name: "idle"},
	}
	p := on(t, c)
	got := listed(t, p, at(t))
	for id, want := range map[string]string{
		"deployment/d1/a": "running, bills yes, saves unsupported, 1.88 CNY per hour, stopped unknown, until -",
		"deployment/d1/b": "provisioning, bills yes, saves unsupported, 3.76 CNY per hour, stopped unknown, until -",
		"deployment/d1/c": "gone, bills no, saves unsupported, 1.88 CNY per hour, stopped unknown, until -",
	} {
		r := got[id]
		if s := tell(r); s != want || r.Group != "d1" || r.Name != "serve" || r.ID.Scope != Deployments || r.HasGPU != guard.Yes || r.Created.IsZero() {
			t.Errorf("%s is\n%s, want\n%s: %+v", id, s, want, r)
		}
	}
	if n := strings.Count(strings.Join(c.Calls(), " "), "/container/list"); len(got) != 3 || n != 1 {
		t.Errorf("%d containers after %d calls", len(got), n)
	}
	a := p.id(Deployments, "deployment/d1/a")
	if l := p.Get(at(t), a)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning {
		t.Errorf("%+v", l)
	}
	for range 2 {
		if err := p.Release(at(t), a, providers.ReleaseOptions{Group: "d1"}); err != nil {
			t.Error(err)
		}
	}
	if d := c.Deployments[0]; d.Replicas != 1 || len(d.Containers) != 3 {
		t.Errorf("another came in its place, or one too many went: %+v", d)
	}
	if n := strings.Count(strings.Join(c.Calls(), " "), "/container/stop"); n != 1 {
		t.Errorf("%d stops were sent: the second may take another container out", n)
	}
	if l := p.Get(at(t), a)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateGone || l.Resource.Bills != guard.No {
		t.Errorf("released, it is %+v", l)
	}
	for _, id := range []string{"deployment/d1/never", "deployment/gone/x"} {
		if l := p.Get(at(t), p.id(Deployments, id))[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", id, l.Verdict, l.Err)
		}
	}
}

// TestASecretOfAContainerIsNeverKept.
func TestASecretOfAContainerIsNeverKept(t *testing.T) {
	c := autodltest.Of(providertest.World{Canary: "cAnArY-pw", Instances: []providertest.Thing{thing("pro-1")}})
	c.Company, c.Deployments = true, []autodltest.Deployment{{ID: "d", Containers: []autodltest.Container{{ID: "c", Status: "running"}}}}
	p := on(t, c)
	got := listed(t, p, at(t))
	if s := fmt.Sprintf("%+v %+v", got, p); len(got) != 2 || strings.Contains(s, "cAnArY-pw") {
		t.Error(s)
	}
}
