package simulate_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/simulate"
)

// Stories make much garbage and keep little: with a heap of some hundred megabytes its
// collection costs a tenth of the time that it costs otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(700 << 20)
	os.Exit(m.Run())
}

// run is the command tree that cmd/guardd hands in.
func run(ctx context.Context, c simulate.Command) int {
	return cli.Run(ctx, cli.IO{Out: c.Out, Err: c.Err, Dial: func(addr string) (*client.Client, error) {
		return client.New(client.Options{Addr: addr, Transport: c.Transport, Timeout: time.Hour})
	}}, c.Args[1:]...)
}

// play parses and plays a story given as text.
func play(t testing.TB, text string) *simulate.Result {
	t.Helper()
	s, err := simulate.Parse([]byte(text), "story.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), simulate.Options{Run: run, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func failures(r *simulate.Result) string {
	var b bytes.Buffer
	r.Told(&b, "story.yaml")
	return b.String()
}

// results are the shipped stories as they are, each played once for all tests.
var results sync.Map // by file: func() (*simulate.Result, error)

// shipped plays a shipped story as it is.
func shipped(t *testing.T, file string) *simulate.Result {
	t.Helper()
	once, _ := results.LoadOrStore(file, sync.OnceValues(func() (*simulate.Result, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := simulate.Parse(data, file, nil)
		if err != nil {
			return nil, err
		}
		r, err := s.Run(context.Background(), simulate.Options{Run: run, Seed: 1})
		if err != nil {
			return nil, err
		}
		// All stories are kept until the last test: without what nobody asks for.
		r.History = nil
		r.Events = slices.Clip(slices.DeleteFunc(r.Events, func(e simulate.Event) bool { return e.Event == "observed" || e.Event == "provider_call" }))
		return r, nil
	}))
	r, err := once.(func() (*simulate.Result, error))()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScenarios plays every shipped story.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../configs/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			r := shipped(t, file)
			if len(r.Failures) > 0 {
				var told bytes.Buffer
				r.Told(&told, file)
				t.Error("\n" + told.String())
			}
			if r.Passed == 0 {
				t.Error("the story expects nothing")
			}
		})
	}
}

// TestReadme: the table of cases names every story, and no story that is not there.
func TestReadme(t *testing.T) {
	const dir = "../../configs/scenarios/"
	readme, err := os.ReadFile(dir + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(dir + m[1]); err != nil {
			t.Error(err)
		}
	}
	files, _ := filepath.Glob(dir + "*.yaml")
	for _, f := range files {
		if !strings.Contains(string(readme), "("+filepath.Base(f)+")") {
			t.Errorf("the README does not tell of %s", filepath.Base(f))
		}
	}
	cases := regexp.MustCompile(`(?m)^\| .*$`).FindAllString(string(readme), -1)
	for _, id := range strings.Fields("REL-01 REL-02 REL-04 REL-05 REL-07 REL-08 REL-10 REL-11 REL-13 REL-14 REL-16 REL-17 REL-18 REL-20 " +
		"API-01 API-03 API-04 API-06 API-07 SPOT-01 SPOT-04 ORPH-01 ORPH-02 ORPH-04 ORPH-06 IDLE-01 IDLE-17 EGR-01 EGR-03 EGR-04 " +
		"PRC-01 PRC-02 PRC-03 PRC-05 BUD-01 BUD-03 ALR-01 ALR-03 ALR-04 ALR-05 ALR-07 ALR-08 STO-01 STO-02 STO-04 SCH-01 SCH-04 " +
		"UX-02 UX-03 UX-04 UX-06 OWN-01 OWN-02 OWN-03 OWN-04 OWN-05 OWN-06 OWN-07 OWN-08 OWN-09 OWN-10 OWN-11 OWN-12 OWN-13") {
		if !slices.ContainsFunc(cases, func(row string) bool { return strings.Contains(row, id) }) {
			t.Errorf("the README does not tell of case %s", id)
		}
	}
}
