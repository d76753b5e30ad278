package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

const canary = "cAnArY-9b7d-reply"

// statuses are those whose meaning no API may change.
var statuses = map[int]error{
	401: guard.ErrPermission, 403: guard.ErrPermission, 408: guard.ErrUnavailable, 429: guard.ErrThrottled,
	500: guard.ErrUnavailable, 502: guard.ErrUnavailable, 503: guard.ErrUnavailable, 504: guard.ErrUnavailable,
}

func (s *suite) statusKinds() {
	w := s.releasable(1)
	for _, call := range []string{Identity, List, Get, Release} {
		asked := s.asked(call)
		if asked == "" {
			continue
		}
		for status, kind := range statuses {
			p, x := s.open(w)
			x.on(asked, func(_ int, r *http.Request) (*http.Response, error) { return reply(r, status, "{}") })
			err := s.do(s.ctx(), p, w, call)
			if !errors.Is(err, kind) {
				s.Errorf("%s answered %d: %v, want %v", call, status, err, kind)
			}
			if errors.Is(err, guard.ErrNotFound) {
				s.Errorf("%s answered %d is taken for not found", call, status)
			}
		}
	}
}

// do makes one call of any sort and gives its error.
func (s *suite) do(ctx context.Context, p providers.Provider, w World, call string) error {
	s.Helper()
	id := s.id(w, 0)
	switch call {
	case Release:
		return p.Release(ctx, id, providers.ReleaseOptions{Token: "conformance"})
	case Stop:
		if c, ok := p.(providers.Stopper); ok && p.Truths().Stop != guard.StopUnsupported {
			return c.Stop(ctx, id)
		}
		s.skip("a stop")
	case Tag:
		if c, ok := p.(providers.Tagger); ok {
			return c.Tag(ctx, id, map[string]string{guard.TagLease: "L-1"})
		}
		s.skip("tags to write")
	case Protection, Unprotect:
		c, ok := p.(providers.Protector)
		if !ok {
			s.skip("protection")
		}
		if call == Unprotect {
			return c.Unprotect(ctx, id)
		}
		_, err := c.Protection(ctx, id)
		return err
	}
	return s.read(ctx, p, w, call)
}

func (s *suite) waits() {
	w := s.releasable(1)
	tests := []struct {
		name   string
		status int
		body   string
		header []string
		want   time.Duration
	}{
		{"seconds", 429, "{}", []string{"Retry-After", "30"}, 30 * time.Second},
		{"a date", 503, "{}", []string{"Retry-After", "Fri, 06 Mar 2026 10:02:00 GMT", "Date", "Fri, 06 Mar 2026 10:00:00 GMT"}, 2 * time.Minute},
		{"too long", 503, "{}", []string{"Retry-After", "999999"}, time.Hour},
		{"words", 500, `{"error":"retry in 60 seconds"}`, nil, time.Minute},
		{"a field", 429, `{"retry_after": 30}`, nil, 30 * time.Second},
	}
	for _, tt := range tests {
		if s.h.NoBodyHints && tt.header == nil {
			continue
		}
		for _, call := range []string{List, Get, Release} {
			asked := s.asked(call)
			p, x := s.open(w)
			x.on(asked, func(_ int, r *http.Request) (*http.Response, error) {
				return reply(r, tt.status, tt.body, tt.header...)
			})
			err := s.do(s.ctx(), p, w, call)
			if d, _ := guard.RetryAfter(err); d != tt.want || !errors.Is(err, statuses[tt.status]) {
				s.Errorf("%s, wait told by %s: %v, asks to wait %s, want %s", call, tt.name, err, d, tt.want)
			}
			if n := x.calls(asked); n != 1 {
				s.Errorf("%s, wait told by %s: %d calls, want one", call, tt.name, n)
			}
		}
	}
}

