// Package providertest is the conformance suite of providers: what every adapter
// must hold to, whatever its cloud speaks. An adapter joins with a [Harness] and
// one call of [Run] in its own tests:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.Harness{
//			New: func(t *testing.T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
//				p, err := New(Options{Name: "conformance", Config: Config{APIKey: secret}, Next: rt, PerSecond: -1})
//				if err != nil {
//					t.Fatal(err)
//				}
//				return p
//			},
//			Serve:        func(_ *testing.T, w providertest.World) http.RoundTripper { return newCloud(w) },
//			Classify:     classify, // by method and path
//			Scopes:       []string{"global"},
//			ID:           func(n int) string { return fmt.Sprintf("pod%011d", n) },
//			Kinds:        []guard.Kind{guard.Volume},
//			Attached:     []guard.Kind{guard.Volume},
//			Currency:     "USD",
//			Unpaged:      true,
//			NoTags:       true,
//			NoProtection: true,
//			NotFound:     func(string) (int, string) { return 404, `{"title":"pod not found","status":404}` },
//		})
//	}
//
// [guard/providers/providertest/cloudtest] has what such a newCloud is made of, and
// [guard/providers/providertest/prismtest] holds the adapter against its vendor's own
// description. New must lift the adapter's rate limit: the suite makes thousands of calls.
// What a harness declares that its cloud does not have, and each capability that the
// adapter does not offer, is a test that skips itself and says "not here".
//
// The suite stands between the adapter and the harness's server as an
// [http.RoundTripper]: it counts the calls, and makes those go wrong that a test
// is about. So it needs to be told what a request is (Harness.Classify), and
// nothing of its encoding.
package providertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

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
	Balance    = "balance"
	Charges    = "charges"
	Other      = "other" // whatever else an adapter needs
)

// Op is what one request is.
type Op struct {
	Call  string
	Scope string // of a list, where the request tells
}

// World is the account that a harness's server plays. It has no clock: what is asked
// for is done at once, or after a few reads.
type World struct {
	Scopes    []string
	PageSize  int // entries a page of a listing; 0 is no limit
	Instances []Thing
	// Leftovers are things of Harness.Kinds.
	Leftovers []Thing
	// Balance is what a Balancer tells, and Charges are what a Biller does: whole days
	// of instances, one after the other. Both are in Harness.Currency.
	Balance guard.Money
	Charges []guard.Charge
	// Canary stands in every field of a reply that could carry a secret (a
	// password, a token, a URL with one), where the API has such fields.
	Canary string
}

// Thing is one instance that runs, or a leftover.
type Thing struct {
	ID, Name, Scope string
	Kind            guard.Kind
	Tags            map[string]string
	// GPUs are those of an instance, and Price is what the whole machine costs an hour,
	// where the harness has a Currency.
	GPUs  int
	Price guard.Money
	// Stopped: the instance is stopped.
	Stopped bool
	// Protected: the provider refuses its release.
	Protected bool
	// AttachedTo is the ID of the instance that a leftover hangs on. While that is there
	// the provider refuses to delete it.
	AttachedTo string
}

