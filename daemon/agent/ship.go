//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"guard"
	"guard/daemon/wire"
)

// NoticeFile is the file in Options.Run that tells jobs of a release that comes: a
// wire.Notice, by this box's own clock.
const NoticeFile = "notice.json"

const (
	// sendFor bounds one call of guardd.
	sendFor = 30 * time.Second
	// fireFor bounds what the fuse does, and fireAgain is after how long it does it again.
	fireFor, fireAgain = time.Minute, 5 * time.Minute
)

// ship sends what waits, and goes on while guardd is away.
func (a *agent) ship(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		rest, err := a.send(ctx, failures)
		if err != nil && ctx.Err() != nil {
			return // it was ended, which is no trouble
		}
		a.told(err)
		if err == nil {
			failures = 0
			if rest == 0 {
				select {
				case <-ctx.Done():
				case <-a.wake:
				}
			}
			continue
		}
		failures++
		a.rest(ctx, backoff(failures, askedWait(err), a.Chance()))
	}
}

// rest waits that long, and meanwhile keeps what waits on the disk as it comes: nobody
// says when this process is killed.
func (a *agent) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		a.keep()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case <-a.wake:
		}
	}
}

// keep brings the disk up to what waits.
func (a *agent) keep() {
	why := ""
	if err := a.queue.keep(); err != nil {
		why = "what waits for guardd cannot be kept on the disk: " + err.Error()
	}
	a.trouble("disk", why)
}

// told says why guardd takes nothing, once each reason, and when it is back.
func (a *agent) told(err error) {
	switch {
	case err == nil && a.said != "":
		a.said = ""
		a.Log.Info("guardd takes samples again", "waiting", a.queue.len())
	case err != nil && err.Error() != a.said:
		a.said = err.Error()
		args := []any{"error", a.said, "waiting", a.queue.len()}
		if refusal, ok := errors.AsType[*wire.Error](err); ok && refusal.Hint != "" {
			args = append(args, "hint", refusal.Hint)
		}
		a.Log.Warn("guardd takes no samples; they wait", args...)
	}
}

// send sends one batch, and returns how many samples wait after it.
func (a *agent) send(ctx context.Context, failures int) (rest int, err error) {
	r, err := a.request(failures)
	if err != nil {
		return 0, err
	}
	sent := a.Now()
	call, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	answer, err := a.Send(call, r)
	if err != nil {
		a.failed(err, r, sent)
		return 0, err
	}
	a.queue.took(r.Samples)
	if r.Waiting == 0 {
		a.keep()
	}
	a.heard(answer, sent)
	return r.Waiting, nil
}

// failed is for an answer that takes nothing. A refusal in guardd's own words is a guardd
// that lives, and that ends what is to be ended itself: the fuse waits. What guardd
// cannot read it never will.
func (a *agent) failed(err error, r wire.AgentRequest, at guard.Instant) {
	var refusal *wire.Error
	alive := errors.As(err, &refusal)
	if alive {
		switch refusal.Kind {
		case wire.KindInvalid:
			a.queue.took(r.Samples)
			a.queue.lose(len(r.Samples))
		case wire.KindToken, wire.KindPermission, wire.KindNotFound, wire.KindConflict, wire.KindThrottled, wire.KindRefused:
		default:
			alive = false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if alive {
		a.vain = guard.Instant{}
	} else if a.vain.IsZero() {
		a.vain = at
	}
	h := &a.state.Heard
	if !alive || h.At.IsZero() {
		return
	}
	if h.Boot != a.boot && !h.Limit.IsZero() {
		h.Limit = at.Reach(h.Limit.Wall)
	}
	h.Boot, h.At, h.End = a.boot, at, "" // what was asked for is not confirmed
	a.save()
}

// heard records what guardd said. The moment counts from before the call: what was
// decided while it was under way may not be in the answer.
func (a *agent) heard(answer wire.AgentAnswer, at guard.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Fuse != nil && a.state.Heard.At.IsZero() {
		a.kick() // the fuse is another one now than was told
	}
	a.vain = guard.Instant{}
	a.skew = answer.Now.Sub(at.Wall)
	h := Heard{Boot: a.boot, At: at, End: answer.Orders.End}
	if answer.Orders.Limit != nil {
		h.Limit = at.Add(answer.Orders.Limit.Sub(answer.Now))
	}
	a.state.Heard = h
	a.save()
	if err := a.notify(answer); err != nil {
		a.Log.Warn("jobs on this box are not told of a release", "error", err.Error())
	}
}

// save makes the state durable. The caller holds the lock. Without it the fuse goes on by
// what is in memory.
func (a *agent) save() {
	if err := a.state.save(a.Dir); err != nil && a.troubles["state"] == "" {
		a.troubles["state"] = err.Error()
		a.Log.Warn("the fuse will not survive a reboot", "error", err.Error())
	} else if err == nil {
		delete(a.troubles, "state")
	}
}

// notify leaves the notice of a release where jobs find it, by this box's own clock.
func (a *agent) notify(answer wire.AgentAnswer) error {
	name := filepath.Join(a.Run, NoticeFile)
	n := answer.Orders.Release
	if n == nil {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	local := *n
	local.Due = n.Due.Add(-a.skew)
	b, err := json.Marshal(local)
	if err != nil {
		return err
	}
	if err := replace(name, b); err != nil {
		return err
	}
	return os.Chmod(name, 0o644)
}

// watch looks at the fuse.
func (a *agent) watch(ctx context.Context) {
	if a.Fuse == nil {
		return
	}
	at := a.Now()
	a.mu.Lock()
	v := Judge(a.Fuse.After, a.state.Heard, a.scene(at))
	was := a.burn
	a.burn = v.Burn
	due := v.Burn == FuseFired && (a.fired.IsZero() || at.Sub(a.fired) >= fireAgain)
	if due {
		a.fired = at
	}
	a.mu.Unlock()
	switch {
	case due && a.Fuse.DryRun:
		a.Log.Warn("the fuse would fire now (dry run)", "does", a.Fuse.Does, "why", v.Why)
	case due:
		a.Log.Error("the fuse fires", "does", a.Fuse.Does, "why", v.Why)
		call, cancel := context.WithTimeout(ctx, fireFor)
		defer cancel()
		if err := a.Fuse.Fire(call); err != nil {
			a.Log.Error("the fuse failed, and is tried again", "in", fireAgain.String(), "error", err.Error())
		}
	case v.Burn != was:
		a.sayFuse(v)
	}
}

// tellFuse says at the start what the fuse will do and when.
func (a *agent) tellFuse() {
	if a.Fuse == nil {
		return
	}
	v := Judge(a.Fuse.After, a.state.Heard, a.scene(a.Now()))
	a.burn = v.Burn
	a.sayFuse(v)
}

func (a *agent) sayFuse(v Verdict) {
	args := []any{"state", string(v.Burn), "after", short(a.Fuse.After), "does", a.Fuse.Does}
	if a.Fuse.DryRun {
		args = append(args, "dry_run", true)
	}
	if !v.At.IsZero() {
		args = append(args, "fires", v.At.Wall.Format(time.RFC3339))
	}
	if v.Why != "" {
		args = append(args, "why", v.Why)
	}
	a.Log.Info("dead-man fuse", args...)
}
