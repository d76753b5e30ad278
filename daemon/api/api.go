// Package api is guardd's HTTP API under /v1: what people ask and order, read
// from and written to the ledger. Every mutation reads again what it rests on
// inside its transaction, writes a journal entry with the caller's name into the
// same one, and kicks the loops that have to act on it.
//
// It imports no other loop of the daemon: what it needs of them arrives in
// [Options] as functions over nouns and wire bodies.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/activity"
	"guard/providers"
	"guard/store"
)

// Options is what the API works with. Functions are asked anew at each request,
// so that a reload needs no new handler. All of them but Doubt, Channels, Delivery,
// Storage, Examine, Backup, Version and Log must be there.
type Options struct {
	Ledger *store.Ledger
	// Account is the configured account of a name.
	Account      func(name string) (*providers.Account, bool)
	AccountNames func() []string
	// Now tells the time that guard goes by, and Doubt whether nothing confirms it yet;
	// nil where something always does.
	Now   func() guard.Instant
	Doubt func() bool
	// Kick makes the scheduler run a loop now.
	Kick  func(loop string)
	Rules func() policy.Rules
	// Location is the zone in which people read and write times.
	Location func() *time.Location
	// Channels are the names of the configured channels.
	Channels func() []string
	// Delivery tells how each channel takes its messages (notify); nil: nobody asks.
	Delivery func(v *store.View) ([]wire.Channel, error)
	// Storage tells of the ledger's file and its backups; nil where it is in none.
	Storage func(ctx context.Context) wire.Storage
	// Examine looks at everything that guard stands on, in calls to providers and
	// channels too; nil: nobody asks.
	Examine func(ctx context.Context, at guard.Instant, s wire.Status) wire.Diagnosis
	// Report is the digest as of now, in a language.
	Report func(ctx context.Context, at guard.Instant, lang guard.Lang) (wire.Report, error)
	// Why gives the facts behind what guard decides about a resource, and the
	// reasoning in lines (decide).
	Why func(ctx context.Context, at guard.Instant, id guard.ResourceID) ([]guard.Fact, []string, error)
	// Signals is what is known of how hard instances work; its functions may be nil.
	Signals Signals
	// Modes switches where guard acts.
	Modes Modes
	// Backup writes a proven copy of the ledger to a file on the daemon's machine;
	// nil where there is no such thing.
	Backup func(ctx context.Context, path string) error
	// Health tells how the loops run. It must not touch the ledger.
	Health  func(at guard.Instant) wire.Health
	Version string
	Log     *slog.Logger
}

// Signals is what the API asks of how hard instances work.
type Signals struct {
	// Push takes in samples that an agent on the box sends.
	Push func(ctx context.Context, at guard.Instant, id guard.ResourceID, samples []guard.Sample) error
	// Activity is what the samples of a resource tell; false where there are none.
	Activity func(id guard.ResourceID) (activity.State, bool)
	// Recent are its stored samples since a time, oldest first.
	Recent func(ctx context.Context, id guard.ResourceID, since time.Time) ([]guard.Sample, error)
	// Failing are the sources that tell nothing of it, a line each.
	Failing func(id guard.ResourceID) []string
	// Troubles are what keeps samples from coming at all, or from being stored.
	Troubles func() []SignalTrouble
}

// SignalTrouble is why samples do not come, or are not stored.
type SignalTrouble struct {
	Loop  string // the loop whose error it is; "": none
	Text  string // what is wrong: "signals of lab cannot be read from cloudwatch"
	Since time.Time
	Why   string
}

// server carries the handlers.
type server struct {
	Options
	api    huma.API
	agents agents
}

// newServer is a server without routes.
func newServer(o Options) *server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Doubt == nil {
		o.Doubt = func() bool { return false }
	}
	if o.Modes.Pause == nil {
		o.Modes.Pause = func() guard.Pause { return guard.Pause{} }
	}
	if o.Channels == nil {
		o.Channels = func() []string { return nil }
	}
	return &server{Options: o}
}

