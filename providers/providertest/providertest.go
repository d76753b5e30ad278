// Package providertest is the conformance suite of providers: what every adapter
// must hold to, whatever its cloud speaks. An adapter joins with a [Harness] and
// one call of [Run] in its own tests.
//
// The suite stands between the adapter and the harness's server as an
// [http.RoundTripper]: it counts the calls, and makes those go wrong that a test
// is about. So it needs to be told what a request is (Harness.Classify), and
// nothing of its encoding.
package providertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// The calls that Classify sorts requests into.
const (
	Identity   = "identity"
	List       = "list"
	Get        = "get"
	Release    = "release"
	Stop       = "stop"
	Tag        = "tag"
	Protection = "protection"
	Unprotect  = "unprotect"
	Arm        = "arm"
	Armed      = "armed"
	Other      = "other" // whatever else an adapter needs
)

// Op is what one request is.
type Op struct {
	Call  string
	Scope string // of a list, where the request tells
}

// World is the account that a harness's server plays.
type World struct {
	Scopes    []string
	PageSize  int // entries a page of a listing
	Instances []Thing
	// Canary stands in every field of a reply that could carry a secret (a
	// password, a token, a URL with one), where the API has such fields.
	Canary string
}

// Thing is one running instance.
type Thing struct {
	ID, Name, Scope string
	Tags            map[string]string
	// Protected: the provider refuses its release.
	Protected bool
}

// Harness fits an adapter to the suite. New, Serve and Classify must be set.
type Harness struct {
	// New makes the provider for the scopes, with rt below its transport. The
	// secret is what it authenticates with, in its own way.
	New func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider
	// Serve plays a healthy account.
	Serve func(t *testing.T, w World) http.RoundTripper
	// Classify tells what a request is.
	Classify func(r *http.Request, body []byte) Op
	// Scopes are two that the adapter accepts; default zone-a and zone-b.
	Scopes []string
	// ID makes the n-th instance ID in the cloud's form; default i- and 17 hex
	// digits.
	ID func(n int) string
	// Odd are servers whose listing of the first scope holds one instance with
	// fields that make no sense: nulls, text for numbers, absurd amounts, unknown
	// words, huge texts, no ID.
	Odd map[string]http.RoundTripper
	// Watched plays an account whose instances are watched; an adapter that tells no
	// signals leaves it out. OddSignals are such servers whose samples of the world's
	// first instance make no sense.
	Watched    func(t *testing.T, w World) Watched
	OddSignals map[string]http.RoundTripper
	// NoBodyHints: the adapter cannot see a refusal's body (an SDK ate it).
	NoBodyHints bool
	// NotFoundIsAbsent: a plain 404 to a read by ID is the provider's word.
	NotFoundIsAbsent bool
	// Context is what calls are made with; default t.Context().
	Context func(t *testing.T) context.Context
}

// Secret is the credential that the suite gives to adapters, and looks for in
// everything that they say.
const Secret = "cAnArY-5e1f-secret"

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	if len(h.Scopes) != 2 {
		h.Scopes = []string{"zone-a", "zone-b"}
	}
	if h.ID == nil {
		h.ID = func(n int) string { return fmt.Sprintf("i-%017x", n) }
	}
	if h.Context == nil {
		h.Context = func(t *testing.T) context.Context { return t.Context() }
	}
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"truths", (*suite).truths},
		{"identity", (*suite).identity},
		{"list all pages", (*suite).listAll},
		{"list a subset of scopes", (*suite).listScopes},
		{"an empty account", (*suite).listEmpty},
		{"a failed page is never the end", (*suite).failedPages},
		{"a failed scope is never empty", (*suite).failedScope},
		{"get answers for every ID in order", (*suite).getOrder},
		{"a failed get is never absent", (*suite).getFails},
		{"odd fields", (*suite).oddFields},
		{"bad replies", (*suite).badReplies},
		{"status kinds", (*suite).statusKinds},
		{"waits", (*suite).waits},
		{"reads are repeated a bounded number of times", (*suite).readsRepeated},
		{"release", (*suite).release},
		{"writes are sent once", (*suite).writesOnce},
		{"protection is respected", (*suite).protection},
		{"stop", (*suite).stop},
		{"tag", (*suite).tag},
		{"probe", (*suite).probe},
		{"signals answer for every instance in order", (*suite).signals},
		{"failed signals are never an empty answer", (*suite).signalsFail},
		{"odd signals", (*suite).oddSignals},
		{"a timer is read back", (*suite).timer},
		{"a timer that is not known is not none", (*suite).timerFails},
		{"a cancelled context makes no call", (*suite).cancelled},
		{"no secret is told", (*suite).secrets},
		{"many goroutines", (*suite).concurrent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(&suite{T: t, h: h}) })
	}
}

