package compshare

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// TestTheLifeOfAnInstance goes through all of it: created, booting, running, locked, stopped
// because it has to be first, terminated and gone, with its data disk left.
func TestTheLifeOfAnInstance(t *testing.T) {
	now := noon.Wall
	c := cloud()
	c.Lags, c.Clock = cloudtest.Lags{Boot: time.Minute, Stop: 20 * time.Second}, func() time.Time { return now }
	c.Create(thing("uhost-life"))
	c.Create(providertest.Thing{Kind: guard.Volume, ID: "udisk-1", AttachedTo: "uhost-life"})
	p := on(t, c)
	id, disk := p.id(guard.Instance, "uhost-life"), p.id(guard.Volume, "udisk-1")
	is := func(after time.Duration, want string) {
		t.Helper()
		now = noon.Wall.Add(after)
		l := p.Get(later(t, after), id)[0]
		if got := fmt.Sprintf("%s, %s, bills %s", l.Verdict, l.Resource.State, l.Resource.Bills); got != want || l.Verdict == guard.VerdictFound && !l.Resource.Created.Equal(noon.Wall) {
			t.Errorf("after %s it is %s, created %s, %v; want %s", after, got, l.Resource.Created, l.Err, want)
		}
	}
	refused := func(want time.Duration) {
		t.Helper()
		err := p.Release(at(t), id, providers.ReleaseOptions{})
		if after, ok := guard.RetryAfter(err); !errors.Is(err, guard.ErrConflict) || !ok || after != want {
			t.Fatalf("%v, after %s; want a conflict for %s", err, after, want)
		}
	}
	is(0, "found, provisioning, bills yes")
	is(2*time.Minute, "found, running, bills yes")
	if got := p.Get(at(t), id)[0].Resource.Children; len(got) != 1 || got[0] != (guard.Child{ID: disk, GoesWithInstance: guard.No}) {
		t.Errorf("its disks: %+v", got)
	}
	c.Locked["uhost-life"] = true
	refused(lockWait)
	is(2*time.Minute, "found, running, bills yes")
	delete(c.Locked, "uhost-life")
	if err := p.Release(at(t), disk, providers.ReleaseOptions{}); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("its disk, mounted: %v", err)
	}
	refused(stopWait)
	refused(stopWait)
	is(2*time.Minute, "found, stopping, bills yes")
	is(3*time.Minute, "found, stopped, bills no")
	if err := p.Stop(at(t), id); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	c.Locked["uhost-life"] = true
	refused(lockWait)
	delete(c.Locked, "uhost-life")
	for range 2 {
		if err := p.Release(at(t), id, providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	is(3*time.Minute, "absent, , bills unknown")
	if got := listed(at(t), t, p, guard.Volume)["udisk-1"]; !got.Parent.IsZero() || got.Bills != guard.Yes {
		t.Errorf("its disk, left: %+v", got)
	}
	for range 2 {
		if err := p.Release(at(t), disk, providers.ReleaseOptions{}); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Count(strings.Join(c.Calls(), " "), "StopCompShareInstance"); got != 2 {
		t.Errorf("%d stops, want one that was refused and one", got)
	}
}

// TestASpotInstance cannot be stopped, and goes as it is; so does one that was taken back.
func TestASpotInstance(t *testing.T) {
	c := cloud(thing("uhost-1"), thing("uhost-2"))
	c.Instances["uhost-1"], c.Instances["uhost-2"] = compsharetest.Instance{Spot: true}, compsharetest.Instance{Spot: true}
	if err := c.Reclaim("uhost-2", guard.StateStopped); err != nil {
		t.Fatal(err)
	}
	p := on(t, c)
	if err := p.Stop(at(t), p.id(guard.Instance, "uhost-1")); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("stop: %v", err)
	}
	for _, id := range []string{"uhost-1", "uhost-2"} {
		if err := p.Release(at(t), p.id(guard.Instance, id), providers.ReleaseOptions{}); err != nil {
			t.Errorf("release %s: %v", id, err)
		}
	}
	if got := listed(at(t), t, p, guard.Instance); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAReleaseOfWhatFailedToInstall, which has no stop.
func TestAReleaseOfWhatFailedToInstall(t *testing.T) {
	for name, tt := range map[string]struct {
		state string
		code  int
		want  error
		calls string
	}{
		"failed":                {"Install Fail", 8091, nil, "Stop Terminate"},
		"failed, locked":        {"Install Fail", 8500, guard.ErrConflict, "Stop"},
		"failed, another's key": {"Install Fail", 172, guard.ErrPermission, "Stop"},
		"failed, and lost":      {"Install Fail", http.StatusBadGateway, guard.ErrUncertain, "Stop"},
		"running":               {"Running", 8091, guard.ErrUnavailable, "Stop"},
	} {
		c := cloud(thing("uhost-1"))
		c.StopFirst = false
		c.Instances["uhost-1"] = compsharetest.Instance{Set: map[string]any{"State": tt.state}}
		f := &cloudtest.Faults{Next: c}
		var calls []string
		f.Add(0, func(r *http.Request) bool {
			a := strings.TrimSuffix(action(r), "CompShareInstance")
			if a == "Stop" || a == "Terminate" {
				calls = append(calls, a)
			}
			return a == "Stop"
		}, func(w http.ResponseWriter, _ *http.Request) {
			if tt.code == http.StatusBadGateway {
				w.WriteHeader(tt.code)
				return
			}
			message := "state is not right"
			if tt.code == 8500 {
				message = busy
			}
			compsharetest.Code(w, tt.code, message)
		})
		p := on(t, f)
		err := p.Release(at(t), p.id(guard.Instance, "uhost-1"), providers.ReleaseOptions{})
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || strings.Join(calls, " ") != tt.calls {
			t.Errorf("%s: %v after %v; want %v after %s", name, err, calls, tt.want, tt.calls)
		}
	}
}

func TestWhatCannotBeEnded(t *testing.T) {
	p := on(t, cloud())
	snapshot := guard.ResourceID{Account: "cs", Kind: guard.Snapshot, ID: "s"}
	for what, c := range map[string]struct{ err, want error }{
		"release a snapshot":          {p.Release(at(t), snapshot, providers.ReleaseOptions{}), guard.ErrUnsupported},
		"read a snapshot":             {p.Get(at(t), snapshot)[0].Err, guard.ErrUnsupported},
		"stop a volume":               {p.Stop(at(t), p.id(guard.Volume, "v")), guard.ErrUnsupported},
		"stop what is not there":      {p.Stop(at(t), p.id(guard.Instance, "nobody")), guard.ErrNotFound},
		"read nothing":                {p.Get(at(t), p.id(guard.Instance, ""))[0].Err, guard.ErrInvalid},
		"read what cannot be an ID":   {p.Get(at(t), p.id(guard.Instance, strings.Repeat("x", 999)))[0].Err, guard.ErrInvalid},
		"release what is not there":   {p.Release(at(t), p.id(guard.Instance, "nobody"), providers.ReleaseOptions{}), nil},
		"release a disk that is gone": {p.Release(at(t), p.id(guard.Volume, "nobody"), providers.ReleaseOptions{}), nil},
	} {
		if !errors.Is(c.err, c.want) || (c.err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", what, c.err, c.want)
		}
	}
}
