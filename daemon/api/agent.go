package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
)

const (
	// trueClock is how far an agent's clock may be off before its samples' times are put
	// right, and how far ahead a sample may lie.
	trueClock = time.Minute
	// mostInterval bounds what one sample may stand for.
	mostInterval = 10 * time.Minute
	// mostDevices bounds the GPUs, the NICs, and the processes of one sample.
	mostDevices, mostProcesses = 256, 10_000
	// agentSource is the source of samples that come this way, whatever they say.
	agentSource = "agent"
)

// samples takes in what an agent has read on its box, and tells it what comes.
func (s *server) samples(ctx context.Context, at guard.Instant, in wire.AgentRequest) (wire.AgentAnswer, error) {
	out := wire.AgentAnswer{Now: s.now(at)}
	if err := own(ctx, in.ID); err != nil {
		return out, err
	}
	if len(in.Samples) > wire.MostSamples {
		return out, faultf(guard.ErrInvalid, "%d samples in one body are too many: at most %d", len(in.Samples), wire.MostSamples)
	}
	report, err := reportOf(in)
	if err != nil {
		return out, err
	}
	box, err := s.box(ctx, at, in.ID)
	if err != nil {
		return out, err
	}
	id := box.Observed.Resource.ID
	skew := at.Wall.Sub(in.SentAt)
	if skew.Abs() <= trueClock {
		skew = 0
	}
	out.Skew = skew.Seconds()
	fresh, counts := s.agents.fresh(id.Key(), in.Samples)
	batch := s.usable(fresh, skew, at, &counts)
	if err := s.push(ctx, at, id, batch, &counts); err != nil {
		return out, err
	}
	s.agents.took(id.Key(), at.Wall, in, report, out.Skew, counts)
	out.Taken, out.Twice, out.Future, out.Unusable, out.Why = counts.taken, counts.twice, counts.future, counts.unusable, counts.why
	out.Orders = s.ordersFor(box, at)
	return out, nil
}

// own refuses a token that is not for this one resource: what runs on a box holds no key
// to anything else.
func own(ctx context.Context, id string) error {
	switch c := callerOf(ctx); {
	case c.Scope == "":
		return faultf(guard.ErrPermission, "an agent wants a token that is for its own instance only, and %s has none", c.Name).
			hinted("An admin makes one: guard token create NAME --role viewer --scope %s", clip(id))
	case c.Scope != id:
		return within(c, id, "send samples of")
	}
	return nil
}

// reportOf is what an agent says of itself, cut to what people can read.
func reportOf(in wire.AgentRequest) (wire.AgentStatus, error) {
	var r wire.AgentStatus
	var err error
	if r.Version, err = line("version", in.Version, 60); err != nil {
		return r, err
	}
	if r.Trouble, err = line("trouble", in.Trouble, 300); err != nil {
		return r, err
	}
	r.Waiting, r.Lost = in.Waiting, in.Lost
	if in.Fuse == nil {
		return r, nil
	}
	f := *in.Fuse
	for _, text := range []struct {
		name  string
		value *string
	}{{"fuse.state", &f.State}, {"fuse.after", &f.After}, {"fuse.does", &f.Does}, {"fuse.why", &f.Why}} {
		if *text.value, err = line(text.name, *text.value, 300); err != nil {
			return r, err
		}
	}
	r.Fuse = &f
	return r, nil
}

// tally counts what became of the samples of one body.
type tally struct {
	taken, twice, future, unusable int
	why                            string // of the first that is not usable
}

func (t *tally) drop(why string) {
	t.unusable++
	t.why = cmp.Or(t.why, clip(why))
}

// usable reads the samples, with their times put right.
func (s *server) usable(in []wire.AgentSample, skew time.Duration, at guard.Instant, t *tally) []guard.Sample {
	var out []guard.Sample
	for _, raw := range in {
		var x guard.Sample
		if err := json.Unmarshal(raw.Sample, &x); err != nil {
			t.drop(unread(err))
			continue
		}
		x.Source, x.At = agentSource, x.At.Add(skew).UTC()
		switch why := odd(x); {
		case why != "":
			t.drop(why)
		case x.At.After(at.Wall.Add(trueClock)):
			t.future++
		default:
			out = append(out, x)
		}
	}
	return out
}

// unread is why a sample cannot be read: which field has which value.
func unread(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("a sample cannot be read: %s is %s", cmp.Or(e.Field, "it"), e.Value)
	}
	return "a sample cannot be read: " + bare(err, guard.ErrInvalid)
}

// odd is why a sample cannot be one of an agent.
func odd(x guard.Sample) string {
	switch {
	case x.At.IsZero():
		return "a sample has no time"
	case x.Interval <= 0 || x.Interval > mostInterval:
		return fmt.Sprintf("a sample stands for %s", x.Interval)
	case x.Basis != guard.Summary && x.Basis != guard.Instantaneous && x.Basis != guard.Average:
		return fmt.Sprintf("a sample's basis is %q", clip(string(x.Basis)))
	case len(x.GPUs) > mostDevices || len(x.NICs) > mostDevices || len(x.GPUProcesses) > mostProcesses:
		return "a sample has more devices than any machine"
	case len(x.Boot) > 64:
		return "a sample's boot ID is too long"
	}
	for _, n := range x.NICs {
		if len(n.Name) > 64 {
			return "the name of a network interface is too long"
		}
	}
	return ""
}

// push hands the samples on. Where one of them is not believed the rest still count.
func (s *server) push(ctx context.Context, at guard.Instant, id guard.ResourceID, batch []guard.Sample, t *tally) error {
	if s.Signals.Push == nil {
		for range batch {
			t.drop("this guardd keeps no samples")
		}
		return nil
	}
	if len(batch) == 0 {
		return nil
	}
	err := s.Signals.Push(ctx, at, id, batch)
	if err == nil {
		t.taken += len(batch)
		return nil
	}
	if !errors.Is(err, guard.ErrInvalid) {
		return err
	}
	for i := range batch {
		switch err := s.Signals.Push(ctx, at, id, batch[i:i+1]); {
		case err == nil:
			t.taken++
		case errors.Is(err, guard.ErrInvalid):
			t.drop(strings.TrimPrefix(err.Error(), guard.ErrInvalid.Error()+": "))
		default:
			return err
		}
	}
	return nil
}

// heartbeat says that a job runs on a box. Whoever may change what is registered there
// may say so, and what runs there itself.
func (s *server) heartbeat(ctx context.Context, at guard.Instant, in wire.HeartbeatRequest) (wire.HeartbeatAnswer, error) {
	out := wire.HeartbeatAnswer{Now: s.now(at)}
	box, err := s.box(ctx, at, in.ID)
	if err != nil {
		return out, err
	}
	id := box.Observed.Resource.ID
	if callerOf(ctx).Scope == "" {
		if err := allowed(ctx, box.Lease, id, "say that a job runs on"); err != nil {
			return out, err
		}
	}
	out.Orders = s.ordersFor(box, at)
	return out, s.beat(ctx, at, id)
}

// beat notes that a job works on a box: whoever samples it, what it tells next carries it.
func (s *server) beat(ctx context.Context, at guard.Instant, id guard.ResourceID) error {
	s.agents.beat(id.Key(), at)
	if s.Signals.Push == nil {
		return nil
	}
	return s.Signals.Push(ctx, at, id, []guard.Sample{{At: at.Wall, Interval: time.Second, Basis: guard.Instantaneous, Source: guard.Heartbeat, HeartbeatAge: guard.Known(0)}})
}
