package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"guard"
	"guard/providers"
)

func (s *suite) identity() {
	p, x := s.open(s.world(1))
	id, err := p.Identity(s.ctx())
	if err != nil || id.ID == "" {
		s.Fatalf("Identity = %+v, %v", id, err)
	}
	if x.calls("") == 0 && id.Strong {
		s.Errorf("nobody was asked, and it is taken for certain: %+v", id)
	}
	if again, err := p.Identity(s.ctx()); err != nil || again != id {
		s.Errorf("the second time it is %+v, %v", again, err)
	}
}

func (s *suite) listAll() {
	w := s.world(5) // three pages a scope, the last one short
	p, x := s.open(w)
	inv := s.list(p)
	if n := len(x.texts(List)); n == 0 || !s.h.Unpaged && n < 3*len(w.Scopes) {
		s.Errorf("%d different requests are classified as %q, for %d scopes with three pages or more", n, List, len(w.Scopes))
	}
	for _, scope := range w.Scopes {
		r := s.scope(inv, scope)
		if r.Err != nil {
			s.Errorf("%s: %v", scope, r.Err)
		}
		if got, want := idsOf(r.Resources), w.idsIn(scope); !slices.Equal(got, want) {
			s.Errorf("%s holds %v, want %v", scope, got, want)
		}
		for _, x := range r.Resources {
			if x.ID.Kind != guard.Instance || x.ID.Account == "" || x.State != guard.StateRunning || x.Bills != guard.Yes || !s.h.NoTags && x.Tags["team"] != "nlp" {
				s.Errorf("a running instance came as %+v", x)
			}
			s.priced(x)
		}
	}
	w = s.world(4) // the last page is full
	p, _ = s.open(w)
	if r := s.scope(s.list(p), w.Scopes[0]); r.Err != nil || !slices.Equal(idsOf(r.Resources), w.idsIn(w.Scopes[0])) {
		s.Errorf("a full last page: %d, %v", len(r.Resources), r.Err)
	}
}

// calls tells what a poll costs: of few instances and of many, on one page, when it is
// not the first.
func (s *suite) calls() {
	var made [2]int
	for i, n := range []int{2, 100} {
		w := s.world(n)
		w.PageSize = 0
		p, x := s.open(w)
		s.list(p)
		x.on("", func(int, *http.Request) (*http.Response, error) { return nil, nil })
		s.list(p)
		made[i] = x.calls("")
	}
	s.Logf("a listing takes %d calls with 4 instances, and %d with 200", made[0], made[1])
	if made[1] > made[0]+200 {
		s.Errorf("more than one call for each instance")
	}
}

// priced sees that a running instance of two GPUs costs what the whole machine does,
// whatever unit the API tells.
func (s *suite) priced(x guard.Resource) {
	s.Helper()
	if s.h.Currency == "" {
		return
	}
	want := guard.MustMoney("2.50 " + s.h.Currency)
	if got, ok := x.Rate.Hourly(); !ok || !got.Round().Equal(want) || x.GPUs != 2 {
		s.Errorf("%s: %d GPUs for %s an hour, want 2 for %s", x.ID, x.GPUs, x.Rate, want)
	}
}

func (s *suite) listScopes() {
	if len(s.h.Scopes) == 1 {
		s.skip("scopes")
	}
	w := s.world(2)
	p, _ := s.open(w)
	inv := s.list(p, w.Scopes[1])
	if len(inv.Results) != 1 {
		s.Fatalf("%d results for one scope", len(inv.Results))
	}
	if r := s.scope(inv, w.Scopes[1]); r.Err != nil || len(r.Resources) != 2 {
		s.Errorf("%d resources, %v", len(r.Resources), r.Err)
	}
}

func (s *suite) listEmpty() {
	w := World{Scopes: s.h.Scopes, PageSize: 2}
	p, _ := s.open(w)
	for _, scope := range w.Scopes {
		if r := s.scope(s.list(p), scope); r.Err != nil || len(r.Resources) != 0 {
			s.Errorf("%s: %d resources, %v", scope, len(r.Resources), r.Err)
		}
	}
}

