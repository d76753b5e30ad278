package cloudtest

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/providertest"
)

func TestLife(t *testing.T) {
	start := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	now := start
	c := &Cloud{Lags: Lags{Boot: 2 * time.Minute, Stop: time.Minute, End: 30 * time.Second, Forget: time.Hour}, Clock: func() time.Time { return now }, StopFirst: true}
	c.Create(providertest.Thing{ID: "a", Scope: "x"})
	c.Create(providertest.Thing{ID: "v", Kind: guard.Volume, Scope: "x", AttachedTo: "a"})
	is := func(after time.Duration, want guard.State) Thing {
		t.Helper()
		now = start.Add(after)
		got, err := c.Get(guard.Instance, "a")
		if err != nil || got.State != want {
			t.Fatalf("after %s it is %q, %v; want %q", after, got.State, err, want)
		}
		return got
	}
	is(0, guard.StateProvisioning)
	is(2*time.Minute, guard.StateRunning)
	if err := c.Release(guard.Instance, "a"); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("released while it ran: %v", err)
	}
	if err := c.Release(guard.Volume, "v"); !errors.Is(err, guard.ErrConflict) {
		t.Errorf("released while attached: %v", err)
	}
	now = start.Add(10 * time.Minute)
	if err := c.Stop("a"); err != nil {
		t.Error(err)
	}
	is(10*time.Minute, guard.StateStopping)
	if got := is(20*time.Minute, guard.StateStopped); got.Ran != 8*time.Minute || !got.Changed.Equal(start.Add(11*time.Minute)) {
		t.Errorf("%+v", got)
	}
	if err := c.Start("a"); err != nil {
		t.Error(err)
	}
	if got := is(30*time.Minute, guard.StateRunning); !got.Started.Equal(start.Add(22 * time.Minute)) {
		t.Errorf("%+v", got)
	}
	if err := c.Reclaim("a", guard.StateStopped); err != nil {
		t.Error(err)
	}
	if got := is(30*time.Minute, guard.StateStopped); got.Ended != guard.ByReclaim {
		t.Errorf("%+v", got)
	}
	for range 2 {
		if err := c.Release(guard.Instance, "a"); err != nil {
			t.Error(err)
		}
	}
	is(30*time.Minute, guard.StateReleasing)
	is(31*time.Minute, guard.StateGone)
	if err := c.Release(guard.Volume, "v"); err != nil {
		t.Errorf("after its instance: %v", err)
	}
	now = start.Add(2 * time.Hour)
	if _, err := c.Get(guard.Instance, "a"); !errors.Is(err, guard.ErrNotFound) {
		t.Errorf("not forgotten: %v", err)
	}
	if left := c.List(guard.Instance, ""); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}

func TestPage(t *testing.T) {
	all := []int{1, 2, 3, 4, 5}
	var got []int
	for from, pages := 0, 0; pages < 9; pages++ {
		page, next := Page(all, from, 2)
		if got = append(got, page...); next == 0 {
			break
		}
		from = next
	}
	if !slices.Equal(got, all) {
		t.Error(got)
	}
	for _, from := range []int{-1, 5, 99} {
		if page, next := Page(all, from, 2); page == nil || len(page) != 0 || next != 0 {
			t.Errorf("from %d: %v, %d", from, page, next)
		}
	}
	if page, next := Page(all, 0, 0); len(page) != 5 || next != 0 {
		t.Errorf("%v, %d", page, next)
	}
}

func TestFaults(t *testing.T) {
	f := &Faults{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ A int }
		Reply(w, 200, map[string]any{"read": Read(r, &in), "a": in.A})
	})}
	gets := func(r *http.Request) bool { return r.Method == http.MethodGet }
	f.Add(2, gets, func(w http.ResponseWriter, _ *http.Request) { Reply(w, 503, nil) })
	f.Add(0, func(r *http.Request) bool { return r.URL.Path == "/gone" }, func(w http.ResponseWriter, _ *http.Request) { Reply(w, 404, nil) })
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://fake.invalid"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := In(f).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, strings.TrimSpace(string(b))
	}
	for i, want := range []int{503, 503, 200, 200} {
		if got, _ := ask("GET", "/", ""); got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	for range 3 {
		if got, _ := ask("POST", "/gone", ""); got != 404 {
			t.Errorf("%d", got)
		}
	}
	if _, got := ask("POST", "/", `{"a":7}`); got != `{"a":7,"read":true}` {
		t.Error(got)
	}
}
