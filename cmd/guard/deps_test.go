package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mostBytes is what the binary may weigh: people copy it onto GPU boxes.
const mostBytes = 12 << 20

// TestSmall: the people's binary is a client and nothing more.
func TestSmall(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skip("the go command does not run here: ", err)
	}
	// Each with the reason why it must not come in.
	forbidden := map[string]string{
		"go.etcd.io/":                 "the CLI opens no ledger",
		"github.com/aws/":             "the CLI calls no cloud",
		"github.com/danielgtaylor/":   "the CLI serves nothing",
		"github.com/prometheus/":      "the CLI judges no durations",
		"github.com/slack-go/":        "the CLI posts nothing",
		"guard/store":                 "the CLI opens no ledger",
		"guard/providers":             "the CLI calls no cloud",
		"guard/policy":                "the CLI judges nothing",
		"guard/daemon/api":            "the CLI serves nothing",
		"net/http/pprof":              "the CLI serves nothing",
		"github.com/rogpeppe/":        "it is for tests",
		"github.com/robfig/cron":      "the CLI schedules nothing",
		"github.com/goccy/go-yaml":    "the CLI reads no configuration",
		"github.com/NVIDIA/":          "it needs a C compiler: only with the tag nvml",
		"github.com/hashicorp/go-ret": "the daemon is local: nothing is retried",
	}
	// What the agent on a box reads the machine with: text in, nouns out.
	readers := map[string]bool{"guard/providers/signals/nvidiasmi": true, "guard/providers/signals/rocmsmi": true, "guard/providers/signals/machine": true}
	for dep := range strings.Lines(string(list)) {
		dep = strings.TrimSpace(dep)
		if readers[dep] {
			continue
		}
		for prefix, why := range forbidden {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("guard links %s: %s", dep, why)
			}
		}
	}
	bin := filepath.Join(t.TempDir(), "guard")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("guard weighs %d bytes", info.Size())
	if info.Size() > mostBytes {
		t.Errorf("guard weighs %d bytes, at most %d are wanted", info.Size(), mostBytes)
	}
}
