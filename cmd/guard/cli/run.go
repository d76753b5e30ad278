//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/job"
	"guard/daemon/wire"
)

// What is done with the box when a job has ended.
const (
	thenNothing = "nothing"
	thenStop    = "stop"
	thenRelease = "release"
)

// runFlags are those of guard run.
type runFlags struct {
	boxFlags
	lease                    wire.RegisterRequest
	tags                     []string
	maxRuntime, kill, notice string
	checkpoint, then         string
	keep                     bool
}

func (a *app) run() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a job on this box, and let guard know that it works",
		Long: `Run runs a command as a job on this box. While it runs the box does not count
as idle. Standard streams, the terminal, signals and the exit status are the
command's own; one that a signal ended gives 128 and the signal's number.

--purpose, --budget, --ttl and --tag register the box, or update its
registration, whoever's it is, before the job begins; so does --max-runtime,
where the lease would end before the job may (the lease then ends ten minutes
after it must have). At --max-runtime the job gets SIGTERM, and after
--kill-after SIGKILL.

When a release of the box comes near, the line of --checkpoint is run by the
shell first, then the job gets SIGTERM and may finish until the release. The
time stands in the file that GUARD_RELEASE_FILE names, for the job, and in
GUARD_RELEASE_AT, for the checkpoint.

--then release or stop orders that once the job has ended, well or not, until
guardd has taken the order; with --keep-on-failure only where it ended with 0.

Where guardd is away, refuses or fails, the job runs on all the same.

Exit status: the command's own; 126 or 127 where it cannot be run; 2 for wrong
usage, before it is.`,
		Example: `  guard run -- python train.py
  guard run --budget 40USD --max-runtime 10h --then release -- torchrun train.py
  guard run --checkpoint "touch save-now && sleep 60" --notice 10m -- ./train.sh`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("run what? Write guard run -- COMMAND")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runJob(cmd, &r, args) },
	}
	r.add(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&r.lease.Purpose, "purpose", "", "what the box is for, for people to read")
	f.StringVar(&r.lease.Budget, "budget", "", "the most it may cost: 40USD, 2400CNY")
	f.StringVar(&r.lease.TTL, "ttl", "", "how long the lease lasts from now: 10h, 2d")
	f.StringArrayVar(&r.tags, "tag", nil, "KEY=VALUE, may be repeated")
	f.StringVar(&r.maxRuntime, "max-runtime", "", "end the job after that time: 90m, 10h")
	f.StringVar(&r.kill, "kill-after", "30s", "how long it has to end after SIGTERM for that\n")
	f.StringVar(&r.notice, "notice", "5m", "how long before a release the job is told\n")
	f.StringVar(&r.checkpoint, "checkpoint", "", "a line for the shell that saves the job's work\nfirst")
	f.StringVar(&r.then, "then", thenNothing, "what becomes of the box afterwards: release,\nstop or nothing")
	f.BoolVar(&r.keep, "keep-on-failure", false, "leave the box alone where the job failed")
	a.completeFlag(cmd, "then", words(thenRelease, thenStop, thenNothing))
	return cmd
}

// options are the job's.
func (a *app) jobOptions(cmd *cobra.Command, r *runFlags, args []string) (job.Options, error) {
	o := job.Options{Args: args, Env: os.Environ(), Save: r.checkpoint, Dir: os.TempDir(), Say: func(s string) { a.say("guard: " + s) }}
	var in, out, err bool
	o.In, in = a.In.(*os.File)
	o.Out, out = a.Out.(*os.File)
	o.Err, err = a.Err.(*os.File)
	if !in || !out || !err {
		return o, usagef("guard run needs a process of its own")
	}
	for _, name := range []string{"purpose", "budget", "ttl", "max-runtime", "kill-after", "notice", "checkpoint", "then"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return o, usagef("--%s is empty: give it a value, or leave it out", name)
		}
	}
	o.Plan.Checkpoint = r.checkpoint != ""
	for _, d := range []struct {
		name, text string
		into       *time.Duration
	}{{"max-runtime", r.maxRuntime, &o.MaxRuntime}, {"kill-after", r.kill, &o.KillAfter}, {"notice", r.notice, &o.Notice}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.into, err = spanOf(d.name, d.text); err != nil {
			return o, err
		}
	}
	if r.then != thenNothing && r.then != thenStop && r.then != thenRelease {
		return o, usagef("--then %s: write release, stop or nothing", clean(r.then))
	}
	return o, nil
}

