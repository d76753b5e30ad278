//go:build linux

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"guard"
	"guard/daemon/agent"
	"guard/daemon/client"
	"guard/daemon/wire"
)

const (
	// runDir is where the agent and the jobs of a box meet.
	runDir = "/run/guard-agent"
	// stateDir is what the agent keeps over a reboot.
	stateDir = "/var/lib/guard-agent"
	// beatsDir is the folder of runDir in which each job has a file that it touches.
	beatsDir = "beats"
	// poweroff is what the fuse does unless told otherwise.
	poweroff = "poweroff"
	// leastFuse and mostEvery bound what makes sense.
	leastFuse             = 15 * time.Minute
	leastEvery, mostEvery = time.Second, 10 * time.Minute
)

// boxFlags say which box this is and how guardd is reached from it.
type boxFlags struct{ resource, tokenFile, ca, run string }

func (b *boxFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.resource, "resource", "", "the ACCOUNT/ID of this box (default\n$GUARD_RESOURCE, then what its cloud says)")
	f.StringVar(&b.tokenFile, "token-file", "", "the file of the token (default $GUARD_TOKEN_FILE)")
	f.StringVar(&b.ca, "ca", "", "certificates that guardd's is trusted by\n(default $GUARD_CA)")
	f.StringVar(&b.run, "run-dir", "", "where jobs and the agent meet (default\n$GUARD_RUN_DIR, then "+runDir+")")
}

// over makes the flags the environment that the client is made by.
func (b *boxFlags) over(a *app) {
	env := a.Env
	a.Env = func(name string) string {
		switch {
		case name == "GUARD_TOKEN_FILE" && b.tokenFile != "":
			return b.tokenFile
		case name == "GUARD_TOKEN" && b.tokenFile != "":
			return ""
		case name == "GUARD_CA" && b.ca != "":
			return b.ca
		}
		return env(name)
	}
	b.resource = cmp.Or(b.resource, env("GUARD_RESOURCE"))
	b.run = cmp.Or(b.run, env("GUARD_RUN_DIR"), runDir)
}

func (a *app) agent() *cobra.Command {
	var box boxFlags
	var state, gpus, every, after, do string
	var dry bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Tell guardd how hard this box works, every minute",
		Long: `Agent runs on a GPU box. It reads the GPUs every second (nvidia-smi, or
rocm-smi every ten), and the processors, disks, network and terminals every
minute, and sends a summary a minute. It sends numbers: no names or arguments
of processes. While guardd is away up to a day of summaries waits, in memory
and on the disk.

Its token is for this one box: guard token create NAME --role viewer --scope
ACCOUNT/ID. It is read from --token-file or the environment, as for every
command; a file is read again each time, so that a new token needs no restart.

--fuse is the dead-man fuse, which is off unless given: where guard has not
been heard for that long, and the limit of the lease that guard last told of
has passed as well, the box is powered off, or the command of --fuse-do is run
(by the shell; it may call the cloud with a key that can do nothing else). It
is armed again after a reboot; there, and after a sleep, guard is called for
10 minutes first. An extension that is heard puts it off; where guard tells of
no limit at which it would act, it does nothing. A clock that is set wrong
does not fire it. Where guard has no way to end the box (a manual account) it
asks the agent once the release is due, and the fuse acts at once.`,
		Example: `  guard agent --addr https://guard.internal:7070 --token-file /etc/guard/token
  guard agent --resource research/i-0abc --fuse 6h
  guard agent --fuse 6h --fuse-do "/usr/local/bin/terminate-me" --fuse-dry-run`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			box.over(a)
			o := agent.Options{Version: buildVersion(), Run: box.run, Box: agent.ThisBox(filepath.Join(box.run, beatsDir)),
				Dir: cmp.Or(state, a.Env("STATE_DIRECTORY"), stateDir), Now: now, Chance: rand.Float64,
				Log: slog.New(slog.NewTextHandler(a.Err, nil))}
			var err error
			if o.Every, err = spanOf("every", every); err != nil {
				return err
			}
			if o.Every < leastEvery || o.Every > mostEvery {
				return usagef("--every %s: choose from %s to %s", every, span(leastEvery), span(mostEvery))
			}
			if o.GPUs, err = agent.FindGPUs(gpus); err != nil {
				return usagef("--gpus: %v", err)
			}
			if o.Fuse, err = fuseOf(after, do, dry); err != nil {
				return err
			}
			if o.Resource, err = a.thisBox(cmd, box.resource, o.Dir); err != nil {
				return err
			}
			// Whether it is there now or not: the address and the token must be right.
			c, err := a.dial()
			if err != nil {
				return err
			}
			o.Send = func(ctx context.Context, r wire.AgentRequest) (wire.AgentAnswer, error) {
				if again, err := a.dial(); err == nil {
					c = again // with the token that is in the file now
				}
				return c.PushSamples(ctx, r)
			}
			a.say(fmt.Sprintf("guard agent on %s, a summary every %s to %s", o.Resource, span(o.Every), a.where()))
			return agent.Run(cmd.Context(), o)
		},
	}
	box.add(cmd)
	f := cmd.Flags()
	f.StringVar(&state, "state-dir", "", "what is kept over a reboot (default\n$STATE_DIRECTORY, then "+stateDir+")")
	f.StringVar(&gpus, "gpus", "auto", "how GPUs are read: nvidia, amd, none or\nauto")
	f.StringVar(&every, "every", "1m", "how long one summary stands for")
	f.StringVar(&after, "fuse", "", "end the box once guard is silent for so long and the\nlimit has passed: 6h (default: never)")
	f.StringVar(&do, "fuse-do", poweroff, "poweroff, or a command for the shell\n")
	f.BoolVar(&dry, "fuse-dry-run", false, "say what the fuse would do, and do nothing")
	a.completeFlag(cmd, "gpus", words("auto", "nvidia", "amd", "none"))
	return cmd
}