func (s *suite) release() {
	w := s.releasable(1)
	p, x := s.open(w)
	nobody := guard.ResourceID{Account: "conformance", Kind: guard.Instance, Scope: w.Scopes[0], ID: s.h.ID(9999)}
	for i, id := range []guard.ResourceID{s.id(w, 0), s.id(w, 0), nobody} {
		if err := s.end(p, id); err != nil {
			s.Errorf("release %d, of %s: %v", i+1, id, err)
		}
	}
	if n := x.calls(Unprotect); n != 0 {
		s.Errorf("%d calls lifted a protection", n)
	}
	s.ending(p, s.id(w, 0))
	if l := p.Get(s.ctx(), s.id(w, 1))[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning {
		s.Errorf("its neighbour is %s, %s", l.Verdict, l.Resource.State)
	}
}

func (s *suite) end(p providers.Provider, id guard.ResourceID) error {
	return p.Release(s.ctx(), id, providers.ReleaseOptions{Token: "conformance"})
}

// ending sees that what was released is going or gone, by a read or, where there is
// none, a complete listing.
func (s *suite) ending(p providers.Provider, id guard.ResourceID) {
	s.Helper()
	l := p.Get(s.ctx(), id)[0]
	going := l.Verdict == guard.VerdictFound && (l.Resource.State == guard.StateReleasing || l.Resource.State == guard.StateGone)
	switch {
	case going, l.Verdict == guard.VerdictAbsent:
	case l.Verdict == guard.VerdictUnknown && !p.Truths().HasGet:
		if r := s.kindIn(s.listKinds(p, id.Kind), id.Kind, id.Scope); r.Err != nil || slices.Contains(idsOf(r.Resources), id.ID) {
			s.Errorf("afterwards %s is listed, or it cannot be told: %v", id, r.Err)
		}
	default:
		s.Errorf("afterwards %s is %s, %s: %v", id, l.Verdict, l.Resource.State, l.Err)
	}
}

// most releases until what must be stopped first is.
const untilStopped = 10

// stopFirst sees that what runs is stopped, once, and refused with a wait until it is;
// and that a stop which failed is never taken for a release.
func (s *suite) stopFirst() {
	w := s.world(1)
	p, x := s.open(w)
	if !p.Truths().StopFirst {
		s.skip("a stop that must come first")
	}
	id := s.id(w, 0)
	refused := 0
	for ; ; refused++ {
		err := s.end(p, id)
		if err == nil {
			break
		}
		if _, wait := guard.RetryAfter(err); !errors.Is(err, guard.ErrConflict) || !wait {
			s.Fatalf("release %d: %v, want %v with a wait", refused+1, err, guard.ErrConflict)
		}
		if refused == untilStopped {
			s.Fatalf("still refused: %v", err)
		}
	}
	if refused == 0 {
		s.Error("what runs was released at once")
	}
	if n := x.calls(Stop); n != 1 {
		s.Errorf("%d stops were sent, want one", n)
	}
	s.ending(p, id)
	if l := p.Get(s.ctx(), s.id(w, 1))[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning {
		s.Errorf("its neighbour is %s, %s", l.Verdict, l.Resource.State)
	}
	for name, answer := range broken {
		p, x := s.open(w)
		x.on(Stop, func(_ int, r *http.Request) (*http.Response, error) { return answer(r) })
		err := s.end(p, id)
		if n := x.calls(Stop); err == nil || n > 1 {
			s.Errorf("a stop that met %s: %v, sent %d times", name, err, n)
		}
		if l := p.Get(s.ctx(), id)[0]; l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateRunning {
			s.Errorf("a stop that met %s: it is %s, %s", name, l.Verdict, l.Resource.State)
		}
	}
}

// unanswered are the ways in which a write gets no good reply, and whether it may have
// been done all the same.
var unanswered = []struct {
	name      string
	answer    func(r *http.Request) (*http.Response, error)
	uncertain bool
}{
	{"a time-out", broken["a time-out"], true},
	{"a reset", broken["a reset"], true},
	{"a cut connection", broken["a cut connection"], true},
	{"a page for people", broken["a page for people"], true},
	{"504", func(r *http.Request) (*http.Response, error) { return reply(r, 504, "") }, true},
	{"500", broken["500"], false},
	{"503", broken["503"], false},
	{"429", broken["429"], false},
	{"no connection", broken["no connection"], false},
}

func (s *suite) writesOnce() {
	for _, tt := range unanswered {
		for _, call := range []string{Release, Stop, Tag} {
			s.Run(call+" meets "+tt.name, func(t *testing.T) {
				sub := &suite{T: t, h: s.h}
				w := sub.world(1)
				if call == Release {
					w = sub.releasable(1)
				}
				p, x := sub.open(w)
				x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return tt.answer(r) })
				err := sub.do(sub.ctx(), p, w, call)
				if err == nil || errors.Is(err, guard.ErrUncertain) != tt.uncertain {
					t.Errorf("err = %v, want uncertain %t", err, tt.uncertain)
				}
				if n := x.calls(call); n != 1 {
					t.Errorf("%d calls, want one", n)
				}
			})
		}
	}
}

