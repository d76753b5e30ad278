// Package samples keeps the samples of instances, and what was folded of them, apart
// from the ledger and losable: whatever is wrong with its file is told and costs
// history, never an error.
package samples

import (
	"sync"
	"time"

	"guard"
)

// Entry is what is new of one instance.
type Entry struct {
	Key     string         // of the instance (guard.ResourceID.Key)
	Samples []guard.Sample // in the order of their time
	// State is what was folded of all of them so far, opaque; nil: as before.
	State []byte
}

// Store keeps samples. Its methods may be called from several goroutines.
type Store struct {
	mu     sync.Mutex
	series map[string]*series
}

// series is what is kept of one instance.
type series struct {
	state []byte
	tail  []guard.Sample
}

// Memory is a store without a file.
func Memory() *Store { return &Store{series: map[string]*series{}} }

// Append takes in what is new, all of it at once. A sample that is not newer than the
// last one of its instance is there already.
func (s *Store) Append(entries ...Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		sr := s.series[e.Key]
		if sr == nil {
			sr = &series{}
			s.series[e.Key] = sr
		}
		if e.State != nil {
			sr.state = e.State
		}
		for _, x := range e.Samples {
			if n := len(sr.tail); n == 0 || x.At.After(sr.tail[n-1].At) {
				sr.tail = append(sr.tail, x)
			}
		}
	}
}

// Since are the samples of an instance after a time, oldest first.
func (s *Store) Since(key string, since time.Time) []guard.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []guard.Sample
	if sr := s.series[key]; sr != nil {
		for _, x := range sr.tail {
			if x.At.After(since) {
				out = append(out, x)
			}
		}
	}
	return out
}

// States are what was folded, by instance.
func (s *Store) States() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string][]byte, len(s.series))
	for key, sr := range s.series {
		if sr.state != nil {
			out[key] = sr.state
		}
	}
	return out
}

// Forget drops all that is kept of instances.
func (s *Store) Forget(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.series, key)
	}
}

// Retain drops the samples from before a time.
func (s *Store) Retain(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sr := range s.series {
		n := 0
		for n < len(sr.tail) && sr.tail[n].At.Before(since) {
			n++
		}
		sr.tail = sr.tail[n:]
	}
}
