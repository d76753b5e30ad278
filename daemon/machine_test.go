package daemon_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"guard/daemon"
	"guard/daemon/wire"
)

const (
	uuidA = "4c4c4544-0051-3010-8052-b4c04f4a4e32"
	uuidB = "11111111-2222-3333-4444-555555555555"
	idA   = "0123456789abcdef0123456789abcdef"
	idB   = "fedcba9876543210fedcba9876543210"
	macA  = "52:54:00:12:34:56"
	macB  = "52:54:00:65:43:21"
)

// What makes another machine, and what does not.
func TestAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, now daemon.Machine
		other    bool
	}{
		"a first start":                    {daemon.Machine{}, daemon.Machine{UUID: uuidA, ID: idA, MACs: []string{macA}}, false},
		"the same":                         {daemon.Machine{UUID: uuidA, ID: idA}, daemon.Machine{UUID: uuidA, ID: idA}, false},
		"a clone of a VM":                  {daemon.Machine{UUID: uuidA, ID: idA, MACs: []string{macA}}, daemon.Machine{UUID: uuidB, ID: idA, MACs: []string{macB}}, true},
		"a clone of an EC2 instance":       {daemon.Machine{Instance: "i-0123456789abcdef0", ID: idA}, daemon.Machine{Instance: "i-0fedcba9876543210", ID: idA}, true},
		"a system installed anew":          {daemon.Machine{UUID: uuidA, ID: idA}, daemon.Machine{UUID: uuidA, ID: idB}, false},
		"its UUID in the other byte order": {daemon.Machine{UUID: uuidA}, daemon.Machine{UUID: "44454c4c-5100-1030-8052-b4c04f4a4e32"}, false},
		"no UUID, all else other":          {daemon.Machine{ID: idA, MACs: []string{macA}}, daemon.Machine{ID: idB, MACs: []string{macB}}, true},
		"a network card replaced":          {daemon.Machine{ID: idA, MACs: []string{macA}}, daemon.Machine{ID: idA, MACs: []string{macB}}, false},
		"one of two cards replaced":        {daemon.Machine{ID: idA, MACs: []string{macA, macB}}, daemon.Machine{ID: idB, MACs: []string{macB}}, false},
		"installed anew, not root":         {daemon.Machine{ID: idA, MACs: []string{macA}}, daemon.Machine{ID: idB, MACs: []string{macA}}, false},
		"UUID no longer readable":          {daemon.Machine{UUID: uuidA, ID: idA, MACs: []string{macA}}, daemon.Machine{ID: idA, MACs: []string{macA}}, false},
		"a container now":                  {daemon.Machine{UUID: uuidA, ID: idA, MACs: []string{macA}}, daemon.Machine{}, false},
	} {
		if got := c.was.Other(c.now); got != c.other {
			t.Errorf("%s: other machine: %v", name, got)
		}
	}
}

func TestReadMachine(t *testing.T) {
	t.Parallel()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	root := fstest.MapFS{
		"sys/class/dmi/id/board_asset_tag":       file("i-0123456789abcdef0"),
		"sys/class/dmi/id/product_uuid":          file(strings.ToUpper(uuidA)),
		"etc/machine-id":                         file(idA),
		"sys/class/net/eth0/address":             file(macA),
		"sys/class/net/eth0/addr_assign_type":    file("0"),
		"sys/class/net/eth0/device/vendor":       file("0x1af4"),
		"sys/class/net/lo/address":               file("00:00:00:00:00:00"),
		"sys/class/net/lo/addr_assign_type":      file("0"),
		"sys/class/net/docker0/address":          file("02:42:00:00:00:01"),
		"sys/class/net/docker0/addr_assign_type": file("3"),
		"sys/class/net/random0/address":          file(macB),
		"sys/class/net/random0/addr_assign_type": file("1"),
		"sys/class/net/random0/device/vendor":    file("0x1af4"),
	}
	none := func(string) string { return "" }
	got := daemon.ReadMachine(root, none)
	if got.Instance != "i-0123456789abcdef0" || got.UUID != uuidA || got.ID != idA || len(got.MACs) != 1 || got.MACs[0] != macA {
		t.Errorf("%+v", got)
	}
	for _, silly := range []string{"00000000-0000-0000-0000-000000000000", "03000200-0400-0500-0006-000700080009", "Not Settable"} {
		root["sys/class/dmi/id/product_uuid"] = file(silly)
		if got := daemon.ReadMachine(root, none); got.UUID != "" {
			t.Errorf("%s tells something", got.UUID)
		}
	}
	if got := daemon.ReadMachine(root, func(name string) string { return map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}[name] }); got.String() != (daemon.Machine{}).String() {
		t.Errorf("in a pod: %+v", got)
	}
	root[".dockerenv"] = file("")
	if got := daemon.ReadMachine(root, none); len(got.MACs) > 0 || got.ID != "" {
		t.Errorf("in a container: %+v", got)
	}
}

// OWN-04, a cloned VM: the ledger wakes up elsewhere, waits, and tells once; told that
// it has moved, it goes on.
func TestClonedGuardWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, enforce, boxes(1))
	w.machine = daemon.Machine{UUID: uuidA}
	w.boot()
	w.until(time.Minute)
	w.registerAll(1, "2h")
	w.machine = daemon.Machine{UUID: uuidB}
	w.boot()
	w.until(3 * time.Hour)
	w.boot()
	w.until(4 * time.Hour)
	w.untouched("lab")
	if n := len(w.posts("another machine")); n != 1 {
		t.Errorf("told %d times: %q", n, w.posts(""))
	}
	if _, err := w.client.Resume(t.Context(), wire.AcceptRequest{Accept: 1}); err != nil {
		t.Fatal(err)
	}
	w.boot()
	w.until(6 * time.Hour)
	if it := w.item("lab/i-00"); it.State != "released" {
		t.Errorf("i-00 is %s", it.State)
	}
}
