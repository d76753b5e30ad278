package fake

import (
	"errors"
	"testing"
	"time"

	"guard"
)

// TestTimer: the cloud ends an instance by a timer that stands, and by no other.
func TestTimer(t *testing.T) {
	c := MustCloud(Script{Timer: TimerKept, Resources: []Resource{{ID: "i-1"}, {ID: "i-2"}, {ID: "i-3", Protected: []string{"release"}}, {ID: "v-1", Kind: guard.Volume}}})
	p := c.Provider().Timed()
	arm := func(id string, d time.Duration) {
		t.Helper()
		if err := p.Arm(t.Context(), c.ID(guard.Instance, id), c.At(d).Wall); err != nil {
			t.Fatal(err)
		}
	}
	arm("i-1", time.Hour)
	arm("i-1", 2*time.Hour) // the first one does not stand any more
	arm("i-2", time.Hour)
	if err := p.Arm(t.Context(), c.ID(guard.Instance, "i-2"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	arm("i-3", time.Hour)
	if got, err := p.Armed(t.Context(), c.ID(guard.Instance, "i-1")); err != nil || !got.Equal(c.At(2*time.Hour).Wall) {
		t.Errorf("read back as %v, %v", got, err)
	}
	c.Advance(c.At(90 * time.Minute).Wall)
	if c.Truth("i-1") != TruthRunning {
		t.Error("ended by a timer that was moved")
	}
	c.Advance(c.At(3 * time.Hour).Wall)
	if got := c.Gone("i-1"); !got.Equal(c.At(2 * time.Hour).Wall) {
		t.Errorf("gone at %v", got)
	}
	if l := p.Get(t.Context(), c.ID(guard.Instance, "i-1"))[0]; l.Verdict == guard.VerdictFound && l.Resource.Ended != guard.ByPlatform {
		t.Errorf("ended by %q", l.Resource.Ended)
	}
	if c.Truth("i-2") != TruthRunning || c.Truth("i-3") != TruthRunning {
		t.Error("a timer that was taken away, or of what is protected, has ended something")
	}
	if err := p.Arm(t.Context(), c.ID(guard.Instance, "i-2"), c.At(time.Hour).Wall); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a time that is past: %v", err)
	}
	if err := p.Arm(t.Context(), c.ID(guard.Volume, "v-1"), c.At(9*time.Hour).Wall); err == nil {
		t.Error("a timer was set on a disk")
	}
}

// TestTimerIgnored: accepted, stored nowhere, never goes off.
func TestTimerIgnored(t *testing.T) {
	c := MustCloud(Script{Timer: TimerIgnored, Resources: []Resource{{ID: "i-1"}}})
	p, id := c.Provider().Timed(), c.ID(guard.Instance, "i-1")
	if err := p.Arm(t.Context(), id, c.At(time.Hour).Wall); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Armed(t.Context(), id); err != nil || !got.IsZero() {
		t.Errorf("read back as %v, %v", got, err)
	}
	c.Advance(c.At(2 * time.Hour).Wall)
	if c.Truth("i-1") != TruthRunning || !c.Timer("i-1").IsZero() {
		t.Error("it went off")
	}
}

// TestTimerOffered: what a cloud has no timers for, an account does not offer.
func TestTimerOffered(t *testing.T) {
	for how, want := range map[string]bool{"": false, TimerKept: true, TimerIgnored: true} {
		if a := MustCloud(Script{Timer: how}).Account(); (a.Timer != nil) != want {
			t.Errorf("%q: %v", how, a.Timer)
		}
	}
	if _, err := NewCloud(Script{Timer: "sometimes"}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("an unknown word: %v", err)
	}
}