func (a *app) runJob(cmd *cobra.Command, r *runFlags, args []string) error {
	o, err := a.jobOptions(cmd, r, args)
	if err != nil {
		return err
	}
	if r.lease.Tags, err = tagsOf("tag", r.tags); err != nil {
		return err
	}
	r.over(a)
	if r.resource != "" {
		if err := checkID(r.resource); err != nil {
			return err
		}
	}
	// The signals that end guard's other commands are the job's here.
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer stop()
	cmd.SetContext(ctx)
	id := a.jobBox(cmd, r)
	if err := a.leaseFor(cmd, r, id, o.Plan); err != nil {
		return err
	}
	p := &pulse{app: a, id: id, run: r.run, notices: make(chan time.Time, 1)}
	o.Notices = p.notices
	beating, quiet := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() { defer close(over); p.beat(beating) }()
	result, err := job.Run(o)
	quiet()
	<-over
	if err != nil {
		a.say("guard: " + err.Error())
		return &jobError{result.Status}
	}
	a.afterwards(ctx, r, id, result)
	if result.Status != 0 {
		return &jobError{result.Status}
	}
	return nil
}

// jobBox is which box this is; "" where that cannot be told, and the job runs without
// guardd.
func (a *app) jobBox(cmd *cobra.Command, r *runFlags) string {
	if r.resource != "" {
		return r.resource
	}
	id, err := a.whereabouts(cmd, "--resource")
	if err != nil {
		a.say("guard: " + err.Error())
		a.say("guard: the job runs; guardd is not told of it, but for what the agent sees")
	}
	return id
}

// slack is what a lease that follows --max-runtime leaves after the job.
const slack = 10 * time.Minute

// leaseFor registers the box as the flags say. What a person has mistyped ends the
// command before the job begins; anything else is told, and the job begins.
func (a *app) leaseFor(cmd *cobra.Command, r *runFlags, id string, p job.Plan) error {
	q := r.lease
	q.ID = id
	asked := q.Purpose != "" || q.Budget != "" || q.TTL != "" || len(q.Tags) > 0
	if id != "" && (asked || p.MaxRuntime > 0) {
		a.asItIs(cmd.Context(), &q, p)
	}
	if !asked && q.TTL == "" {
		return nil
	}
	if id == "" {
		a.loud("WARNING: the box is not registered: which one it is is not known. Name it with --resource ACCOUNT/ID")
		return nil
	}
	quiet := *a
	quiet.Out, quiet.output = a.Err, "table" // stdout is the job's
	err := quiet.submit(cmd, q)
	var refusal *wire.Error
	var addr *client.AddrError
	switch {
	case err == nil:
	case isUsage(err), errors.As(err, &addr), errors.As(err, &refusal) && exits[refusal.Kind] == ExitUsage:
		return err
	default:
		tell(quiet.IO, cmd, err)
		a.loud("WARNING: the registration of this box did not change; the job runs all the same")
	}
	return nil
}

// asItIs makes a registration fit the lease that is there, where guardd tells of it: a job
// that changes it leaves it with whom it is, and makes it no shorter than it need be.
func (a *app) asItIs(ctx context.Context, q *wire.RegisterRequest, p job.Plan) {
	c, err := a.dial()
	if err != nil {
		return
	}
	s, err := c.Show(ctx, q.ID)
	if err != nil {
		return
	}
	it := s.Item
	if it.Lease != "" && !it.Adopted {
		q.Owner = it.Owner
	}
	least := p.MaxRuntime + p.KillAfter + slack
	lasts := it.Lease != "" && (it.ExpiresAt == nil || it.ExpiresAt.Sub(s.Now) >= least)
	if q.TTL == "" && p.MaxRuntime > 0 && !lasts {
		q.TTL = fmt.Sprintf("%ds", int64(least/time.Second))
	}
}