// thisBox is the resource that this runs on. Where guardd is away it is the one that the
// agent was last, if the machine does not say otherwise: the fuse must be armed again.
func (a *app) thisBox(cmd *cobra.Command, named, dir string) (string, error) {
	if named != "" {
		return named, checkID(named)
	}
	found, err := a.whereabouts(cmd, "--resource")
	if nobody := (*client.UnreachableError)(nil); !errors.As(err, &nobody) {
		return found, err
	}
	last := agent.Last(dir)
	_, id, _ := strings.Cut(last, "/")
	for _, c := range a.clues(cmd.Context()) {
		if last != "" && c.id == id {
			return last, nil
		}
	}
	return "", err
}

// fuseOf makes the fuse of the flags; nil where none is wanted.
func fuseOf(after, do string, dry bool) (*agent.Fuse, error) {
	if after == "" {
		if dry || do != poweroff {
			return nil, usagef("--fuse-do and --fuse-dry-run go with --fuse")
		}
		return nil, nil
	}
	d, err := spanOf("fuse", after)
	if err != nil {
		return nil, err
	}
	if d < leastFuse {
		return nil, usagef("--fuse %s: guard may well be away for that long; at least %s", after, span(leastFuse))
	}
	if strings.TrimSpace(do) == "" {
		return nil, usagef("--fuse-do is empty: write poweroff, or a command")
	}
	f := &agent.Fuse{After: d, DryRun: dry, Does: "powers the box off", Fire: powerOff}
	if do != poweroff {
		program, _, _ := strings.Cut(strings.TrimSpace(do), " ")
		f.Does = "runs " + program // the rest may hold a key
		f.Fire = func(ctx context.Context) error { return fire(ctx, "/bin/sh", "-c", do) }
	}
	return f, nil
}

// powerOff asks the machine's own init first.
func powerOff(ctx context.Context) error {
	first := fire(ctx, "systemctl", "poweroff")
	if first == nil {
		return nil
	}
	second := fire(ctx, "shutdown", "-h", "now")
	if second == nil {
		return nil
	}
	return errors.Join(first, second)
}

func fire(ctx context.Context, program string, args ...string) error {
	if err := exec.CommandContext(ctx, program, args...).Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// now reads both clocks of this machine.
func now() guard.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every Linux since 2.6.39 has it; without it no duration can be trusted.
		panic("CLOCK_BOOTTIME: " + err.Error())
	}
	return guard.Instant{Wall: time.Now().UTC().Round(0), Elapsed: time.Duration(ts.Nano())}
}

// notice is what the agent has left for jobs; none where there is none.
func notice(run string) (wire.Notice, bool) {
	var n wire.Notice
	b, err := os.ReadFile(filepath.Join(run, agent.NoticeFile))
	if err != nil {
		return n, false
	}
	return n, json.Unmarshal(b, &n) == nil && !n.Due.IsZero()
}
