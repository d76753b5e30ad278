package soak

import (
	"testing"
	"time"

	"guard/providers/fake"
)

// What does not run needs no stop, and only what is stopped stands still.
func TestWhatIsStopped(t *testing.T) {
	becomes := func(at time.Duration, state string) fake.Event { return fake.Event{At: at, ID: "i-1", State: state} }
	const at = 3 * time.Hour
	for _, c := range []struct {
		name, state string
		then        []fake.Event
		since       time.Duration
		rests       bool
	}{
		{"runs", "", nil, 0, false},
		{"says that it runs", "running", nil, 0, false},
		{"is stopped", "stopped", nil, 0, true},
		{"is stopped later", "", []fake.Event{becomes(time.Hour, "stopped")}, time.Hour, true},
		{"is started", "stopped", []fake.Event{becomes(time.Hour, "running")}, 0, false},
		{"hibernates", "hibernating", nil, never, true},
		{"is being made, then runs", "provisioning", []fake.Event{becomes(time.Hour, "running")}, 0, false},
		{"hibernates, then is stopped", "hibernating", []fake.Event{becomes(time.Hour, "stopped")}, time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &Account{Script: fake.Script{Timeline: c.then}}
			b := &life{account: a, spec: fake.Resource{ID: "i-1", State: c.state}, gone: never}
			if since, rests := new(judge).still(b, at); since != c.since || rests != c.rests {
				t.Errorf("got %v since %s, want %v since %s", rests, since, c.rests, c.since)
			}
		})
	}
}
