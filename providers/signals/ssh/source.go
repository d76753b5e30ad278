package ssh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"guard"
	"guard/providers"
	"guard/providers/signals/machine"
)

const (
	// atOnce is how many machines are read at a time.
	atOnce = 16
	// forgotten is how old a reading may be for rates to be made of it.
	forgotten = 2 * time.Hour
)

// Source reads machines through their shells. Of what it read last it keeps the
// counters, in memory: rates need two readings, and the first ones after a start have
// none. The key and known_hosts are read for each session, so that what is added there
// counts at once.
type Source struct {
	cfg Config

	mu   sync.Mutex
	last map[string]reading // by ACCOUNT/ID
}

type reading struct {
	at       time.Time
	counters machine.Counters
}

// New makes the source and connects to nothing. A key or a known_hosts file that cannot
// be used is guard.ErrInvalid.
func New(cfg Config) (*Source, error) {
	_, keyErr := cfg.key()
	_, hostsErr := cfg.hosts()
	if err := errors.Join(keyErr, hostsErr); err != nil {
		return nil, err
	}
	return &Source{cfg: cfg, last: map[string]reading{}}, nil
}

// Signals implements providers.SignalSource: a sample of now of each instance that has a
// host. Where the program of the GPUs fails, the sample tells the rest.
func (s *Source) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	out := make([]providers.Signals, len(q.Of))
	now := providers.Clock(ctx)
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, of := range q.Of {
		host, ok := s.cfg.Hosts[of.Resource.ID.String()]
		if !ok {
			continue
		}
		all.Go(func() error {
			out[i] = s.read(ctx, of, host, now.UTC())
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return out
}

func (s *Source) read(ctx context.Context, of providers.SignalsOf, host string, now time.Time) (out providers.Signals) {
	id := of.Resource.ID.String()
	failed := func(err error) error { return fmt.Errorf("read %s through ssh: %w", id, err) }
	addr, err := address(host)
	if err != nil {
		return providers.Signals{Err: failed(fmt.Errorf("%w: %w", guard.ErrInvalid, err))}
	}
	text, err := s.cfg.run(ctx, addr)
	if err != nil {
		return providers.Signals{Err: failed(err)}
	}
	x, counters, err := read(text)
	nothing := len(x.GPUs) == 0 && !counters.Cores.OK && len(counters.NICs) == 0
	if nothing && err == nil {
		err = fmt.Errorf("%w: the output tells nothing; has the command been replaced?", guard.ErrBadReply)
	}
	if err != nil {
		out.Err = failed(err)
	}
	if nothing || !now.After(of.Since) {
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.At, x.Interval, x.Source = now, time.Minute, Kind
	var earlier *machine.Counters
	if last, ok := s.last[id]; ok && now.After(last.at) && now.Sub(last.at) < forgotten {
		earlier, x.Interval = &last.counters, now.Sub(last.at)
	}
	counters.Fill(&x, earlier, x.Interval)
	s.last[id] = reading{now, counters}
	out.Samples = []guard.Sample{x}
	return out
}
