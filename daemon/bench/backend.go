package bench

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"guard/store"
)

// gauge is the ledger's file, with what is written to it counted and the moment
// known at which an intent to release became durable.
type gauge struct {
	store.Backend
	counts *counts
}

// counts outlive the ledger that is opened again.
type counts struct {
	updates atomic.Int64 // that wrote something
	puts    atomic.Int64
	bytes   atomic.Int64 // of keys and values

	mu      sync.Mutex
	intents map[string]time.Time // by the target's key; nil: nobody waits for them
}

// intended marks a release whose intent is in the ledger, as the record is written.
var intended = []byte(`"state":"intended"`)

// Update implements store.Backend.
func (g gauge) Update(ctx context.Context, fn func(store.Writer) error) error {
	var puts, size int64
	var targets []string
	err := g.Backend.Update(ctx, func(w store.Writer) error {
		puts, size, targets = 0, 0, targets[:0] // it may run more than once
		return fn(gauged{w, func(table, key string, value []byte) {
			puts++
			size += int64(len(key) + len(value))
			if table == "releases" && bytes.Contains(value, intended) {
				targets = append(targets, key)
			}
		}})
	})
	durable := time.Now()
	if err != nil || puts == 0 {
		return err
	}
	c := g.counts
	c.updates.Add(1)
	c.puts.Add(puts)
	c.bytes.Add(size)
	if len(targets) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range targets {
		if _, known := c.intents[key]; !known && c.intents != nil {
			c.intents[key] = durable
		}
	}
	return nil
}

// await makes intents count from now on.
func (c *counts) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.intents = map[string]time.Time{}
}

// at is when an intent became durable.
func (c *counts) at(key string) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.intents[key]
	return t, ok
}

type gauged struct {
	store.Writer
	wrote func(table, key string, value []byte)
}

// Put implements store.Writer.
func (w gauged) Put(table, key string, value []byte) error {
	w.wrote(table, key, value)
	return w.Writer.Put(table, key, value)
}

// Delete implements store.Writer.
func (w gauged) Delete(table, key string) error {
	w.wrote(table, key, nil)
	return w.Writer.Delete(table, key)
}
