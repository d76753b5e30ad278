//go:build linux

package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"guard"
	"guard/store"
)

// push is where the agents' samples go.
func (d *testDaemon) push(_ context.Context, _ guard.Instant, _ guard.ResourceID, batch []guard.Sample) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pushed = append(d.pushed, batch...)
	return nil
}

// waitFor polls, for two minutes at most: the processes of a script take their own time.
func waitFor(what string, ok func() bool) error {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-poll.C {
		if ok() {
			return nil
		}
	}
	return fmt.Errorf("waited in vain for %s", what)
}

// samplesCommand waits until agents have sent so many samples.
func (d *testDaemon) samplesCommand(args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return waitFor(args[0]+" samples", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.pushed) >= want
	})
}

// sampledCommand waits until the newest sample says so: in one second of a busy machine the
// fake nvidia-smi may say nothing.
func (d *testDaemon) sampledCommand(args []string) (err error) {
	if waited := waitFor("such a sample", func() bool { err = d.newest(args); return err == nil }); waited != nil {
		return fmt.Errorf("%w: %w", waited, err)
	}
	return nil
}

// newest checks what the newest sample says.
func (d *testDaemon) newest(args []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.pushed[len(d.pushed)-1]
	told := map[string]guard.Gauge{"processes": x.Processes, "heartbeat": x.HeartbeatAge, "cores": x.Cores, "gpus": guard.Known(float64(len(x.GPUs)))}
	if len(x.GPUs) > 0 {
		g := x.GPUs[0]
		told["util"], told["util_max"], told["busy"], told["mem_used"], told["power"] = g.Util, g.UtilMax, g.Busy, g.MemUsed, g.Power
	}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		g := told[name]
		switch value {
		case "unknown":
			if g.OK {
				return fmt.Errorf("%s is %v", name, g.V)
			}
		case "known":
			if !g.OK {
				return fmt.Errorf("%s is not known", name)
			}
		default:
			if v, err := strconv.ParseFloat(value, 64); err != nil || g != guard.Known(v) {
				return fmt.Errorf("%s is %v, want %s (%v)", name, g, value, err)
			}
		}
	}
	return nil
}

// comingCommand puts a release of i-1 into the ledger that is due so long from now.
func (d *testDaemon) comingCommand(args []string) error {
	in, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	at := d.now()
	return d.ledger.Update(context.Background(), func(tx *store.Tx) error {
		o, _, err := tx.Observed.Get("lab/instance/i-1")
		if err != nil {
			return err
		}
		return tx.Releases.Put(guard.Release{ID: "coming", Target: o.Resource.ID, Created: o.Resource.Created, Identity: o.Identity, State: guard.ReleaseNoticed, Action: guard.ActRelease,
			Cause: guard.CausePerson, By: "ana", Why: "ordered by ana", PlannedAt: at.Wall, NoticedAt: at.Wall, Due: at.Wall.Add(in)})
	})
}

// orderedCommand checks what is ordered of i-1: release, stop, or nothing.
func (d *testDaemon) orderedCommand(args []string) error {
	var r guard.Release
	err := d.ledger.View(context.Background(), func(v *store.View) (err error) {
		r, _, err = v.Releases.Get("lab/instance/i-1")
		return err
	})
	got := string(r.Action)
	if got == "" {
		got = "nothing"
	}
	if err == nil && got != args[0] {
		err = fmt.Errorf("%s is ordered (%s)", got, r.Why)
	}
	return err
}

// TestBoxScripts plays guard agent and guard run, as real processes with a fake nvidia-smi,
// against the API over TLS and at the socket. Beside the commands of TestScripts: `samples
// N` waits until so many have come, `sampled NAME=VALUE...` until the newest says so, `coming
// DURATION` puts a release of i-1 ahead, `ordered release|stop|nothing` checks what is, and
// `appears FILE TEXT` waits until a file has a text in it.
func TestBoxScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "box"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			d, err := scriptOverTLS(t, e)
			if err != nil {
				return err
			}
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("GUARD_RUN_DIR", filepath.Join(e.WorkDir, "run"))
			e.Setenv("GUARD_METADATA_URL", "http://127.0.0.1:1") // this machine is no box
			e.Setenv("PATH", filepath.Join(e.WorkDir, "bin")+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Values["daemon"] = d
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"pass":    command((*testDaemon).passCommand),
			"mode":    command((*testDaemon).modeCommand),
			"away":    command((*testDaemon).awayCommand),
			"back":    command((*testDaemon).backCommand),
			"samples": command((*testDaemon).samplesCommand),
			"sampled": command((*testDaemon).sampledCommand),
			"coming":  command((*testDaemon).comingCommand),
			"ordered": command((*testDaemon).orderedCommand),
			"appears": func(ts *testscript.TestScript, _ bool, args []string) {
				name := ts.MkAbs(args[0])
				ts.Check(waitFor(args[1]+" in "+name, func() bool {
					b, err := os.ReadFile(name)
					return err == nil && strings.Contains(string(b), args[1])
				}))
			},
		},
	})
}
