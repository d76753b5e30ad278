package soak

import (
	"testing"
	"time"

	"guard"
	"guard/daemon/simulate"
)

// TestQuietAndDroppedAreSeen: a checker that is told of each, and of neither where all is well.
func TestQuietAndDroppedAreSeen(t *testing.T) {
	start := time.Date(2026, 3, 6, 20, 0, 0, 0, time.UTC)
	id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}
	found := guard.Finding{ID: "f", Rule: guard.RuleUnregistered, Resource: id, Subject: id.String(), Opened: start, Said: []string{"found"}}
	message := guard.Message{ID: "slack|f|found", Channel: "slack", Rule: found.Rule, Finding: "f", About: []guard.ResourceID{id}, CreatedAt: start, Attempts: 1, Waits: true}
	for name, tt := range map[string]struct {
		at     time.Duration // when it is posted
		change func(m *guard.Message, f *guard.Finding)
		want   string
	}{
		"before":         {at: time.Hour},
		"in quiet hours": {at: 5 * time.Hour, want: "quiet hours"},
		"it cannot wait": {at: 5 * time.Hour, change: func(m *guard.Message, _ *guard.Finding) { m.Urgent = true }},
		"a second try":   {at: 5 * time.Hour, change: func(m *guard.Message, _ *guard.Finding) { m.Attempts = 2 }},
		"in the morning": {at: 12 * time.Hour},
		"with others":    {at: time.Hour, change: func(m *guard.Message, _ *guard.Finding) { m.Finding = "" }},
		"of another":     {at: time.Hour, change: func(m *guard.Message, _ *guard.Finding) { m.Finding, m.About = "", nil }, want: "message lost"},
		"in the log":     {at: time.Hour, change: func(m *guard.Message, _ *guard.Finding) { m.Channel = "log" }, want: "message lost"},
		"snoozed":        {at: time.Hour, change: func(m *guard.Message, f *guard.Finding) { m.Finding, m.About, f.Said = "", nil, nil }},
		"over":           {at: time.Hour, change: func(m *guard.Message, f *guard.Finding) { m.Finding, m.About, f.Closed = "", nil, start }},
	} {
		m, f := message, found
		if tt.change != nil {
			tt.change(&m, &f)
		}
		j := &judge{week: Week{Start: start, Quiet: &Quiet{22 * time.Hour, 8 * time.Hour}}, zero: start, h: &simulate.History{Start: start,
			Posts: []post{{At: start.Add(tt.at), ID: m.ID, Stored: true}}}, book: book{findings: []guard.Finding{f}, sent: map[string]guard.Message{m.ID: m}}}
		j.nights()
		j.untold()
		got := ""
		for _, v := range j.found {
			got += v.Kind
		}
		if got != tt.want {
			t.Errorf("%s: found %q, want %q", name, got, tt.want)
		}
	}
}