type suite struct {
	*testing.T
	h Harness
}

// world is an account of n instances in each scope, two a page.
func (s *suite) world(n int) World {
	w := World{Scopes: s.h.Scopes, PageSize: 2}
	for i := range 2 * n {
		w.Instances = append(w.Instances, Thing{ID: s.h.ID(i + 1), Name: fmt.Sprintf("box-%d", i+1), Scope: s.h.Scopes[i/n], Tags: map[string]string{"team": "nlp"}})
	}
	return w
}

// open makes a provider on a world, with the wire in between.
func (s *suite) open(w World) (providers.Provider, *wire) {
	s.Helper()
	return s.on(s.h.Serve(s.T, w))
}

func (s *suite) on(rt http.RoundTripper) (providers.Provider, *wire) {
	s.Helper()
	x := &wire{next: rt, classify: s.h.Classify}
	return s.h.New(s.T, s.h.Scopes, x, guard.NewSecret(Secret)), x
}

func (s *suite) ctx() context.Context { return s.h.Context(s.T) }

func (s *suite) id(w World, i int) guard.ResourceID {
	return guard.ResourceID{Account: "conformance", Kind: guard.Instance, Scope: w.Instances[i].Scope, ID: w.Instances[i].ID}
}

func (s *suite) list(p providers.Provider, scopes ...string) providers.Inventory {
	s.Helper()
	inv, err := p.List(s.ctx(), providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: scopes})
	if err != nil {
		s.Fatalf("List: %v", err)
	}
	return inv
}

// scope is the one result of a scope.
func (s *suite) scope(inv providers.Inventory, scope string) providers.ScopeResult {
	s.Helper()
	var found []providers.ScopeResult
	for _, r := range inv.Results {
		if r.Scope == scope && r.Kind == guard.Instance {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		s.Fatalf("%d results for instances in %s, want one", len(found), scope)
	}
	return found[0]
}

func idsOf(rs []guard.Resource) []string {
	var ids []string
	for _, r := range rs {
		ids = append(ids, r.ID.ID)
	}
	slices.Sort(ids)
	return ids
}

func (w World) idsIn(scope string) []string {
	var ids []string
	for _, t := range w.Instances {
		if t.Scope == scope {
			ids = append(ids, t.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// wire counts requests and makes some go wrong.
type wire struct {
	next     http.RoundTripper
	classify func(*http.Request, []byte) Op

	mu    sync.Mutex
	seen  []Op
	fault func(op Op, n int, r *http.Request) (*http.Response, error, bool)
}

// RoundTrip implements http.RoundTripper.
func (x *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	op := x.classify(r, body)
	x.mu.Lock()
	n := 1
	for _, o := range x.seen {
		if o == op {
			n++
		}
	}
	x.seen = append(x.seen, op)
	fault := x.fault
	x.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	if fault != nil {
		if resp, err, hit := fault(op, n, r); hit {
			return resp, err
		}
	}
	return x.next.RoundTrip(r)
}

// on lets calls of one sort be answered by f; the n-th of each scope is told.
func (x *wire) on(call string, f func(n int, r *http.Request) (*http.Response, error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen = nil
	x.fault = func(op Op, n int, r *http.Request) (*http.Response, error, bool) {
		if op.Call != call && call != "" {
			return nil, nil, false
		}
		resp, err := f(n, r)
		return resp, err, resp != nil || err != nil
	}
}

// calls is how many requests of one sort there were; "" is any.
func (x *wire) calls(call string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, o := range x.seen {
		if call == "" || o.Call == call {
			n++
		}
	}
	return n
}

// reply is a canned answer.
func reply(r *http.Request, status int, body string, header ...string) (*http.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// timeOut is what net/http gives where no reply came in time.
type timeOut struct{}

func (timeOut) Error() string   { return "i/o timeout" }
func (timeOut) Timeout() bool   { return true }
func (timeOut) Temporary() bool { return true }

// quick bounds a test whose adapter sleeps between tries although it must not.
const quick = 5 * time.Second