func (s *suite) protection() {
	if s.h.NoProtection {
		s.skip("protection")
	}
	w := s.releasable(1)
	w.Instances[0].Protected = true
	p, x := s.open(w)
	err := p.Release(s.ctx(), s.id(w, 0), providers.ReleaseOptions{Token: "conformance"})
	if !errors.Is(err, guard.ErrProtected) {
		s.Errorf("Release = %v, want %v", err, guard.ErrProtected)
	}
	if n := x.calls(Unprotect); n != 0 {
		s.Errorf("%d calls lifted the protection unasked", n)
	}
	if l := p.Get(s.ctx(), s.id(w, 0))[0]; l.Verdict != guard.VerdictFound || l.Resource.State == guard.StateReleasing || l.Resource.State == guard.StateGone || l.Resource.ReleaseProtected == guard.No {
		s.Errorf("afterwards it is %s, %s, protected: %s", l.Verdict, l.Resource.State, l.Resource.ReleaseProtected)
	}
	c, ok := p.(providers.Protector)
	if !ok {
		return
	}
	if got, err := c.Protection(s.ctx(), s.id(w, 0)); err != nil || got.Release != guard.Yes {
		s.Errorf("Protection = %+v, %v", got, err)
	}
	if got, err := c.Protection(s.ctx(), s.id(w, 1)); err != nil || got.Release != guard.No {
		s.Errorf("Protection of its neighbour = %+v, %v", got, err)
	}
	if err := c.Unprotect(s.ctx(), s.id(w, 0)); err != nil {
		s.Fatalf("Unprotect: %v", err)
	}
	if err := p.Release(s.ctx(), s.id(w, 0), providers.ReleaseOptions{Token: "conformance"}); err != nil {
		s.Errorf("Release afterwards: %v", err)
	}
}

func (s *suite) stop() {
	w := s.world(1)
	p, _ := s.open(w)
	if err := s.do(s.ctx(), p, w, Stop); err != nil {
		s.Fatal(err)
	}
	l := p.Get(s.ctx(), s.id(w, 0))[0]
	if l.Verdict != guard.VerdictFound || l.Resource.State != guard.StateStopped && l.Resource.State != guard.StateStopping {
		s.Errorf("afterwards it is %s, %s", l.Verdict, l.Resource.State)
	}
}

func (s *suite) tag() {
	w := s.world(1)
	p, _ := s.open(w)
	if err := s.do(s.ctx(), p, w, Tag); err != nil {
		s.Fatal(err)
	}
	l := p.Get(s.ctx(), s.id(w, 0))[0]
	want := map[string]string{"team": "nlp", guard.TagLease: "L-1"}
	got := maps.Clone(l.Resource.Tags)
	maps.DeleteFunc(got, func(k, _ string) bool { return k == "Name" })
	if !maps.Equal(got, want) {
		s.Errorf("tags are %v, want %v", got, want)
	}
}

