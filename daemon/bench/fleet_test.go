package bench

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"guard"
)

// TestFleet: a fleet is its seed's, and as large as it was asked to be.
func TestFleet(t *testing.T) {
	f := Fleet{Instances: 103, Volumes: 401, Snapshots: 50, Accounts: 4, Seed: 1}
	count := map[guard.Kind]int{}
	leased := 0
	for i := range f.Accounts {
		script, leases := f.account(i)
		again, _ := f.account(i)
		if !reflect.DeepEqual(script.Resources, again.Resources) {
			t.Errorf("account %d differs from itself", i)
		}
		other, _ := Fleet{Instances: 103, Volumes: 401, Snapshots: 50, Accounts: 4, Seed: 2}.account(i)
		if reflect.DeepEqual(script.Resources, other.Resources) {
			t.Errorf("account %d of another seed is the same", i)
		}
		for _, r := range script.Resources {
			kind := r.Kind
			if kind == "" {
				kind = guard.Instance
			}
			count[kind]++
		}
		leased += len(leases)
	}
	want := map[guard.Kind]int{guard.Instance: 103, guard.Volume: 401, guard.Snapshot: 50}
	if !reflect.DeepEqual(count, want) {
		t.Errorf("the fleet has %v, want %v", count, want)
	}
	if leased != 101 {
		t.Errorf("%d of 103 are leased, want all but one in fifty", leased)
	}
}

// TestSocketIn: where a folder lies too deep for a socket, the cloud's is elsewhere, and not
// left there.
func TestSocketIn(t *testing.T) {
	path, remove, err := socketIn("/run/bench")
	if err != nil || path != "/run/bench/cloud.sock" || remove() != nil {
		t.Errorf("%s, %v", path, err)
	}
	path, remove, err = socketIn("/run/" + strings.Repeat("d", 100))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), remove()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", path, err)
	}
}
