package fake

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// Timed is the adapter for a cloud that has timers: a providers.TTLArmer, too.
type Timed struct{ *Provider }

var _ providers.TTLArmer = Timed{}

// Timed is the same adapter with timers.
func (p *Provider) Timed() Timed { return Timed{p} }

// Arm implements providers.TTLArmer.
func (p Timed) Arm(ctx context.Context, id guard.ResourceID, at time.Time) error {
	in := map[string]any{"at": nil}
	if !at.IsZero() {
		in["at"] = stamp(at)
	}
	return providers.Says("set the timer of", id, p.write(ctx, http.MethodPost, in, id, "timer"))
}

// Armed implements providers.TTLArmer.
func (p Timed) Armed(ctx context.Context, id guard.ResourceID) (time.Time, error) {
	var in struct {
		Timer *struct {
			At field `json:"at"`
		} `json:"timer"`
	}
	if err := p.api.Get(ctx, &in, nil, "v1", string(id.Kind), id.ID, "timer"); err != nil {
		return time.Time{}, providers.Says("read the timer of", id, err)
	}
	if in.Timer == nil {
		return time.Time{}, providers.Says("read the timer of", id, fmt.Errorf("%w: the answer tells of no timer", guard.ErrBadReply))
	}
	if in.Timer.At.Null() {
		return time.Time{}, nil
	}
	at := in.Timer.At.Time()
	if at.IsZero() {
		return time.Time{}, providers.Says("read the timer of", id, fmt.Errorf("%w: its time is none", guard.ErrBadReply))
	}
	return at, nil
}

// Timers reports whether the cloud has timers.
func (c *Cloud) Timers() bool { return c.script.Timer != "" }

// timed answers a call about a timer.
func (c *Cloud) timed(t *thing, o op) answer {
	if c.script.Timer == "" || t.spec.Kind != guard.Instance {
		return refuse(http.StatusNotImplemented, "refused")
	}
	if o.call == CallArmed {
		timer := map[string]any{"at": nil}
		if !t.timer.IsZero() {
			timer["at"] = stamp(t.timer)
		}
		return ok(map[string]any{"timer": timer})
	}
	switch {
	case t.last().word == stateGone || t.last().word == stateReleasing:
		return refuse(http.StatusConflict, "refused")
	case !o.timer.IsZero() && !o.timer.After(c.now):
		return refuse(http.StatusBadRequest, "refused")
	case c.script.Timer == TimerIgnored:
		return accepted()
	}
	t.timer = o.timer
	if !o.timer.IsZero() {
		c.plan(o.timer, func(at time.Time) { c.ring(t, at) })
	}
	return accepted()
}

// ring ends an instance by its timer, if that is still set to this moment. What is
// protected stays.
func (c *Cloud) ring(t *thing, at time.Time) {
	if t.timer.Equal(at) && !slices.Contains(t.spec.Protected, "release") {
		c.end(t, endedPlatform, at)
	}
}

// Timer is when the cloud will end an instance by itself; zero: it has no timer, or is
// not there.
func (c *Cloud) Timer(id string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.find("", id); t != nil && t.last().word != stateGone {
		return t.timer
	}
	return time.Time{}
}
