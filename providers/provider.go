// Package providers defines what guard asks of a cloud: the small [Provider]
// interface, the optional capabilities around it, the configured [Account], and
// the HTTP transport that every adapter speaks through.
//
// Adapters live below this package, one folder each. They translate; they hold
// no policy and keep no state that a restart would lose.
package providers

import (
	"context"
	"time"

	"guard"
)

// Provider is one cloud account behind its adapter. Every method may be called
// from several goroutines, honours ctx (a cancelled context makes no call), never
// sleeps between tries (a *guard.RetryError carries the wait), and returns errors
// that wrap a guard error kind and contain no secret.
type Provider interface {
	// Identity tells whose credentials these are.
	Identity(ctx context.Context) (guard.Identity, error)
	// List reads everything of the kinds asked for. An error of one scope is in
	// that scope's result; the error returned is for the call as a whole.
	List(ctx context.Context, q Query) (Inventory, error)
	// Get reads things by ID, with as few calls as the API allows. The answer has
	// exactly one Lookup for each id, in order; a failed call makes its lookups
	// VerdictUnknown with the error, never absent.
	Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup
	// Release ends the thing for good, a disk or an image as well as an instance. Nil means
	// accepted, not done. Releasing what is gone already is nil too. What cannot be ended
	// because something uses it is guard.ErrConflict; what has to be stopped first is stopped,
	// and answered with that and a wait (Truths.StopFirst). It is never repeated inside the call:
	// guard.ErrUncertain says that the outcome is not known.
	Release(ctx context.Context, id guard.ResourceID, opt ReleaseOptions) error
	// Truths are the adapter's declared facts.
	Truths() guard.Truths
}

// Query is what to list.
type Query struct {
	Kinds []guard.Kind
	// Scopes limits the listing; empty means every scope of the account.
	Scopes []string
}

// Inventory is the answer to a Query.
type Inventory struct {
	Results []ScopeResult
	// ServerTime is the provider's own clock (its Date header), where told.
	ServerTime time.Time
}

// ScopeResult is the listing of one kind in one scope. It is complete if and
// only if Err is nil: all pages were read and none told of missing parts. With
// an error Resources holds what was read before it, good for showing, never for
// absence.
type ScopeResult struct {
	Scope     string
	Kind      guard.Kind
	Resources []guard.Resource
	Err       error
}

// ReleaseOptions go with a release.
type ReleaseOptions struct {
	// Token is stable per release, for providers that take an idempotency token.
	Token string
	// Parent is what would start an instance again, a persistent spot request, as far as
	// guard knows: it is cancelled first, and where it cannot be, nothing is ended.
	Parent guard.ResourceID
	// Group would start another in its place: an adapter that can takes the member out
	// of it, so that none comes.
	Group string
}

// Stopper can stop an instance and keep its disks.
type Stopper interface {
	Stop(ctx context.Context, id guard.ResourceID) error
}

// Tagger can write tags; it changes only the keys given.
type Tagger interface {
	Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error
}

// Protector tells of protection that a listing hides, and can lift it.
type Protector interface {
	Protection(ctx context.Context, id guard.ResourceID) (Protection, error)
	Unprotect(ctx context.Context, id guard.ResourceID) error
}

// Protection is the provider's own lock on a resource.
type Protection struct {
	Release guard.Tri
	Stop    guard.Tri
}

// SignalSource tells how hard instances work: a cloud's own monitoring, a Prometheus
// server, a shell on the box.
type SignalSource interface {
	// Signals reads what there is of each instance since a time. The answer has exactly
	// one for each of q.Of, in order: samples in the order of their time, none where the
	// source has no data, which is not that nothing works there; or the error. As much as
	// possible is asked in one call.
	Signals(ctx context.Context, q SignalQuery) []Signals
}

// SignalQuery is what is to be read.
type SignalQuery struct {
	Of []SignalsOf
}

// SignalsOf is one instance and since when (exclusive, UTC) its samples are wanted; a
// source may know it by its ID, its name or its tags.
type SignalsOf struct {
	Resource guard.Resource
	Since    time.Time
}

// Signals is the answer about one instance. Samples that were read before Err count.
type Signals struct {
	Samples []guard.Sample
	Err     error
}

// TTLArmer can set the provider's own timer on an instance and read it back. guard
// trusts it never: it is a second net.
type TTLArmer interface {
	// Arm sets when the provider ends the instance by itself; a zero time takes the timer away.
	Arm(ctx context.Context, id guard.ResourceID, at time.Time) error
	// Armed reads it back; zero: there is none.
	Armed(ctx context.Context, id guard.ResourceID) (time.Time, error)
}

// Balancer tells what is left in an account that pays ahead.
type Balancer interface {
	// Balance reads it. An amount that is not told is guard.ErrBadReply, never nothing.
	Balance(ctx context.Context) (guard.Balance, error)
}

// Biller tells the provider's own charges.
type Biller interface {
	// Charges reads every charge whose time ends after since, complete or an error, in the
	// order of From. What is told may lag by hours, and the last ones may grow.
	Charges(ctx context.Context, since time.Time) ([]guard.Charge, error)
}

// Account is one configured credential, ready for use. Its optional capabilities
// are probed once, by NewAccount; nil means that the provider cannot.
type Account struct {
	Name     string
	Kind     string // the provider's name: "aws", "fake"
	Provider Provider
	Mode     guard.Mode
	Poll     time.Duration // instances
	Sweep    time.Duration // volumes, snapshots, images, addresses
	// PollAt and SweepAt, where set, give the next time instead (a cron spec);
	// Poll and Sweep then tell about how far apart they are.
	PollAt, SweepAt func(after time.Time) time.Time
	// MayRelease limits what guard may ever act on here (law 11).
	MayRelease MayRelease

	Stopper   Stopper
	Tagger    Tagger
	Protector Protector
	Prober    Prober
	Signals   SignalSource
	Timer     TTLArmer
	Balancer  Balancer
	Biller    Biller
}

// MayRelease is what an account's owner lets guard act on.
type MayRelease struct {
	GPU  bool              // GPU instances, and those registered with no_gpu_ok
	Tags map[string]string // and only with all of these tags
}

// NewAccount probes the capabilities of p.
func NewAccount(name, kind string, p Provider) *Account {
	a := &Account{Name: name, Kind: kind, Provider: p, Mode: guard.Observe,
		Poll: time.Minute, Sweep: 30 * time.Minute, MayRelease: MayRelease{GPU: true}}
	a.Stopper, _ = p.(Stopper)
	a.Tagger, _ = p.(Tagger)
	a.Protector, _ = p.(Protector)
	a.Prober, _ = p.(Prober)
	a.Signals, _ = p.(SignalSource)
	a.Timer, _ = p.(TTLArmer)
	a.Balancer, _ = p.(Balancer)
	a.Biller, _ = p.(Biller)
	return a
}
