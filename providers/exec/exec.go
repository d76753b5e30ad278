// Package exec is the adapter of clouds that guard has no other for: any program that
// speaks JSON lines over its standard input and output. What is spoken is written down in
// configs/plugin.md, for whoever writes such a program; this is version 1 of it.
//
// The program is started with the first call, kept, and asked one thing at a time. It is
// ended, with its whole process group, where it does not answer in time, answers anything
// but what was asked, or has had nothing to do for a while; the next call starts it again,
// after a pause that grows with each failure. Nothing that it says is shown to anybody but
// what the protocol has a field for.
package exec

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/providers"
)

// Kind is the provider's name in a configuration.
const Kind = "exec"

// Version is that of the protocol.
const Version = 1

// Options is what New needs.
type Options struct {
	Name   string // the account's name
	Config Config
	// Programs end with it; nil for none.
	Programs *Programs

	dial func() (conn, error) // what the tests have instead of a program
}

// Provider is one account behind a program. What it remembers may all be lost: it is told
// again by the next hello.
type Provider struct {
	name    string
	program string // what people know it by: the file's name
	timeout time.Duration
	idle    time.Duration
	dial    func() (conn, error)
	all     *Programs

	// turn is held by whoever talks with the program, and guards what follows.
	turn chan struct{}
	talk *talk // nil where none runs
	rest *time.Timer
	pause

	mu   sync.Mutex
	told *spec // what the last hello told; nil before the first
}

var (
	_ providers.Provider = (*Provider)(nil)
	_ providers.Stopper  = (*Provider)(nil)
	_ providers.Tagger   = (*Provider)(nil)
	_ providers.Balancer = (*Provider)(nil)
	_ providers.Biller   = (*Provider)(nil)
	_ providers.Prober   = (*Provider)(nil)
)

// New makes the adapter. It starts nothing. Without a name or a command it is
// guard.ErrInvalid.
func New(o Options) (*Provider, error) {
	if o.Name == "" || len(o.Config.Command) == 0 {
		return nil, fmt.Errorf("%w: an exec account needs a name and a command", guard.ErrInvalid)
	}
	p := &Provider{
		name: o.Name, program: providers.Text(filepath.Base(o.Config.Command[0]), maxWord), timeout: o.Config.Timeout, idle: idleFor,
		dial: o.dial, all: o.Programs, turn: make(chan struct{}, 1),
	}
	if p.timeout <= 0 {
		p.timeout = defaultTimeout
	}
	if p.dial == nil {
		command, env := o.Config.Command, o.Config.environment()
		p.dial = func() (conn, error) { return start(command, env) }
	}
	return p, nil
}

// String names the account and nothing else.
func (p *Provider) String() string { return Kind + " account " + p.name }

// GoString is String.
func (p *Provider) GoString() string { return p.String() }

// Truths are what the program declares. Before it has, nothing is taken for granted.
func (p *Provider) Truths() guard.Truths {
	if s := p.spec(); s != nil {
		return s.truths
	}
	return cautious()
}

func (p *Provider) spec() *spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// can sees that the program has a call; it is started where nothing is known of it yet.
func (p *Provider) can(ctx context.Context, call string) (*spec, error) {
	s := p.spec()
	if s == nil {
		var err error
		if s, err = p.hello(ctx); err != nil {
			return nil, err
		}
	}
	if !s.calls[call] {
		return s, fmt.Errorf("%w: %s has no call %q", guard.ErrUnsupported, p.program, call)
	}
	return s, nil
}

// Identity is whose credentials the program has, by its own word.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	var in struct {
		ID     providers.Field `json:"id"`
		Strong providers.Field `json:"strong"`
		Self   providers.Field `json:"self"`
	}
	if err := p.read(ctx, callIdentity, struct{}{}, &in); err != nil {
		return guard.Identity{}, err // which says what was asked, and of whom
	}
	id, ok := in.ID.ID(maxID)
	if !ok || strings.TrimSpace(id) == "" {
		f := bad(false, "its answer names nobody")
		f.program, f.call = p.program, callIdentity
		return guard.Identity{}, f
	}
	self, _ := in.Self.ID(maxID)
	return guard.Identity{ID: id, Strong: in.Strong.Tri() == guard.Yes, Self: self}, nil
}

// Probe implements providers.Prober: it asks whose account the program has, and what it can
// do. Nothing is tried that changes anything.
func (p *Provider) Probe(ctx context.Context, _ ...guard.ResourceID) []providers.Check {
	_, err := p.Identity(ctx)
	release := providers.Check{Name: callRelease, Outcome: providers.CheckUntried, Acts: true, Text: "a program is not asked what it would be allowed"}
	if s := p.spec(); s != nil && !s.calls[callRelease] {
		release.Outcome, release.Text = providers.CheckRefused, p.program+" has no call to release anything"
		release.Do = "watch this account only (mode: observe), or teach the program to"
	}
	return []providers.Check{providers.CheckOf(callIdentity, err), release}
}

// says puts what was asked of the account before an error.
func (p *Provider) says(verb string, err error) error {
	return fmt.Errorf("%s %s: %w", verb, p.name, err)
}
