package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"guard/daemon/simulate"
	"guard/providers/fake"
)

// TestShrink: what a failure does not need is left out, and what is left is a story.
func TestShrink(t *testing.T) {
	k := Usual()
	for f := range k.Chance {
		k.Chance[f] = 100
	}
	k.Accounts, k.Boxes = Range{3, 3}, Range{3, 4}
	w := DrawSeed(5, k)
	tried := 0
	fails := func(w Week) bool {
		tried++
		if _, err := simulate.Parse(w.YAML(), "week.yaml", nil); err != nil {
			t.Fatalf("a step is no story: %v\n%s", err, w.YAML())
		}
		crash := slices.ContainsFunc(w.Hits, func(h Hit) bool { return h.Crash })
		order := slices.ContainsFunc(w.Orders, func(o Order) bool { return strings.HasPrefix(o.ID, "pods/") && o.Verb == Register })
		return crash && order && slices.ContainsFunc(w.Accounts, func(a Account) bool {
			return a.Script.Account == "pods" && slices.ContainsFunc(a.Script.Faults, func(f fake.Fault) bool { return f.Call == fake.CallGet })
		})
	}
	if !fails(w) {
		t.Fatal("the week does not fail to begin with: choose another seed")
	}
	got := Shrink(t.Context(), w, fails, time.Hour)
	text := string(got.YAML())
	if len(got.Accounts) != 1 || len(got.Orders) != 1 || len(got.Hits) != 1 || len(got.Slack) != 0 || len(got.Accounts[0].Script.Faults) != 1 ||
		len(got.Accounts[0].Script.Resources)+len(got.Accounts[0].Script.Timeline) != 0 || got.Length > 2*time.Hour {
		t.Errorf("after %d tries it is still\n%s", tried, text)
	}
	if string(DrawSeed(5, k).YAML()) != string(w.YAML()) {
		t.Error("the week that was given has changed")
	}
	// No time: as it was.
	if got := Shrink(t.Context(), w, fails, 0); string(got.YAML()) != string(w.YAML()) {
		t.Error("without a budget it is changed")
	}
}

// TestNarrow: what is left of a week is about the violation's account.
func TestNarrow(t *testing.T) {
	k := Usual()
	k.Accounts = Range{3, 3}
	w := narrow(DrawSeed(1, k), Violation{ID: "farm/i-1", At: 2 * time.Hour})
	if len(w.Accounts) != 1 || w.Accounts[0].Script.Account != "farm" || w.Length != 6*time.Hour {
		t.Errorf("narrow:\n%s", w.YAML())
	}
	if _, err := simulate.Parse(w.YAML(), "week.yaml", nil); err != nil {
		t.Error(err)
	}
}