// broken are the ways in which a request gets no good reply.
var broken = map[string]func(r *http.Request) (*http.Response, error){
	"401":               func(r *http.Request) (*http.Response, error) { return reply(r, 401, "{}") },
	"403":               func(r *http.Request) (*http.Response, error) { return reply(r, 403, "{}") },
	"404 by a proxy":    func(r *http.Request) (*http.Response, error) { return html(r, 404) },
	"429":               func(r *http.Request) (*http.Response, error) { return reply(r, 429, "{}") },
	"500":               func(r *http.Request) (*http.Response, error) { return reply(r, 500, "{}") },
	"503":               func(r *http.Request) (*http.Response, error) { return reply(r, 503, "") },
	"a page for people": func(r *http.Request) (*http.Response, error) { return html(r, 200) },
	"nothing":           func(r *http.Request) (*http.Response, error) { return reply(r, 200, "") },
	"null":              func(r *http.Request) (*http.Response, error) { return reply(r, 200, "null") },
	"an empty object":   func(r *http.Request) (*http.Response, error) { return reply(r, 200, "{}") },
	"half a reply":      func(r *http.Request) (*http.Response, error) { return reply(r, 200, `{"a":[{"b":"c`) },
	"half a reply, XML": func(r *http.Request) (*http.Response, error) {
		return reply(r, 200, `<?xml version="1.0"?><a><b>`, "Content-Type", "text/xml")
	},
	"a cut connection": func(r *http.Request) (*http.Response, error) {
		resp, err := reply(r, 200, "")
		resp.Body, resp.ContentLength = io.NopCloser(cut{}), -1
		return resp, err
	},
	"no connection": func(*http.Request) (*http.Response, error) { return nil, refused() },
	"a reset":       func(*http.Request) (*http.Response, error) { return nil, reset() },
	"a time-out":    func(*http.Request) (*http.Response, error) { return nil, timeOut{} },
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

func reset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
}

func html(r *http.Request, status int) (*http.Response, error) {
	return reply(r, status, "<!DOCTYPE html><html><body>Please log in</body></html>", "Content-Type", "text/html")
}

func (s *suite) failedPages() {
	w := s.world(5)
	instances := providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: w.Scopes[:1]}
	p, x := s.open(w)
	if _, err := p.List(s.ctx(), instances); err != nil {
		s.Fatal(err)
	}
	for page, text := range x.texts(List) {
		for name, answer := range broken {
			p, x := s.open(w)
			came := x.only(text, answer)
			inv, err := p.List(s.ctx(), instances)
			if !came() {
				s.Fatal("no two listings make the same requests")
			}
			if err != nil {
				continue // as a whole: fine too
			}
			if r := s.scope(inv, w.Scopes[0]); r.Err == nil {
				s.Errorf("page %d is %s: a complete list of %d", page+1, name, len(r.Resources))
			}
		}
	}
}

func (s *suite) failedScope() {
	if len(s.h.Scopes) == 1 {
		s.skip("scopes")
	}
	w := s.world(2)
	for name, answer := range broken {
		p, x := s.open(w)
		x.fault = func(q request, _ int, r *http.Request) (*http.Response, error, bool) {
			if q.Call != List || q.Scope != w.Scopes[1] {
				return nil, nil, false
			}
			resp, err := answer(r)
			return resp, err, true
		}
		inv := s.list(p)
		if good := s.scope(inv, w.Scopes[0]); good.Err != nil || len(good.Resources) != 2 {
			s.Errorf("%s in the other scope: %d resources, %v", name, len(good.Resources), good.Err)
		}
		if bad := s.scope(inv, w.Scopes[1]); bad.Err == nil {
			s.Errorf("%s: the scope looks complete, with %d resources", name, len(bad.Resources))
		}
	}
}

func (s *suite) getOrder() {
	w := s.world(3)
	p, _ := s.open(w)
	missing := guard.VerdictAbsent
	if !p.Truths().HasGet {
		missing = guard.VerdictUnknown // one listing proves no absence
	}
	nobody := guard.ResourceID{Account: "conformance", Kind: guard.Instance, Scope: w.Scopes[0], ID: s.h.ID(9999)}
	ask := []guard.ResourceID{s.id(w, 4), nobody, s.id(w, 0), s.id(w, 4), s.id(w, 2)}
	got := p.Get(s.ctx(), ask...)
	if len(got) != len(ask) {
		s.Fatalf("%d lookups for %d IDs", len(got), len(ask))
	}
	for i, l := range got {
		want := guard.VerdictFound
		if ask[i] == nobody {
			want = missing
		}
		if l.ID != ask[i] || l.Verdict != want {
			s.Errorf("lookup %d of %s is %s of %s: %v", i, ask[i], l.Verdict, l.ID, l.Err)
		}
		if l.Verdict == guard.VerdictFound && l.Resource.ID.ID != ask[i].ID {
			s.Errorf("lookup %d holds %s", i, l.Resource.ID)
		}
	}
	if got := p.Get(s.ctx()); len(got) != 0 {
		s.Errorf("%d lookups for no ID", len(got))
	}
}

