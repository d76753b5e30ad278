package simulate_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guard/cmd/guard/cli"
	"guard/daemon/client"
	"guard/daemon/simulate"
)

// run is the command tree that cmd/guardd hands in.
func run(ctx context.Context, c simulate.Command) int {
	return cli.Run(ctx, cli.IO{Out: c.Out, Err: c.Err, Dial: func(addr string) (*client.Client, error) {
		return client.New(client.Options{Addr: addr, Transport: c.Transport})
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

// TestScenarios plays every shipped story.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../configs/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := simulate.Parse(data, file, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Run(t.Context(), simulate.Options{Run: run, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Failures) > 0 {
				var b bytes.Buffer
				r.Table(&b, s)
				t.Error("\n" + b.String())
			}
			if r.Passed == 0 {
				t.Error("the story expects nothing")
			}
		})
	}
}