func (s *suite) cancelled() {
	w := s.releasable(1)
	p, x := s.open(w)
	x.on("", func(int, *http.Request) (*http.Response, error) { return nil, nil })
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	for _, call := range []string{Identity, List, Get, Release} {
		if s.asked(call) == "" {
			continue
		}
		err := s.do(ctx, p, w, call)
		if !errors.Is(err, context.Canceled) || errors.Is(err, guard.ErrUncertain) {
			s.Errorf("%s: %v", call, err)
		}
	}
	if n := x.calls(""); n != 0 {
		s.Errorf("%d calls", n)
	}
	if l := p.Get(ctx, s.id(w, 0))[0]; l.Verdict != guard.VerdictUnknown {
		s.Errorf("Get = %s", l.Verdict)
	}
}

// secretive are fields in which clouds are known to send secrets.
var secretive = []string{"password", "root_password", "default_password", "jupyter_token", "jupyter_url", "ssh_command", "env", "user_data", "onstart"}

// withSecrets puts a canary into every object of a reply in JSON, under each name that it
// does not have.
func withSecrets(body []byte) []byte {
	var root any
	if decode(body, &root) != nil {
		return body
	}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, x := range v {
				if name != "tags" && name != "labels" { // people's own words
					add(x)
				}
			}
			for _, name := range secretive {
				if _, has := v[name]; !has {
					v[name] = canary
				}
			}
		case []any:
			for _, x := range v {
				add(x)
			}
		}
	}
	add(root)
	out, err := json.Marshal(root)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return out
}

// secrets puts canaries wherever a reply has room and looks into every error and
// every answer.
func (s *suite) secrets() {
	w := s.releasable(1)
	w.Canary = canary
	p, x := s.open(w)
	x.next = editor{x.next, func(_ string, body []byte) []byte { return withSecrets(body) }, x}
	id, err := p.Identity(s.ctx())
	s.tells("Identity", fmt.Sprintf("%+v %v", id, err))
	for _, r := range s.listKinds(p, append([]guard.Kind{guard.Instance}, s.h.Kinds...)...).Results {
		b, err := json.Marshal(r.Resources)
		s.tells("List", fmt.Sprintf("%s %v %+v", b, err, r.Err))
	}
	for _, l := range p.Get(s.ctx(), s.id(w, 0)) {
		b, err := json.Marshal(l.Resource)
		s.tells("Get", fmt.Sprintf("%s %v %+v", b, err, l.Err))
	}

	answers := maps.Clone(broken)
	for _, status := range []int{302, 400, 401, 403, 404, 409, 423, 429, 500, 503} {
		answers[fmt.Sprint(status, " with canaries")] = func(r *http.Request) (*http.Response, error) {
			body := fmt.Sprintf(`{"error":%q,"message":"token=%s","url":"https://u:%s@h/?k=%s"}`, canary, canary, canary, canary)
			return reply(r, status, body, "X-Api-Token", canary, "Set-Cookie", "s="+canary, "Location", "https://"+canary+".invalid/?t="+canary)
		}
	}
	answers["an error with a URL"] = func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("Post %q: proxy says %s for %v", r.URL.String()+"?k="+canary, canary, r.Header)
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		for _, call := range []string{Identity, List, Get, Release} {
			p, x := s.open(w)
			x.on("", func(_ int, r *http.Request) (*http.Response, error) { return answers[name](r) })
			err := s.do(s.ctx(), p, w, call)
			if err != nil {
				s.tells(call+" with "+name, fmt.Sprintf("%v %+v %#v", err, err, err))
			}
		}
	}
	s.tells("the provider itself", fmt.Sprintf("%v %+v", p, p))
}

func (s *suite) concurrent() {
	w := s.world(5)
	p, _ := s.open(w)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := p.Identity(s.ctx()); err != nil {
				s.Error(err)
			}
			inv, err := p.List(s.ctx(), providers.Query{Kinds: []guard.Kind{guard.Instance}})
			if err != nil || len(inv.Results) < len(w.Scopes) { // it may have others
				s.Errorf("%d results, %v", len(inv.Results), err)
			}
			if l := p.Get(s.ctx(), s.id(w, 1))[0]; l.Verdict != guard.VerdictFound {
				s.Errorf("Get = %s, %v", l.Verdict, l.Err)
			}
		})
	}
	wg.Wait()
}