func (s *suite) getFails() {
	w := s.world(1)
	ask := []guard.ResourceID{s.id(w, 0), s.id(w, 1)}
	call := s.asked(Get)
	for name, answer := range broken {
		p, x := s.open(w)
		x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return answer(r) })
		got := p.Get(s.ctx(), ask...)
		if len(got) != 2 {
			s.Fatalf("%s: %d lookups", name, len(got))
		}
		for i, l := range got {
			if l.ID != ask[i] || l.Verdict != guard.VerdictUnknown || l.Err == nil {
				s.Errorf("%s: lookup %d is %q, %v", name, i, l.Verdict, l.Err)
			}
		}
	}
	p, x := s.open(w)
	x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return reply(r, 404, "{}") })
	for _, l := range p.Get(s.ctx(), ask...) {
		if l.Verdict == guard.VerdictAbsent && !s.h.NotFoundIsAbsent {
			s.Error("a bare 404 became absent")
		}
	}
}

// readsByID sees that what is declared to be read by ID is asked for by it: an answer to a
// request that does not name it is a listing's, and proves what a listing does.
func (s *suite) readsByID() {
	for _, kind := range append([]guard.Kind{guard.Instance}, s.h.Kinds...) {
		p, x := s.open(s.world(1))
		id := guard.ResourceID{Account: "conformance", Kind: kind, Scope: s.h.Scopes[0], ID: s.h.ID(200)}
		if kind != guard.Instance {
			id.ID = s.h.LeftoverID(kind, 200)
		}
		if !p.Truths().ReadsByID(kind) {
			continue
		}
		p.Get(s.ctx(), id)
		own := id.ID[strings.LastIndex(id.ID, "/")+1:] // its place may stand before it
		if !slices.ContainsFunc(x.seen, func(q request) bool { return strings.Contains(q.text, own) }) {
			s.Errorf("%s is declared to be read by ID, and none of %d requests names it: see Truths.ListedOnly", id, len(x.seen))
		}
	}
}

// notFound sees that the API's own word for what it does not have counts, from the API
// alone: not with the status of a failure, and not for a release that a proxy answered.
func (s *suite) notFound() {
	if s.h.NotFound == nil {
		s.skip("an answer of its own for what is not there")
	}
	w := s.releasable(1)
	own := func(call string, instead int) func(int, *http.Request) (*http.Response, error) {
		status, body := s.h.NotFound(call)
		if instead != 0 {
			status = instead
		}
		return func(_ int, r *http.Request) (*http.Response, error) { return reply(r, status, body) }
	}
	p, x := s.open(w)
	x.on(Get, own(Get, 0))
	if l := p.Get(s.ctx(), s.id(w, 0))[0]; l.Verdict != guard.VerdictAbsent || l.Err != nil {
		s.Errorf("Get: %s, %v", l.Verdict, l.Err)
	}
	for _, status := range []int{401, 403, 429, 500, 503} {
		x.on(Get, own(Get, status))
		if l := p.Get(s.ctx(), s.id(w, 0))[0]; l.Verdict != guard.VerdictUnknown || l.Err == nil {
			s.Errorf("Get, told with status %d: %s, %v", status, l.Verdict, l.Err)
		}
	}
	x.on(Release, own(Release, 0))
	if err := p.Release(s.ctx(), s.id(w, 0), providers.ReleaseOptions{Token: "conformance"}); err != nil {
		s.Errorf("Release: %v", err)
	}
	x.on(Release, func(_ int, r *http.Request) (*http.Response, error) { return reply(r, 404, "{}") })
	if err := p.Release(s.ctx(), s.id(w, 0), providers.ReleaseOptions{Token: "conformance"}); err == nil && !s.h.NotFoundIsAbsent {
		s.Error("a release that met a bare 404 is taken for accepted")
	}
}

func (s *suite) oddFields() {
	if len(s.h.Odd) == 0 {
		s.skip("odd servers")
	}
	for name, rt := range s.h.Odd {
		p, _ := s.on(rt)
		r := s.scope(s.list(p, s.h.Scopes[0]), s.h.Scopes[0])
		if r.Err == nil && len(r.Resources) == 0 {
			s.Errorf("%s: the list looks complete and empty", name)
		}
		for _, x := range r.Resources {
			s.sane(name, x)
		}
	}
}

