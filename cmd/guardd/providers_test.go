package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"guard"
)

var update = flag.Bool("update", false, "write the README's table of providers")

const readme = "../../README.md"

// The README's table is what the adapters declare.
func TestREADMEProviders(t *testing.T) {
	const begin, end = "<!-- guardd providers -o markdown -->\n", "<!-- end of guardd providers -->\n"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("the README has no place for the table, between %q and %q", begin, end)
	}
	var want bytes.Buffer
	if status := run(t.Context(), &want, &want, "providers", "-o", "markdown"); status != exitRight {
		t.Fatal(want.String())
	}
	if table == want.String() {
		return
	}
	if !*update {
		t.Fatal("the README's table of providers is an old one: go test ./cmd/guardd -run READMEProviders -update")
	}
	if err := os.WriteFile(readme, []byte(before+begin+want.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whoever can be configured is described, and nobody else.
func TestEveryProviderIsDeclared(t *testing.T) {
	for _, kind := range slices.Concat(slices.Collect(maps.Keys(factories)), slices.Collect(maps.Keys(sections.Providers))) {
		if unconfigured[kind] == nil && kind != "fake" { // which only tests configure
			t.Errorf("%s is not declared: it wants a line in unconfigured", kind)
		}
	}
	for kind, p := range unconfigured {
		if factories[kind] == nil || sections.Providers[kind] == nil {
			t.Errorf("%s cannot be configured", kind)
		}
		if d := declaredBy(kind, p); d.Can.Signals != (d.Truths.Signals != "") || d.Truths.ReclaimShows == "" {
			t.Errorf("%+v", d)
		}
	}
}

func TestProviders(t *testing.T) {
	var out bytes.Buffer
	if status := run(t.Context(), &out, &out, "providers"); status != exitRight {
		t.Fatal(out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d wide: %s", n, line)
		}
	}
	for _, want := range []string{"aws\n", "  a stop saves      the machine; disks bill on\n", "  time is billed    by the second, 1m at least\n", "  it leaves         volumes, snapshots, images, addresses\n", "  tags              yes\n",
		"  its proof         two reads that find nothing; of volumes two complete\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	out.Reset()
	var all []declared
	if status := run(t.Context(), &out, &out, "providers", "aws", "-o", "json"); status != exitRight || json.Unmarshal(out.Bytes(), &all) != nil || len(all) != 1 || all[0].Truths.Minimum != time.Minute || !all[0].Can.Tags || all[0].Can.Balance {
		t.Errorf("%s", out.String())
	}
	for line, says := range map[string]string{"providers nobody": `no provider is called "nobody": there are`, "providers a b": "one provider, not 2", "providers -o xml": "write -o table, -o json or -o markdown"} {
		out.Reset()
		if status := run(t.Context(), &out, &out, strings.Fields(line)...); status != exitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: %d %s", line, status, out.String())
		}
	}
}

// What a small cloud declares reads as well.
func TestFactsOf(t *testing.T) {
	var out bytes.Buffer
	d := declared{"toy", guard.Truths{
		Granularity: time.Hour, Stop: guard.StopSavesCompute, StopBy: map[string]guard.StopEffect{"by the day": guard.StopSavesNothing, "spot": guard.StopUnsupported},
		StopFirst: true, StoppedEnds: 15 * 24 * time.Hour, ReleaseLead: 90 * time.Second, AtZero: guard.ZeroStops, PriceUnit: "gpu", CallsPerSecond: 0.5,
		ReclaimShows: "a state of its own, of which nothing is said but that a machine that was outbid has stopped and goes on billing its disk",
	}, can{Balance: true}}
	if err := writeDeclared(&out, []declared{d}); err != nil {
		t.Fatal(err)
	}
	const want = `toy
  a stop saves      the machine; disks bill on
                    by the day: nothing
                    spot: there is no stop
  stopped           deleted with its data after 15d
  a release         stops it first; billing ends within 1m30s
  it leaves         nothing
  its proof         two complete listings without it
  a reclaim shows   a state of its own, of which nothing is said but that a
                    machine that was outbid has stopped and goes on billing its
                    disk
  time is billed    by the hour
  prices            of one GPU
  balance           yes
  balance spent     machines are stopped
  charges           no
  GPU use           not told: from the agent, Prometheus or ssh
  tags              no
  locks             no
  a timer           no
  IDs               may name another thing later
  rate limit        0.5 calls a second
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
