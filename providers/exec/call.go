package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"guard"
	"guard/providers"
)

const (
	// tries is how often a read is made at once, in all, where the program ended over it or
	// its provider failed.
	tries = 3
	// idleFor is how long a program that is asked nothing is kept. One whose account a reload
	// dropped ends so, too.
	idleFor = 10 * time.Minute
	// mostPause is the longest before a program that fails is started again.
	mostPause = 30 * time.Second
)

// pause keeps a program that fails from being started over and over: at once after the
// first failure, then after 1 s, 2 s, 4 s.
type pause struct {
	failures int
	why      string
	until    time.Duration // by the Elapsed of the calls' Instants
}

// read makes a call that changes nothing.
func (p *Provider) read(ctx context.Context, call string, args, out any) error {
	for try := 1; ; try++ {
		f := p.ask(ctx, call, args, out)
		if f == nil {
			return nil
		}
		if f.passing && try < tries && ctx.Err() == nil {
			continue
		}
		return p.error(f)
	}
}

// write makes a call that changes something, once. A reply that does not say that it was
// accepted leaves open whether it was.
func (p *Provider) write(ctx context.Context, call string, args any) error {
	var out struct {
		Accepted providers.Field `json:"accepted"`
	}
	f := p.ask(ctx, call, args, &out)
	if f == nil && out.Accepted.Tri() != guard.Yes {
		f = bad(false, "its result does not say that it was accepted")
		f.program, f.call = p.program, call
	}
	if f == nil {
		return nil
	}
	if f.open {
		f.kinds = append([]error{guard.ErrUncertain}, f.kinds...)
		f.what += "; whether it was done is not known"
	}
	return p.error(f)
}

func (p *Provider) error(f *failure) error {
	if f.after > 0 {
		return &guard.RetryError{Err: f, After: f.after}
	}
	return f
}

// ask makes a call, in its turn, and fills out from the result.
func (p *Provider) ask(ctx context.Context, call string, args, out any) *failure {
	f := p.take(ctx)
	if f == nil {
		defer p.leave()
		var result providers.Field
		if f = p.run(ctx); f == nil {
			result, f = p.exchange(ctx, call, args)
		}
		if f == nil && !result.Into(out) {
			f = bad(false, "its result has not the fields that this call has")
		}
	}
	if f != nil {
		f.program, f.call = p.program, call
	}
	return f
}

// hello sees that the program runs and has told what it can.
func (p *Provider) hello(ctx context.Context) (*spec, error) {
	f := p.take(ctx)
	if f == nil {
		defer p.leave()
		f = p.run(ctx)
	}
	if f == nil {
		return p.spec(), nil
	}
	f.program, f.call = p.program, callHello
	return nil, p.error(f)
}

// take waits for the turn to talk.
func (p *Provider) take(ctx context.Context) *failure {
	err := ctx.Err()
	if err == nil {
		select {
		case p.turn <- struct{}{}:
			if err = ctx.Err(); err == nil {
				return nil
			}
			<-p.turn
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return &failure{what: "cancelled before the call", kinds: []error{guard.ErrUnavailable, err}}
}

// leave gives the turn back. A program that has nothing to do for long is ended.
func (p *Provider) leave() {
	if p.rest != nil {
		p.rest.Stop()
	}
	if p.talk != nil {
		var rest *time.Timer
		rest = time.AfterFunc(p.idle, func() {
			p.turn <- struct{}{}
			if p.rest == rest && p.talk != nil {
				p.drop()
			}
			<-p.turn
		})
		p.rest = rest
	}
	<-p.turn
}

// drop ends the program.
func (p *Provider) drop() {
	p.talk.end()
	p.all.remove(p.talk)
	p.talk = nil
}

// run starts the program and says hello, where it does not run. The turn is taken.
func (p *Provider) run(ctx context.Context) *failure {
	if p.talk != nil {
		return nil
	}
	if f := p.waits(ctx); f != nil {
		return f
	}
	c, err := p.dial()
	if err != nil {
		return p.failed(ctx, &failure{what: err.Error(), kinds: []error{guard.ErrUnavailable}})
	}
	p.talk = newTalk(c)
	if !p.all.add(p.talk) {
		p.drop()
		return &failure{what: "guardd ends", kinds: []error{guard.ErrUnavailable}}
	}
	result, f := p.exchange(ctx, callHello, helloArgs{Versions: []int{Version}})
	var s *spec
	if f == nil {
		s, f = specOf(result)
	}
	if f != nil && p.talk != nil {
		p.drop()
		f = p.failed(ctx, f)
	}
	if f != nil {
		return f
	}
	p.mu.Lock()
	p.told = s
	p.mu.Unlock()
	return nil
}

// exchange makes a call to the program that runs. One that cannot be relied on any more is
// ended. The turn is taken.
func (p *Provider) exchange(ctx context.Context, call string, args any) (providers.Field, *failure) {
	result, f := p.talk.exchange(ctx, p.timeout, call, args)
	switch {
	case f == nil:
		if call != callHello { // which does no work yet
			p.failures = 0
		}
	case f.broken:
		p.drop()
		f = p.failed(ctx, f)
	}
	return result, f
}

// failed notes when the program may be started again.
func (p *Provider) failed(ctx context.Context, f *failure) *failure {
	if errors.Is(f, context.Canceled) {
		return f // nobody waited for it
	}
	p.failures++
	p.why, p.until = f.what, 0
	if at, ok := guard.InstantFrom(ctx); ok && p.failures > 1 {
		p.until = at.Elapsed + min(mostPause, time.Second<<min(p.failures-2, 10))
	}
	return f
}

// waits is the failure of a call for which the program is not started again yet.
func (p *Provider) waits(ctx context.Context) *failure {
	at, ok := guard.InstantFrom(ctx)
	if !ok || at.Elapsed >= p.until || p.until-at.Elapsed > mostPause {
		return nil
	}
	after := p.until - at.Elapsed
	return &failure{what: fmt.Sprintf("%s; it is started again in %s", p.why, after.Round(time.Second)), kinds: []error{guard.ErrUnavailable}, after: after}
}