// sane checks that a resource holds nothing that guard could count with and
// should not.
func (s *suite) sane(name string, x guard.Resource) {
	s.Helper()
	switch x.State {
	case guard.StateUnknown, guard.StateProvisioning, guard.StateRunning, guard.StateStopping, guard.StateStopped, guard.StateReleasing, guard.StateGone:
	default:
		s.Errorf("%s: state %q", name, x.State)
	}
	if x.State == guard.StateUnknown && x.Bills == guard.No {
		s.Errorf("%s: an unknown state does not bill", name)
	}
	if x.ID.ID == "" || x.ID.Account == "" || x.ID.Kind == "" {
		s.Errorf("%s: a resource without a name: %+v", name, x.ID)
	}
	if x.GPUs < 0 || x.GPUs > 1<<16 || x.SizeGB < 0 {
		s.Errorf("%s: %d GPUs, %d GB", name, x.GPUs, x.SizeGB)
	}
	for what, rate := range map[string]guard.Rate{"rate": x.Rate, "stopped rate": x.StoppedRate} {
		if h, ok := rate.Hourly(); ok && h.IsNegative() {
			s.Errorf("%s: %s %s", name, what, rate)
		}
	}
	if y := x.Created.Year(); !x.Created.IsZero() && (y < 2000 || y > 2200) {
		s.Errorf("%s: created %s", name, x.Created)
	}
	b, err := json.Marshal(x)
	if err != nil || !utf8.Valid(b) || len(b) > 1<<20 {
		s.Errorf("%s: %d bytes of JSON, %v", name, len(b), err)
	}
	for _, text := range []string{x.Name, x.RawState, x.GPUModel, x.Type} {
		if len(text) > 8192 {
			s.Errorf("%s: a text of %d bytes", name, len(text))
		}
	}
}

func (s *suite) badReplies() {
	call := s.asked(Identity)
	if call == "" {
		s.skip("a call that tells who it is")
	}
	for name, answer := range broken {
		p, x := s.open(s.world(1))
		x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return answer(r) })
		if id, err := p.Identity(s.ctx()); err == nil {
			s.Errorf("%s: Identity = %+v", name, id)
		}
	}
	p, x := s.open(s.world(1))
	x.on("", func(_ int, r *http.Request) (*http.Response, error) { return html(r, 200) })
	if _, err := p.Identity(s.ctx()); !errors.Is(err, guard.ErrBadReply) {
		s.Errorf("a page for people: %v, want %v", err, guard.ErrBadReply)
	}
}

func (s *suite) readsRepeated() {
	calls := map[string]string{}
	for _, read := range []string{Identity, List, Get} {
		calls[read] = s.asked(read)
	}
	synctest.Test(s.T, func(t *testing.T) { (&suite{T: t, h: s.h}).repeated(calls) })
}

// repeated is in a bubble, whose time goes by where somebody sleeps, and only there.
func (s *suite) repeated(calls map[string]string) {
	w := s.world(1)
	start := time.Now()
	for read, call := range calls {
		if call == "" {
			continue
		}
		p, x := s.open(w)
		x.on(call, func(n int, r *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(r, 500, "")
			}
			return nil, nil
		})
		if err := s.read(s.ctx(), p, w, read); err != nil {
			s.Errorf("%s after one 500: %v", read, err)
		}
		p, x = s.open(w)
		x.on(call, func(_ int, r *http.Request) (*http.Response, error) { return reply(r, 500, "") })
		if err := s.read(s.ctx(), p, w, read); !errors.Is(err, guard.ErrUnavailable) {
			s.Errorf("%s after 500 for ever: %v", read, err)
		}
		if n := x.calls(call); n > 5 {
			s.Errorf("%s was tried %d times", read, n)
		}
	}
	if d := time.Since(start); d > quick {
		s.Errorf("it took %s: an adapter must not sleep between tries", d)
	}
}

// asked is the sort of request that a call is made of on the wire: an identity may be
// read by some other call, or be a key's fingerprint ("": none is made), and a get by a
// listing.
func (s *suite) asked(call string) string {
	s.Helper()
	w := s.releasable(1)
	p, x := s.open(w)
	if err := s.do(s.ctx(), p, w, call); err != nil {
		s.Fatalf("%s: %v", call, err)
	}
	return x.asked(call)
}

// read makes one read of a sort in the first scope and gives its error.
func (s *suite) read(ctx context.Context, p providers.Provider, w World, call string) error {
	s.Helper()
	switch call {
	case Identity:
		_, err := p.Identity(ctx)
		return err
	case Get:
		return p.Get(ctx, s.id(w, 0))[0].Err
	}
	inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: w.Scopes[:1]})
	if err != nil {
		return err
	}
	return s.scope(inv, w.Scopes[0]).Err
}

// tells fails where a text holds the secret or a canary.
func (s *suite) tells(where, text string) {
	s.Helper()
	for _, c := range []string{Secret, canary} {
		if strings.Contains(text, c) {
			s.Errorf("%s tells a secret: %.300s", where, text)
		}
	}
}
