package runpod

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
	"guard/providers/runpod/runpodtest"
)

func TestWhatCannotBeEnded(t *testing.T) {
	locked := thing("locked")
	locked.Protected = true
	c := full()
	c.Create(locked)
	p := on(t, c)
	id := func(name string) guard.ResourceID { return p.id(guard.Instance, name) }
	for what, c := range map[string]struct {
		err  error
		want error
	}{
		"release a locked pod":            {p.Release(at(t), id("locked"), providers.ReleaseOptions{}), guard.ErrProtected},
		"stop a locked pod":               {p.Stop(at(t), id("locked")), guard.ErrProtected},
		"release a node":                  {p.Release(at(t), id("n1"), providers.ReleaseOptions{}), guard.ErrConflict},
		"stop a node":                     {p.Stop(at(t), id("n1")), guard.ErrConflict},
		"stop a cluster":                  {p.Stop(at(t), id("cluster/c1")), guard.ErrUnsupported},
		"stop a volume":                   {p.Stop(at(t), p.id(guard.Filesystem, "v3")), guard.ErrUnsupported},
		"release a snapshot":              {p.Release(at(t), p.id(guard.Snapshot, "s"), providers.ReleaseOptions{}), guard.ErrUnsupported},
		"release a volume that is in use": {p.Release(at(t), p.id(guard.Filesystem, "v1"), providers.ReleaseOptions{}), guard.ErrConflict},
		"unlock a cluster":                {p.Unprotect(at(t), id("cluster/c1")), guard.ErrUnsupported},
		"release ../pods":                 {p.Release(at(t), id(".."), providers.ReleaseOptions{}), guard.ErrInvalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
}

func TestWhatIsEndedAsOne(t *testing.T) {
	c := full()
	p := on(t, c)
	for _, name := range []string{"serverless/e1", "cluster/c1"} {
		id := p.id(guard.Instance, name)
		if name == "serverless/e1" {
			if err := p.Stop(at(t), id); err != nil {
				t.Fatal(err)
			}
			if l := p.Get(at(t), id)[0]; l.Resource.State != guard.StateStopped || l.Resource.Bills != guard.No {
				t.Errorf("stopped, it is %+v, %v", l.Resource, l.Err)
			}
		}
		for range 2 {
			if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
				t.Error(err)
			}
		}
		if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
			t.Errorf("%s is %s, %v", name, l.Verdict, l.Err)
		}
	}
	if got := listed(t, p, guard.Instance); len(got) != 3 {
		t.Errorf("left are %v, want a pod and two endpoints", got)
	}
}

// TestTheLifeOfAPod goes through all of it: created, booting, running, stopped, started,
// released, remembered and forgotten; and another that the account's balance ends.
func TestTheLifeOfAPod(t *testing.T) {
	now := noon.Wall
	c := &runpodtest.Cloud{Cloud: &cloudtest.Cloud{Lags: cloudtest.Lags{Boot: 2 * time.Minute, End: time.Minute}, Clock: func() time.Time { return now }},
		Key: providertest.Secret, Pods: map[string]runpodtest.Pod{}}
	made := c.Create(thing("life"))
	c.Pods["life"] = runpodtest.Pod{DiskGB: 100}
	c.Create(thing("poor"))
	p := on(t, c)
	id := p.id(guard.Instance, made.ID)
	is := func(after time.Duration, want guard.State, bills guard.Tri) {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(at(t), id)[0]
		if l.Verdict != guard.VerdictFound || l.Resource.State != want || l.Resource.Bills != bills || !l.Resource.Created.Equal(noon.Wall) {
			t.Errorf("after %s it is %s, %s, bills %s, created %s: %v", after, l.Verdict, l.Resource.State, l.Resource.Bills, l.Resource.Created, l.Err)
		}
	}
	is(0, guard.StateProvisioning, guard.Yes)
	is(2*time.Minute, guard.StateRunning, guard.Yes)
	if err := p.Stop(at(t), id); err != nil {
		t.Fatal(err)
	}
	is(3*time.Minute, guard.StateStopped, guard.Yes) // its disk
	if err := p.Stop(at(t), id); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	if err := c.Start(made.ID); err != nil {
		t.Fatal(err)
	}
	is(6*time.Minute, guard.StateRunning, guard.Yes)
	if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
		t.Fatal(err)
	}
	is(6*time.Minute, guard.StateRunning, guard.Yes) // accepted is not done
	now = noon.Wall.Add(8 * time.Minute)
	if l := p.Get(at(t), id)[0]; l.Verdict != guard.VerdictAbsent {
		t.Errorf("in the end it is %s, %v", l.Verdict, l.Err)
	}
	c.Lags.Forget = time.Hour
	if err := c.Drain(); err != nil {
		t.Fatal(err)
	}
	id = p.id(guard.Instance, "poor")
	if l := p.Get(at(t), id)[0]; l.Resource.State != guard.StateGone || l.Resource.Bills != guard.No {
		t.Errorf("at a balance of nothing it is %s, %+v", l.Verdict, l.Resource)
	}
}

// TestAVolumeThatIsRefused: where something mounts it that is a conflict, whatever RunPod calls
// it, and else what RunPod says.
func TestAVolumeThatIsRefused(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusPaymentRequired} {
		f := &cloudtest.Faults{Next: full()}
		f.Add(0, func(r *http.Request) bool { return r.Method == http.MethodDelete }, func(w http.ResponseWriter, _ *http.Request) {
			runpodtest.Problem(w, status, "no")
		})
		p := on(t, f)
		err := p.Release(at(t), p.id(guard.Filesystem, "v1"), providers.ReleaseOptions{})
		if !errors.Is(err, guard.ErrConflict) || !strings.Contains(err.Error(), "serverless/e1 mounts it") {
			t.Errorf("%d of one that is mounted: %v", status, err)
		}
		if err := p.Release(at(t), p.id(guard.Filesystem, "v3"), providers.ReleaseOptions{}); !errors.Is(err, providers.KindOf(status)) {
			t.Errorf("%d of one that is not: %v", status, err)
		}
	}
}

// TestAConflictThatCannotBeExplained stays one.
func TestAConflictThatCannotBeExplained(t *testing.T) {
	f := &cloudtest.Faults{Next: cloud(thing("p1"))}
	f.Add(0, func(*http.Request) bool { return true }, func(w http.ResponseWriter, _ *http.Request) {
		runpodtest.Problem(w, http.StatusConflict, "no")
	})
	p := on(t, f)
	if err := p.Release(at(t), p.id(guard.Instance, "p1"), providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) {
		t.Error(err)
	}
}
