//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"guard/daemon/client"
	"guard/daemon/job"
	"guard/daemon/wire"
)

const (
	// beatEvery is how often guardd hears of a job, touchEvery how often the agent does, and
	// both how often a notice is looked for.
	beatEvery, touchEvery = time.Minute, 10 * time.Second
	// believed is how long guardd's last word counts where it cannot be reached.
	believed = 3 * time.Minute
	// firstRetry and mostRetry are the waits between orders that guardd does not take.
	firstRetry, mostRetry = 2 * time.Second, time.Minute
)

// pulse says while a job runs that it does, and hears whether the box is to go.
type pulse struct {
	*app
	id, run string
	notices chan time.Time

	file    string // "" where there is no agent
	heard   time.Time
	due     time.Time // by guardd; zero: no release comes
	told    time.Time // what the job was told last
	silent  bool      // that guardd does not answer was said
	refused bool      // guardd does not want to hear it
}

// beat goes on until ctx ends.
func (p *pulse) beat(ctx context.Context) {
	if f, err := os.CreateTemp(filepath.Join(p.run, beatsDir), "job-*"); err == nil {
		p.file = f.Name()
		f.Close()
		defer func() { _ = os.Remove(p.file) }() // what is left there grows old
	}
	t := time.NewTicker(touchEvery)
	defer t.Stop()
	last := time.Time{}
	for ctx.Err() == nil {
		now := time.Now()
		if p.file != "" {
			_ = os.Chtimes(p.file, now, now) // where the agent's folder is gone so is the agent
		}
		if p.id != "" && !p.refused && now.Sub(last) >= beatEvery-time.Second {
			last = now
			p.call(ctx)
		}
		p.pass(ctx)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// call tells guardd, and takes in what it says.
func (p *pulse) call(ctx context.Context) {
	c, err := p.dial()
	if err == nil {
		var out wire.HeartbeatAnswer
		if out, err = c.Heartbeat(ctx, p.id); err == nil {
			if p.silent {
				p.say("guard: guardd answers again")
			}
			p.silent, p.heard, p.due = false, time.Now(), time.Time{}
			if n := out.Orders.Release; n != nil {
				p.due = p.heard.Add(n.Due.Sub(out.Now))
			}
			return
		}
	}
	if ctx.Err() != nil {
		return
	}
	if _, ours := errors.AsType[*wire.Error](err); ours && !again(err) {
		p.refused = true
	}
	if !p.silent || p.refused {
		p.silent = true
		p.say("guard: the job runs on; guardd is not told of it: " + err.Error())
	}
}

// pass tells the job of a release, and of none: by guardd's own word, or else by what the
// agent has heard.
func (p *pulse) pass(ctx context.Context) {
	due := p.due
	if time.Since(p.heard) > believed {
		due = time.Time{}
		if n, ok := notice(p.run); ok {
			due = n.Due
		}
	}
	if due.Sub(p.told).Abs() < 2*time.Second {
		return // the same, but for how long the answer took
	}
	p.told = due
	select {
	case p.notices <- due:
	case <-ctx.Done():
	}
}

// again reports whether an order that failed may be taken later.
func again(err error) bool {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		switch e.Kind {
		case wire.KindThrottled, wire.KindUnavailable, wire.KindUncertain, wire.KindBadReply, wire.KindInternal, wire.KindDamaged, wire.KindLocked:
			return true
		}
		return false
	}
	_, nobody := errors.AsType[*client.UnreachableError](err)
	return nobody
}

// afterwards does with the box what was asked for. The exit status stays the job's.
func (a *app) afterwards(ctx context.Context, r *runFlags, id string, result job.Result) {
	switch {
	case r.then == thenNothing:
		return
	case result.Status != 0 && r.keep:
		a.say(fmt.Sprintf("guard: the job failed (status %d): the box stays as it is (--keep-on-failure), and goes on billing", result.Status))
		return
	case id == "":
		a.loud("WARNING: --then " + r.then + " is not carried out: which box this is is not known. It goes on billing")
		return
	case result.Warned && r.then == thenRelease:
		a.say("guard: guard is releasing the box already")
		return
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	why := fmt.Sprintf("guard run: the job ended with status %d", result.Status)
	wait, said := firstRetry, false
	for {
		text, err := a.order(ctx, r.then, id, why)
		switch {
		case err == nil:
			a.say("guard: " + text)
			return
		case ctx.Err() != nil:
			a.loud("WARNING: interrupted: whether the " + r.then + " of " + id + " was ordered is not known. Look: guard show " + id)
			return
		case !again(err):
			tell(a.IO, nil, err)
			a.loud("WARNING: " + id + " goes on billing: its " + r.then + " is not ordered")
			return
		}
		if !said {
			said = true
			a.say("guard: " + err.Error())
			a.say("guard: the " + r.then + " is ordered as soon as guardd takes it; Ctrl-C gives that up")
		}
		t := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
		wait = min(2*wait, mostRetry)
	}
}

// order is one call of guardd. That it is gone or under way already is as good.
func (a *app) order(ctx context.Context, then, id, why string) (string, error) {
	c, err := a.dial()
	if err != nil {
		return "", err
	}
	if then == thenStop {
		out, err := c.Stop(ctx, wire.StopRequest{ID: id, Reason: why})
		return out.Text, err
	}
	out, err := c.Release(ctx, wire.ReleaseRequest{IDs: []string{id}, Reason: why})
	if err != nil {
		return "", err
	}
	text := ""
	for _, o := range out.Results {
		text = o.Text
	}
	return text, nil
}