// New returns the handler of the whole API. The OpenAPI description is at
// /v1/openapi.json and .yaml.
func New(o Options) http.Handler {
	s := newServer(o)
	mux := http.NewServeMux()
	config := huma.DefaultConfig("guard", o.Version)
	describe(&config)
	s.api = humago.New(mux, config)

	post(s, guard.Viewer, "register", "Register a resource or update its registration", s.register)
	post(s, guard.Viewer, "extend", "Move the limits of a lease", s.extend)
	post(s, guard.Viewer, "hold", "Put limits off until a time", s.hold)
	post(s, guard.Viewer, "unhold", "End all holds on a lease", s.unhold)
	post(s, guard.Viewer, "veto", "Keep a rule from acting on one resource, until a time", s.veto)
	post(s, guard.Viewer, "unveto", "End vetoes", s.unveto)
	post(s, guard.Viewer, "snooze", "Say nothing that is not urgent about one resource, until a time", s.snooze)
	post(s, guard.Viewer, "unsnooze", "End a snooze", s.unsnooze)
	post(s, guard.Viewer, "ack", "Say that one sees to what is wrong with one resource", s.ack)
	post(s, guard.Admin, "protect", "Keep guard from touching a resource", s.protect)
	post(s, guard.Admin, "unprotect", "Let limits act again", s.unprotect)
	post(s, guard.Viewer, "release", "Order the release of resources", s.release)
	post(s, guard.Viewer, "stop", "Order the stop of a resource", s.stop)
	post(s, guard.Viewer, "agent/samples", "Take in what an agent has read on its box", s.samples)
	post(s, guard.Viewer, "agent/heartbeat", "Say that a job runs on a box", s.heartbeat)
	post(s, guard.Admin, "enforce", "Let guard act in an account", s.enforce)
	post(s, guard.Admin, "observe", "Make guard only watch an account", s.observe)
	post(s, guard.Admin, "resume", "Let a paused guard act again", s.resume)
	post(s, guard.Admin, "reload", "Read the configuration again", s.reload)
	post(s, guard.Admin, "backup", "Copy the ledger to a file on the daemon's machine", s.backup)
	get(s, guard.Viewer, "resources", "What guard knows of", s.list)
	get(s, guard.Viewer, "show", "Everything about one resource", s.show)
	get(s, guard.Viewer, "why", "What guard decides about one resource, and why", s.why)
	get(s, guard.Viewer, "findings", "What is wrong", s.findings)
	get(s, guard.Viewer, "report", "How yesterday was, and how things stand: the digest as of now", s.report)
	get(s, guard.Viewer, "egress", "What is sent and received, and what that costs", s.traffic)
	get(s, guard.Viewer, "egress/show", "The traffic of one resource", s.trafficOf)
	get(s, guard.Viewer, "egress/estimate", "What it would cost to send something", s.estimate)
	get(s, guard.Viewer, "log", "The journal, newest first", s.log)
	get(s, guard.Operator, "doctor", "What guard stands on, looked at now: it asks providers and channels", s.doctor)
	get(s, guard.Viewer, "status", "How guard stands and what needs a person", s.status)
	post(s, guard.Admin, "token", "Make a token; its secret is told this once", s.createToken)
	post(s, guard.Admin, "revoke", "End tokens", s.revoke)
	get(s, guard.Admin, "tokens", "The tokens, without their secrets", s.listTokens)
	huma.Register(s.api, s.watched(),
		func(context.Context, *nothing) (*healthOut, error) { return s.health(s.Now()), nil })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, newProblem(&fault{kind: guard.ErrNotFound, text: fmt.Sprintf("guardd has no %s %s", r.Method, clip(r.URL.Path)),
			hint: "The routes are listed in " + wire.Prefix + "/openapi.json; an older or newer guard may be asking."}))
	})
	// A page in somebody's browser must not be able to order releases from a
	// daemon on loopback.
	return s.survive(http.NewCrossOriginProtection().Handler(s.gate(mux)))
}

type bodyIn[T any] struct{ Body T }
type bodyOut[T any] struct{ Body T }

func post[I, O any](s *server, needs guard.Role, name, summary string, fn func(context.Context, guard.Instant, I) (O, error)) {
	huma.Register(s.api, s.operation(http.MethodPost, name, summary, needs),
		func(ctx context.Context, in *bodyIn[I]) (*bodyOut[O], error) {
			if err := admit(ctx, needs, name, &in.Body, new(O)); err != nil {
				return nil, s.fail(name, err)
			}
			at := s.Now()
			out, err := fn(guard.WithInstant(ctx, at), at, in.Body)
			if err != nil {
				return nil, s.fail(name, reticent(ctx, err))
			}
			return &bodyOut[O]{out}, nil
		})
}

func get[I, O any](s *server, needs guard.Role, name, summary string, fn func(context.Context, guard.Instant, *I) (O, error)) {
	huma.Register(s.api, s.operation(http.MethodGet, name, summary, needs),
		func(ctx context.Context, in *I) (*bodyOut[O], error) {
			if err := admit(ctx, needs, name, in, new(O)); err != nil {
				return nil, s.fail(name, err)
			}
			at := s.Now()
			out, err := fn(guard.WithInstant(ctx, at), at, in)
			if err != nil {
				return nil, s.fail(name, reticent(ctx, err))
			}
			if scope := callerOf(ctx).Scope; scope != "" {
				narrow(scope, &out)
			}
			return &bodyOut[O]{out}, nil
		})
}

// survive turns a panic of a handler into an answer: the daemon's loops must not
// end because of a question.
func (s *server) survive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if err, ok := p.(error); p == nil || ok && errors.Is(err, http.ErrAbortHandler) {
				return
			}
			s.Log.Error("api handler panicked", "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			writeProblem(w, newProblem(fmt.Errorf("guardd failed at this request in a way it should not; its log has the details")))
		}()
		next.ServeHTTP(w, r)
	})
}

// local is a time as people read it; nil where there is none.
func (s *server) local(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	l := t.In(s.Location())
	return &l
}

// inZone is a moment that another part of the daemon gave, as people read it.
func (s *server) inZone(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return s.local(*t)
}

func (s *server) now(at guard.Instant) time.Time { return at.Wall.In(s.Location()) }

// fromNow is the moment that a time ahead ends at. It is refused while the time itself
// is in doubt.
func (s *server) fromNow(d time.Duration, at guard.Instant) (time.Time, error) {
	if s.Doubt() {
		return time.Time{}, faultf(guard.ErrUnavailable, "guard's machine was started anew, and no provider has confirmed its clock yet: %s from now may be another time than you mean", span(d)).
			hinted("Try again in a minute, or say until when instead: --until TIME.")
	}
	return at.Wall.Add(d).UTC(), nil
}

// kick runs loops soon, each once.
func (s *server) kick(loops ...string) {
	for _, l := range loops {
		s.Kick(l)
	}
}
