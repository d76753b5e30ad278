package soak

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/simulate"
)

// commandTree is the CLI that cmd/guardd hands in.
func commandTree(ctx context.Context, c simulate.Command) int {
	return cli.Run(ctx, cli.IO{Out: c.Out, Err: c.Err, Dial: func(addr string) (*client.Client, error) {
		return client.New(client.Options{Addr: addr, Transport: c.Transport, Timeout: time.Hour})
	}}, c.Args[1:]...)
}

// rapidSource lets rapid choose, and so shrink.
type rapidSource struct{ t *rapid.T }

// IntN implements Source.
func (s rapidSource) IntN(n int, label string) int { return rapid.IntRange(0, n-1).Draw(s.t, label) }

// TestEveryWeekIsAStory: whatever is drawn can be played, and reads back as the
// same bytes.
func TestEveryWeekIsAStory(t *testing.T) {
	words := strings.Fields("crash: crash_at: clock_jump: suspend: reload: faults: retry_after: accepted_ignored done_but_times_out " +
		"empty} drop_page: unreachable null_fields: set_fields: html body: reclaim: lingers: delete: detach: attach: identity: create: protected: " +
		"hide_protection: guard:deployment spot: per_gpu: month second JPY scopes: page_size: release_takes: lag: granularity: weak observe " +
		"hold unhold protect unprotect extend release --budget --grace --no-gpu-ok channel_not_found stored: delivered_but_times_out slack: quiet: " +
		"lump: renews: balance: at_zero: top_up: bill: charge: balance_low:")
	seen := map[string]int{}
	weeks := int64(2000)
	if testing.Short() {
		weeks = 200
	}
	for seed := range weeks {
		k := Usual()
		if seed%3 == 0 {
			for f := range k.Chance {
				k.Chance[f] = 100
			}
		}
		w := DrawSeed(seed, k)
		text := w.YAML()
		if _, err := simulate.Parse(text, "week.yaml", nil); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if !bytes.Equal(text, DrawSeed(seed, k).YAML()) {
			t.Fatalf("seed %d gives two weeks", seed)
		}
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				seen[word]++
			}
		}
		for _, f := range w.Slack {
			if f.From+f.For > w.Length-min(Tail, w.Length/2) {
				t.Errorf("seed %d: a fault of Slack lasts into the quiet tail", seed)
			}
		}
		for _, a := range w.Accounts {
			for _, f := range a.Script.Faults {
				if f.For <= 0 || f.From+f.For > w.Length-Tail+time.Second {
					t.Errorf("seed %d: a fault of %s from %s for %s lasts into the quiet tail", seed, f.Call, f.From, f.For)
				}
			}
		}
	}
	for _, word := range words {
		if seen[word] < 3 {
			t.Errorf("%s was drawn %d times in %d weeks", word, seen[word], weeks)
		}
	}
}

// TestPropertiesCanDrawWeeks: with all choices 0, the week is the plainest one.
func TestPropertiesCanDrawWeeks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Draw(rapidSource{t}, quietKnobs())
		if _, err := simulate.Parse(w.YAML(), "week.yaml", nil); err != nil {
			t.Fatal(err)
		}
	})
	w := Draw(zeros{}, Usual())
	if len(w.Accounts) != 1 || len(w.Accounts[0].Script.Resources) != 1 || len(w.Accounts[0].Script.Timeline)+len(w.Accounts[0].Script.Faults)+
		len(w.Orders)+len(w.Hits)+len(w.Slack) != 0 || w.Length != Usual().Least {
		t.Errorf("the plainest week is\n%s", w.YAML())
	}
}

type zeros struct{}

// IntN implements Source.
func (zeros) IntN(int, string) int { return 0 }

// TestSpans: a duration reads back as it was.
func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 36 * time.Hour: "36h", -36 * time.Hour: "-36h",
		50*time.Hour + 3*time.Minute: "2d2h3m", 1500 * time.Millisecond: "1.5s", 48 * time.Hour: "2d",
	} {
		if got := spanText(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	if got := yamlValue(map[string]any{"b": nil, "a": []string{"x", "a b"}, "n": 3}); !reflect.DeepEqual(got, `{a: [x, "a b"], b: null, "n": 3}`) {
		t.Error(got)
	}
}
