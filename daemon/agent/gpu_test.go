//go:build linux

package agent

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"guard"
)

// program is one that does what a line of the shell says.
func program(t *testing.T, line string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+line+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReadings: what a reading stands for is how far apart they are, by whichever way they
// come; what is no answer is none, and is told.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		name string
		gpus func(program string) func(context.Context, func(guard.Sample), func(string))
		line string
		want time.Duration // 0: no reading
		told string
	}{
		{"nvidia-smi that goes on", func(p string) func(context.Context, func(guard.Sample), func(string)) { return nvidia{p}.Run },
			`case "$1" in --query-gpu*) for i in 1 2; do echo "0, 37, 100, 81559, 123.50, 700.00, Disabled"; done; exec sleep 100 ;; *) exit 1 ;; esac`, readEvery, ""},
		{"nvidia-smi one by one", func(p string) func(context.Context, func(guard.Sample), func(string)) { return nvidia{p}.oneByOne },
			`echo '<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="0"><fb_memory_usage><total>100 MiB</total><used>1 MiB</used></fb_memory_usage><utilization><gpu_util>3 %</gpu_util></utilization></gpu></nvidia_smi_log>'`, pollEvery, ""},
		{"rocm-smi", func(p string) func(context.Context, func(guard.Sample), func(string)) { return amd{p}.Run },
			`echo '{"card0": {"GPU use (%)": "3"}}'`, pollEvery, ""},
		{"a page", func(p string) func(context.Context, func(guard.Sample), func(string)) { return amd{p}.Run },
			`echo '<html>'`, 0, "rocm-smi: read rocm-smi's output: unexpected reply: it is not whole JSON"},
		{"a failure", func(p string) func(context.Context, func(guard.Sample), func(string)) { return amd{p}.Run },
			`echo 'ERROR: no driver'; exit 2`, 0, "rocm-smi: ERROR: no driver"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Before any other is started: a process that begins while this file is written
			// has it open for a moment, and nobody can run it then.
			program := program(t, c.line)
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			var got guard.Sample
			told := ""
			c.gpus(program)(ctx, func(s guard.Sample) {
				if s.GPUs != nil {
					got = s
					stop()
				}
			}, func(why string) {
				if why != "" && told == "" {
					told = why
					stop()
				}
			})
			if got.Interval != c.want || (len(got.GPUs) == 1) != (c.want > 0) || told != c.told {
				t.Errorf("%+v, told %q", got, told)
			}
		})
	}
}
