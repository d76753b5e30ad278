package api

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/daemon/wire"
)

const (
	// mostAgents bounds the memory of agents; there are fewer tokens.
	mostAgents = 4096
	// mostStreams is how many runs of one agent are told apart: what waited on its disk
	// belongs to an earlier one.
	mostStreams = 8
)

// agents is what the API knows of the agents on the boxes. It is lost with the process
// and told anew within a minute.
type agents struct {
	mu sync.Mutex
	of map[string]*agentSeen // by resource key
}

// agentSeen is one agent.
type agentSeen struct {
	status  wire.AgentStatus
	sampled time.Time // when it last sent something; zero: never
	streams []stream  // the newest last
	beat    guard.Instant
}

// stream is how far one run of an agent has come.
type stream struct {
	id  string
	seq uint64
}

// at is the agent of a resource. The caller holds the lock.
func (a *agents) at(key string) *agentSeen {
	seen, ok := a.of[key]
	if ok {
		return seen
	}
	if a.of == nil {
		a.of = map[string]*agentSeen{}
	}
	for len(a.of) >= mostAgents {
		oldest := ""
		for k, s := range a.of {
			if oldest == "" || s.sampled.Before(a.of[oldest].sampled) {
				oldest = k
			}
		}
		delete(a.of, oldest)
	}
	seen = &agentSeen{}
	a.of[key] = seen
	return seen
}

// fresh leaves out the samples that have come before.
func (a *agents) fresh(key string, in []wire.AgentSample) ([]wire.AgentSample, tally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var t tally
	var out []wire.AgentSample
	last := map[string]uint64{}
	for _, s := range a.at(key).streams {
		last[s.id] = s.seq
	}
	for _, x := range in {
		if x.Seq <= last[x.Stream] {
			t.twice++
			continue
		}
		last[x.Stream] = x.Seq
		out = append(out, x)
	}
	return out, t
}

// took records what an agent sent, once that is taken in.
func (a *agents) took(key string, now time.Time, in wire.AgentRequest, report wire.AgentStatus, skew float64, t tally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := a.at(key)
	old := seen.status
	report.Seen, report.Skew = now, skew
	report.Twice, report.Future, report.Unusable = old.Twice+t.twice, old.Future+t.future, old.Unusable+t.unusable
	report.Why = cmp.Or(t.why, old.Why)
	seen.status, seen.sampled = report, now
	for _, x := range in.Samples {
		i := slices.IndexFunc(seen.streams, func(s stream) bool { return s.id == x.Stream })
		if i < 0 {
			seen.streams = append(seen.streams, stream{x.Stream, x.Seq})
			continue
		}
		seen.streams[i].seq = max(seen.streams[i].seq, x.Seq)
	}
	seen.streams = seen.streams[max(0, len(seen.streams)-mostStreams):]
}

// beat records that a job runs there, for people to see.
func (a *agents) beat(key string, at guard.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at(key).beat = at
}

// agent is what is known of the agent of a resource, as people read it; nil where none
// was heard of since guardd started.
func (s *server) agent(id guard.ResourceID) *wire.AgentStatus {
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	seen, ok := s.agents.of[id.Key()]
	if !ok {
		return nil
	}
	out := seen.status
	out.Heartbeat = s.local(seen.beat.Wall)
	if !out.Seen.IsZero() {
		out.Seen = out.Seen.In(s.Location())
	}
	if out.Fuse != nil {
		f := *out.Fuse
		f.At = s.inZone(f.At)
		out.Fuse = &f
	}
	return &out
}
