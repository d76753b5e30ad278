package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"guard"
	"guard/policy"
	"guard/store"
)

// Machine is what tells the machine that guard runs on from others. What cannot be
// read, or says nothing, is empty; the zero Machine is none in particular.
//
// Only what a second machine cannot have too counts, and only where it is sure:
//
//   - the provider's own ID of the instance, where the firmware has it;
//   - else the firmware's UUID of the machine (DMI), which is new in every clone of a
//     VM. Only root may read it;
//   - else /etc/machine-id and the network devices together. One of the two alone
//     proves nothing: a clone keeps the machine-id of its image, a system that is
//     installed anew gets another one, and a network card that is replaced has a new
//     address. Of several devices one that is still there is enough.
//
// In a container none of that counts: its addresses are random, its machine-id is its
// image's, and it moves between hosts by right.
type Machine struct {
	Instance string   `json:"instance,omitzero"`
	UUID     string   `json:"uuid,omitzero"`
	ID       string   `json:"id,omitzero"`
	MACs     []string `json:"macs,omitzero"` // of network devices with hardware behind them, sorted
}

// machineName is the ledger's value with the machine that it last ran on.
const machineName = "daemon/machine"

// Other reports whether a ledger that last ran on m is on another machine now. What
// is known of only one of the two tells nothing.
func (m Machine) Other(now Machine) bool {
	switch {
	case m.Instance != "" && now.Instance != "":
		return m.Instance != now.Instance
	case m.UUID != "" && now.UUID != "":
		return !sameUUID(m.UUID, now.UUID)
	case m.ID == "" || now.ID == "" || len(m.MACs) == 0 || len(now.MACs) == 0:
		return false
	}
	kept := slices.ContainsFunc(m.MACs, func(mac string) bool { return slices.Contains(now.MACs, mac) })
	return m.ID != now.ID && !kept
}

// seen is the machine with what is known now, and of the rest what was known before:
// a start without root must not make it forget the UUID.
func (m Machine) seen(now Machine) Machine {
	if now.Instance != "" {
		m.Instance = now.Instance
	}
	if now.UUID != "" {
		m.UUID = now.UUID
	}
	if now.ID != "" {
		m.ID = now.ID
	}
	if len(now.MACs) > 0 {
		m.MACs = now.MACs
	}
	return m
}

// sameUUID compares UUIDs of the firmware. Its first three fields are told in either
// order of bytes, by the version of SMBIOS that the kernel goes by.
func sameUUID(a, b string) bool {
	x, y := bytesOf(a), bytesOf(b)
	if len(x) != 16 || len(y) != 16 {
		return strings.EqualFold(a, b)
	}
	if slices.Equal(x, y) {
		return true
	}
	slices.Reverse(y[0:4])
	slices.Reverse(y[4:6])
	slices.Reverse(y[6:8])
	return slices.Equal(x, y)
}

func bytesOf(uuid string) []byte {
	b, _ := hex.DecodeString(strings.ReplaceAll(uuid, "-", "")) // what it is not is compared as text
	return b
}

// wake begins a term, and pauses guard where its ledger woke up on another machine
// than it last ran on: it may be a clone, and the first one still alive (law 11).
func (d *Daemon) wake(ctx context.Context, at guard.Instant) error {
	now := d.o.Machine
	d.term = d.newTerm(at)
	return d.o.Ledger.Update(ctx, func(tx *store.Tx) error {
		var was Machine
		if _, err := tx.Value(machineName, &was); err != nil {
			return err
		}
		var p guard.Pause
		if _, err := tx.Value(guard.PauseName, &p); err != nil {
			return err
		}
		if next := was.seen(now); !next.equal(was) {
			if err := tx.SetValue(machineName, next); err != nil {
				return err
			}
		}
		if !was.Other(now) || p.On() {
			return nil
		}
		return pause(tx, at.Wall, guard.PauseMoved, fmt.Sprintf("its ledger woke up on another machine (%s, before it was %s) at %s",
			now, was, policy.Stamp(at.Wall, d.o.Config.TimeZone)))
	})
}

// newTerm is a term that no other guard has. No two starts or resumes with one
// deployment are at the same nanosecond, and a story gives the same terms each time.
func (d *Daemon) newTerm(at guard.Instant) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %s", d.o.Ledger.Deployment(), at.Wall.UnixNano(), at.Elapsed, d.o.Machine))
	return hex.EncodeToString(sum[:8])
}

func (m Machine) equal(o Machine) bool {
	return m.Instance == o.Instance && m.UUID == o.UUID && m.ID == o.ID && slices.Equal(m.MACs, o.MACs)
}

// String is what people can find the machine by.
func (m Machine) String() string {
	switch {
	case m.Instance != "":
		return m.Instance
	case m.UUID != "":
		return "UUID " + m.UUID
	}
	return "machine-id " + m.ID
}
