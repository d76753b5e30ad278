package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"guard/daemon/wire"
)

// LaterError says that the daemon takes nothing now, and when to come again.
type LaterError struct {
	After time.Duration
	Err   error
}

// Error is the daemon's sentence.
func (e *LaterError) Error() string { return e.Err.Error() }

// Unwrap is the daemon's answer.
func (e *LaterError) Unwrap() error { return e.Err }

// RetryAfter is how long to wait.
func (e *LaterError) RetryAfter() time.Duration { return e.After }

// mostWait bounds what a Retry-After is believed.
const mostWait = time.Hour

// PushSamples sends what an agent has read. Where the answer says when to come again
// the error is *LaterError.
func (c *Client) PushSamples(ctx context.Context, r wire.AgentRequest) (wire.AgentAnswer, error) {
	var out wire.AgentAnswer
	body, err := json.Marshal(r)
	if err != nil {
		return out, fmt.Errorf("encode the samples: %w", err)
	}
	got := c.watch(ctx, http.MethodPost, c.base+wire.Prefix+"/agent/samples", body)
	if got.err != nil {
		return out, got.err
	}
	err = got.decode(c.addr, &out)
	if seconds, bad := strconv.Atoi(got.header.Get("Retry-After")); err != nil && bad == nil && seconds > 0 {
		err = &LaterError{min(time.Duration(seconds)*time.Second, mostWait), err}
	}
	return out, err
}

// Heartbeat says that a job runs on the box.
func (c *Client) Heartbeat(ctx context.Context, id string) (wire.HeartbeatAnswer, error) {
	return call[wire.HeartbeatAnswer](ctx, c, http.MethodPost, "/agent/heartbeat", nil, wire.HeartbeatRequest{ID: id})
}

// Stop orders the stop of a resource.
func (c *Client) Stop(ctx context.Context, r wire.StopRequest) (wire.ReleaseOutcome, error) {
	return call[wire.ReleaseOutcome](ctx, c, http.MethodPost, "/stop", nil, r)
}
