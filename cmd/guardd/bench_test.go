package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guard/daemon/bench"
)

// TestMain makes the test binary guardd where `guardd bench` starts it as its cloud. Wherever
// the tests run, the daemon in them runs on nobody's box and as no service.
func TestMain(m *testing.M) {
	for _, name := range []string{"RUNPOD_POD_ID", "RUNPOD_ENDPOINT_ID", "CONTAINER_ID", "VAST_CONTAINERLABEL", "AutoDLContainerUUID", "AutoDLDeploymentUUID", "NOTIFY_SOCKET", "WATCHDOG_USEC"} {
		os.Unsetenv(name)
	}
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:]...))
	}
	os.Exit(m.Run())
}

// TestBench: one object on stdout, and nothing else.
func TestBench(t *testing.T) {
	var out, errOut bytes.Buffer
	status := run(t.Context(), &out, &errOut, "bench", "--instances", "20", "--volumes", "40", "--snapshots", "20", "--accounts", "2", "--quiet-minutes", "1", "--due", "1s", "--seed", "3")
	if status != exitRight {
		t.Fatalf("status %d: %s", status, errOut.String())
	}
	var r bench.Result
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("stdout is not one result: %v", err)
	}
	if len(r.Goals) == 0 || r.Parameters.Seed != 3 || r.Cycles.Full.XBare == nil {
		t.Errorf("%+v", r)
	}
}

// TestBenchUsage: a wrong flag is named.
func TestBenchUsage(t *testing.T) {
	for line, says := range map[string]string{
		"bench --instances 3":                  "--instances 3: write 10 to 1000000",
		"bench --volumes -1":                   "--volumes -1: write 0 to",
		"bench --snapshots 2000000":            "--snapshots 2000000: write 0 to",
		"bench --accounts 0":                   "--accounts 0: write 1 to 100",
		"bench --quiet-minutes 0":              "--quiet-minutes 0: write 1 to 120",
		"bench --profile nowhere":              "--profile nowhere: there is no such folder",
		"bench --due 1h":                       "--due 1h0m0s: write 1s to 10m",
		"bench --seed x":                       "--seed",
		"bench now":                            "takes no arguments",
		"bench --seeds 4":                      "--seeds",
		"bench --instances 10 --accounts 1000": "--accounts 1000",
	} {
		var out bytes.Buffer
		if got := run(t.Context(), &out, &out, strings.Fields(line)...); got != exitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("guardd %s: %d %q, want %d and %q", line, got, out.String(), exitUsage, says)
		}
	}
}

// TestProgress: what is short needs no words, and a file gets lines.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progress{out: &out, start: time.Now()}
		p.say("first")
		p.start = p.start.Add(-3 * time.Second)
		p.say("second")
		p.end()
		if got := out.String(); got != "   3s  second\n" {
			t.Errorf("told %q", got)
		}
	})
}
