package release_test

import (
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
	"guard/store"
)

// bilingual keeps what is told in the other language, by stage, beside what is queued.
type bilingual struct {
	judge
	told map[string]guard.Message
}

func (b bilingual) Tell(tx *store.Tx, at guard.Instant, r guard.Release, stage string, in func(guard.Lang) guard.Message) error {
	b.told[stage] = in(guard.Chinese)
	return b.judge.Tell(tx, at, r, stage, in)
}

// TestEachInTheirLanguage: what a release says is said in the language that is asked for, and
// so is the title of its finding; what is kept is English.
func TestEachInTheirLanguage(t *testing.T) {
	s := one()
	s.Faults = []fake.Fault{{Call: fake.CallRelease, Reply: fake.Reply{Status: 403, Body: `{"error":"lab:Terminate is not allowed"}`}}}
	w := newWorld(t, s)
	w.config.Audience = []guard.Audience{{Channel: "slack"}, {Channel: "feishu", Lang: guard.Chinese}}
	b := bilingual{stands, map[string]guard.Message{}}
	w.config.Judge = b
	w.restart()
	w.know(guard.CauseExpiry, "i-1")
	w.must(due + time.Minute)
	other, ok := b.told["blocked permission "+zero.Add(due).Format(time.RFC3339)]
	if !ok || !chinese(other.Title) {
		t.Errorf("told: %+v", b.told)
	}
	if err := w.ledger.View(t.Context(), func(v *store.View) error {
		f, ok, err := v.Findings.Get(guard.Finding{Rule: guard.RuleReleaseBlocked, Resource: id("i-1")}.Key())
		if !ok || chinese(f.Title) || f.TitleIn(guard.Chinese) != other.Title {
			t.Errorf("kept: %t %q %q", ok, f.Title, f.TitleIn(guard.Chinese))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, title := range w.titles() {
		if chinese(title) {
			t.Errorf("in English: %s", title)
		}
	}
}

func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
}
