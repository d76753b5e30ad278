package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"guard/cmd/guard/cli"
	"guard/daemon/bench"
	"guard/daemon/client"
)

func benchCommand() *cobra.Command {
	var serve, profile string
	o := bench.Options{Guard: func(ctx context.Context, t http.RoundTripper, out io.Writer, args ...string) int {
		w := cli.IO{Out: out, Err: io.Discard, Dial: func(string) (*client.Client, error) {
			return client.New(client.Options{Transport: t, Timeout: time.Hour})
		}}
		return cli.Run(ctx, w, args...)
	}}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure what the daemon costs on a large fleet", Args: usage(cobra.NoArgs),
		Long: fmt.Sprintf(`Run the real daemon on a generated fleet, with a ledger file in a temporary
directory and a fake cloud in a process of its own, and print what it costs as
one JSON object: CPU of a full cycle and of quiet ones, as ratios to a bare loop
over the same pages (%d entries each); how long after its deadline a release is
durable; memory; the ledger's growth; starts; and what people type. Each goal of
guard's stands first, with its value and whether it is met. A goal that is missed
is no failure.

A default run takes some minutes and a gigabyte of memory, most of it the cloud's.`, bench.PageSize),
		Example: `  guardd bench
  guardd bench --instances 1000 --volumes 4000 --snapshots 4000 | jq .goals
  guardd bench --profile . && go tool pprof -top quiet.pprof`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkBench(o); err != nil {
				return usageError{err}
			}
			if serve != "" {
				return bench.Serve(cmd.Context(), o.Fleet, serve, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			if profile != "" {
				if info, err := os.Stat(profile); err != nil || !info.IsDir() {
					return usageError{fmt.Errorf("--profile %s: there is no such folder", profile)}
				}
				o.Profile = func(name string) (func(), error) { return startProfile(filepath.Join(profile, name+".pprof")) }
				o.Heap = func() error { return heapProfile(filepath.Join(profile, "heap.pprof")) }
			}
			o.Cloud = func(ctx context.Context, socket string) *exec.Cmd {
				return benchCloud(ctx, o.Fleet, socket)
			}
			p := progress{out: cmd.ErrOrStderr(), start: time.Now()}
			o.Progress = p.say
			r, err := bench.Run(cmd.Context(), o)
			p.end()
			if err != nil {
				return err
			}
			return r.JSON(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Fleet.Instances, "instances", 10_000, "instances, one in fifty of them unregistered")
	f.IntVar(&o.Fleet.Volumes, "volumes", 40_000, "volumes, most of them attached to instances")
	f.IntVar(&o.Fleet.Snapshots, "snapshots", 40_000, "snapshots of the volumes")
	f.IntVar(&o.Fleet.Accounts, "accounts", 10, "accounts that the fleet is dealt out to")
	f.Uint64Var(&o.Fleet.Seed, "seed", 1, "fixes what is random")
	f.DurationVar(&o.Due, "due", 30*time.Second, "how long leases end at real speed, ten a second; a quarter of them at most")
	f.IntVar(&o.Minutes, "quiet-minutes", 60, "polls of the quiet fleet from which a day is told")
	f.StringVar(&profile, "profile", "", "write CPU profiles (full, quiet, starts, minute, arming, deadlines) and a heap profile into this `DIR`")
	f.StringVar(&serve, "serve-cloud", "", "be the fake cloud of a run, on this socket")
	_ = f.MarkHidden("serve-cloud") // it exists
	return cmd
}

// checkBench refuses a fleet that cannot be built, by the flag's name.
func checkBench(o bench.Options) error {
	const most = 1_000_000
	f := o.Fleet
	for _, c := range []struct {
		flag           string
		n, least, most int
	}{
		{"accounts", f.Accounts, 1, 100},
		{"instances", f.Instances, f.Accounts, most},
		{"volumes", f.Volumes, 0, most},
		{"snapshots", f.Snapshots, 0, most},
		{"quiet-minutes", o.Minutes, 1, 120},
	} {
		if c.n < c.least || c.n > c.most {
			return fmt.Errorf("--%s %d: write %d to %d", c.flag, c.n, c.least, c.most)
		}
	}
	if o.Due < time.Second || o.Due > 10*time.Minute {
		return fmt.Errorf("--due %s: write 1s to 10m", o.Due)
	}
	return nil
}

// benchCloud is this program as the fleet's cloud.
func benchCloud(ctx context.Context, f bench.Fleet, socket string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.CommandContext(ctx, self, "bench", "--serve-cloud", socket, "--instances", strconv.Itoa(f.Instances), "--volumes", strconv.Itoa(f.Volumes),
		"--snapshots", strconv.Itoa(f.Snapshots), "--accounts", strconv.Itoa(f.Accounts), "--seed", strconv.FormatUint(f.Seed, 10))
}

func startProfile(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile cut off says so to whoever reads it
	}, nil
}

func heapProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

// progress tells what a long run is at: one line that changes on a terminal, else a
// line for each step. The first two seconds need none.
type progress struct {
	out   io.Writer
	start time.Time
	shown bool
}

func (p *progress) say(what string) {
	since := time.Since(p.start)
	if since < 2*time.Second {
		return
	}
	line := fmt.Sprintf("%4ds  %s", int(since.Seconds()), what)
	if !p.terminal() {
		fmt.Fprintln(p.out, line)
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s", line)
}

// end wipes the line.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func (p *progress) terminal() bool {
	f, ok := p.out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
