package decide_test

import (
	"testing"
	"time"

	"guard"
	"guard/store"
)

// listed is what is known of the lists of an account's disks and snapshots.
func (w *world) listed(disks guard.ScopeStatus) {
	w.t.Helper()
	disks.Account, disks.Kind = "lab", guard.Volume
	w.update(func(tx *store.Tx) error {
		return put(tx.Scopes.Put(disks), tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Snapshot, Complete: w.at.Wall}))
	})
}

// TestLeftoverWaitsForAList: a snapshot of a disk that guard has not seen is found to be
// left behind as soon as the disks were listed. While that list fails nobody knows
// whether the disk is back, so that what is open is not over, unless a person ends it.
func TestLeftoverWaitsForAList(t *testing.T) {
	w := newWorld(t, guard.Enforce)
	snapshot := guard.Observed{Identity: "acct", FirstSeen: zero, Seen: zero, Resource: guard.Resource{State: guard.StateRunning, Created: zero.Add(-40 * 24 * time.Hour), Bills: guard.Yes,
		ID: guard.ResourceID{Account: "lab", Kind: guard.Snapshot, ID: "s-1"}, Source: "v-9"}}
	w.update(func(tx *store.Tx) error { return tx.Observed.Put(snapshot) })
	look := func(when string, want bool) guard.Finding {
		t.Helper()
		w.at = w.at.Add(time.Second)
		w.once()
		f, open := w.finding(guard.RuleOrphanSnapshot, "lab/s-1")
		if open != want {
			t.Errorf("%s: open is %v", when, open)
		}
		return f
	}
	w.listed(guard.ScopeStatus{Failing: zero, Error: "503"})
	look("before the disks are listed", false)
	w.listed(guard.ScopeStatus{Complete: w.at.Wall})
	first := look("once they are", true)
	w.listed(guard.ScopeStatus{Complete: w.at.Wall, Failing: w.at.Wall, Error: "503"})
	w.loop.Forget()
	if again := look("while they are not", true); !again.Opened.Equal(first.Opened) {
		t.Errorf("opened at %s, and again at %s", first.Opened, again.Opened)
	}
	snapshot.Resource.Tags = map[string]string{"guard:keep": "true"}
	w.update(func(tx *store.Tx) error { return tx.Observed.Put(snapshot) })
	look("once it is to be kept", false)
}
