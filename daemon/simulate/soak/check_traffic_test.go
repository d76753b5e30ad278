package soak

import (
	"testing"
	"time"

	"guard/providers/fake"
)

// Only what runs carries anything: what is stopped does not, nor what is in a state that
// is neither.
func TestOnlyWhatRunsCarriesTraffic(t *testing.T) {
	tells := fake.Event{ID: "i-1", Signals: &fake.Signals{Of: map[string]fake.Reading{"tx_bytes_s": fake.Every(10)}}}
	becomes := func(at time.Duration, state string) fake.Event { return fake.Event{At: at, ID: "i-1", State: state} }
	for _, c := range []struct {
		name, state string
		then        []fake.Event
		want        float64
	}{
		{"runs", "", nil, 36_000},
		{"says that it runs", "running", nil, 36_000},
		{"is stopped for half of it", "", []fake.Event{becomes(30*time.Minute, "stopped")}, 18_000},
		{"is started", "stopped", []fake.Event{becomes(15*time.Minute, "running")}, 27_000},
		{"hibernates", "hibernating", nil, 0},
		{"is being made, then runs", "provisioning", []fake.Event{becomes(15*time.Minute, "running")}, 27_000},
		{"hibernates, is stopped and started", "hibernating", []fake.Event{becomes(15*time.Minute, "stopped"), becomes(45*time.Minute, "running")}, 9_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &Account{Script: fake.Script{Timeline: append([]fake.Event{tells}, c.then...)}}
			b := &life{account: a, spec: fake.Resource{ID: "i-1", State: c.state}, gone: never}
			if sent, _ := new(judge).carried(b, 0, time.Hour); sent != c.want {
				t.Errorf("got %v bytes, want %v", sent, c.want)
			}
		})
	}
}