// Harness fits an adapter to the suite. New, Serve and Classify must be set.
type Harness struct {
	// New makes the provider for the scopes, with rt below its transport. The
	// secret is what it authenticates with, in its own way.
	New func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider
	// Serve plays a healthy account.
	Serve func(t *testing.T, w World) http.RoundTripper
	// Classify tells what a request is. List and Get are those that tell what there is: one
	// that only adds to it, a catalogue of prices, is Other.
	Classify func(r *http.Request, body []byte) Op
	// Scopes are two that the adapter accepts, or the one of a cloud without regions;
	// default zone-a and zone-b.
	Scopes []string
	// ID makes the n-th instance ID in the cloud's form; default i- and 17 hex
	// digits. LeftoverID makes those of Kinds; default is ID.
	ID         func(n int) string
	LeftoverID func(kind guard.Kind, n int) string
	// Kinds are what else Serve can play, and Attached those of them that can hang on an
	// instance.
	Kinds, Attached []guard.Kind
	// Currency is that of the prices that the API tells; "" where it tells none.
	Currency string
	// Unpaged: a listing is one reply.
	Unpaged bool
	// NoTags: the cloud keeps no tags, or not as keys with values.
	NoTags bool
	// NoProtection: the cloud has no lock against a release.
	NoProtection bool
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
	// NotFound is the API's own answer to a call (Get, Release) about one thing that it
	// does not have; nil where such an answer is no refusal.
	NotFound func(call string) (status int, body string)
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
	if len(h.Scopes) == 0 {
		h.Scopes = []string{"zone-a", "zone-b"}
	}
	if len(h.Scopes) > 2 {
		t.Fatalf("a harness has one scope or two, not %d", len(h.Scopes))
	}
	if h.ID == nil {
		h.ID = func(n int) string { return fmt.Sprintf("i-%017x", n) }
	}
	if h.LeftoverID == nil {
		h.LeftoverID = func(_ guard.Kind, n int) string { return h.ID(n) }
	}
	if h.Context == nil {
		h.Context = func(t *testing.T) context.Context { return t.Context() }
	}
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"truths", (*suite).truths},
		{"what is stopped bills as declared", (*suite).stoppedBills},
		{"identity", (*suite).identity},
		{"list all pages", (*suite).listAll},
		{"calls of a poll", (*suite).calls},
		{"list a subset of scopes", (*suite).listScopes},
		{"an empty account", (*suite).listEmpty},
		{"a failed page is never the end", (*suite).failedPages},
		{"a failed scope is never empty", (*suite).failedScope},
		{"get answers for every ID in order", (*suite).getOrder},
		{"a failed get is never absent", (*suite).getFails},
		{"what is read by ID is asked for by it", (*suite).readsByID},
		{"leftovers", (*suite).leftovers},
		{"a delete leaves what is declared", (*suite).deleteLeaves},
		{"odd fields", (*suite).oddFields},
		{"one wrong field", (*suite).wrongFields},
		{"bad replies", (*suite).badReplies},
		{"status kinds", (*suite).statusKinds},
		{"waits", (*suite).waits},
		{"reads are repeated a bounded number of times", (*suite).readsRepeated},
		{"the API's own not found", (*suite).notFound},
		{"release", (*suite).release},
		{"what must be stopped first is", (*suite).stopFirst},
		{"writes are sent once", (*suite).writesOnce},
		{"protection is respected", (*suite).protection},
		{"stop", (*suite).stop},
		{"tag", (*suite).tag},
		{"probe", (*suite).probe},
		{"balance", (*suite).balance},
		{"charges", (*suite).charges},
		{"signals answer for every instance in order", (*suite).signals},
		{"failed signals are never an empty answer", (*suite).signalsFail},
		{"odd signals", (*suite).oddSignals},
		{"a timer is read back", (*suite).timer},
		{"a timer that is not known is not none", (*suite).timerFails},
		{"a cancelled context makes no call", (*suite).cancelled},
		{"redirects are not followed elsewhere", (*suite).redirects},
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

// world is an account of 2n instances, as many in each scope, two a page.
func (s *suite) world(n int) World {
	w := World{Scopes: s.h.Scopes, PageSize: 2}
	for i := range 2 * n {
		t := Thing{Kind: guard.Instance, ID: s.h.ID(i + 1), Name: fmt.Sprintf("box-%d", i+1), Scope: s.h.Scopes[i*len(s.h.Scopes)/(2*n)], GPUs: 2}
		if !s.h.NoTags {
			t.Tags = map[string]string{"team": "nlp"}
		}
		if s.h.Currency != "" {
			t.Price = guard.MustMoney("2.50 " + s.h.Currency)
		}
		w.Instances = append(w.Instances, t)
	}
	return w
}

// releasable is a world whose first instance can be released as it is.
func (s *suite) releasable(n int) World {
	s.Helper()
	w := s.world(n)
	if p, _ := s.open(w); p.Truths().StopFirst {
		w.Instances[0].Stopped = true
	}
	return w
}

// skip skips what the adapter or its harness does not have.
func (s *suite) skip(what string) {
	s.Helper()
	s.Skip("not here: " + what)
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
	return s.query(p, providers.Query{Kinds: []guard.Kind{guard.Instance}, Scopes: scopes})
}

func (s *suite) listKinds(p providers.Provider, kinds ...guard.Kind) providers.Inventory {
	s.Helper()
	return s.query(p, providers.Query{Kinds: kinds})
}

func (s *suite) query(p providers.Provider, q providers.Query) providers.Inventory {
	s.Helper()
	inv, err := p.List(s.ctx(), q)
	if err != nil {
		s.Fatalf("List: %v", err)
	}
	return inv
}

// scope is the one result of a scope for instances.
func (s *suite) scope(inv providers.Inventory, scope string) providers.ScopeResult {
	s.Helper()
	return s.kindIn(inv, guard.Instance, scope)
}

// kindIn is the one result of a scope for a kind.
func (s *suite) kindIn(inv providers.Inventory, kind guard.Kind, scope string) providers.ScopeResult {
	s.Helper()
	var found []providers.ScopeResult
	for _, r := range inv.Results {
		if r.Scope == scope && r.Kind == kind {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		s.Fatalf("%d results for %ss in %s, want one", len(found), kind, scope)
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
