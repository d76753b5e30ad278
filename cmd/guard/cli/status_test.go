package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"guard/daemon/wire"
)

func TestStatusNamesSomeOfWhatStandsAndBills(t *testing.T) {
	for n, want := range map[int]string{0: "", 5: "stopped   e", 7: "stopped   and 2 more: guard findings"} {
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out}}
		a.stands(wire.Status{Stopped: strings.Split("abcdefg", "")[:n]})
		lines := 0
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "stopped") {
				lines++
			}
		}
		if lines != min(n, mostStopped+1) || !strings.Contains(out.String(), want) {
			t.Errorf("%d: %d lines, and not %q:\n%s", n, lines, want, &out)
		}
	}
}

func TestStatusTellsWhatWaits(t *testing.T) {
	now := time.Date(2026, 3, 6, 23, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *time.Time { x := now.Add(d); return &x }
	for want, c := range map[string]wire.Channel{
		"slack": {Name: "slack", Dropped: 2},
		"slack (3 held until Sat 08:00, 1 post to bring up to date)": {Name: "slack", Undelivered: 3, Held: 3, HeldUntil: in(9 * time.Hour), Edits: 1},
		"slack (4 to deliver, 2 of them urgent, the oldest of 1h ago, next try in 5m, 1 held until Sat 08:00, 2 never told, for newer ones, pager is told in its place)": {Name: "slack", Undelivered: 5, Urgent: 2, Held: 1, HeldUntil: in(9 * time.Hour), Oldest: in(-time.Hour), NextTry: in(5 * time.Minute), Dropped: 2, StandIn: "pager"},
	} {
		a := &app{}
		if got := a.tells(wire.Status{Now: now, Channels: []string{"slack"}, Delivery: []wire.Channel{c}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStatusOfWhatCannotBeSeen: the first line does not say that all is well while guard
// does not see what runs, though nobody is called yet.
func TestStatusOfWhatCannotBeSeen(t *testing.T) {
	now := time.Date(2026, 3, 6, 23, 0, 0, 0, time.UTC)
	for first, accounts := range map[string][]wire.Account{
		"all is well": {{Name: "lab", State: "ok", Blind: []string{"zone-a volumes"}, Error: "503"}, {Name: "new", State: "new"}},
		"nothing needs a person yet, but guard cannot see pods (global instances), ocean": {
			{Name: "pods", Provider: "runpod", Mode: "enforce", State: "blind", Polled: &now, Blind: []string{"global instances"}, Error: "list them: status 401"},
			{Name: "lab", State: "ok"}, {Name: "ocean", State: "unreachable"}},
	} {
		var out bytes.Buffer
		a := &app{IO: IO{Out: &out}}
		a.stands(wire.Status{Now: now, Accounts: accounts})
		if line, _, _ := strings.Cut(out.String(), "\n"); line != first {
			t.Errorf("%q, want %q", line, first)
		}
		if want := "pods (runpod), enforce, blind, asked now, cannot list global instances: list them: status 401\n"; accounts[0].Name == "pods" && !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
