package client

import (
	"context"
	"net/http"

	"guard/daemon/wire"
)

// Enforce lets guard act in an account.
func (c *Client) Enforce(ctx context.Context, r wire.ModeRequest) (wire.ModeAnswer, error) {
	return call[wire.ModeAnswer](ctx, c, http.MethodPost, "/enforce", nil, r)
}

// Observe makes guard only watch an account.
func (c *Client) Observe(ctx context.Context, r wire.ModeRequest) (wire.ModeAnswer, error) {
	return call[wire.ModeAnswer](ctx, c, http.MethodPost, "/observe", nil, r)
}

// Resume lets a paused guard act again.
func (c *Client) Resume(ctx context.Context, r wire.AcceptRequest) (wire.ModeAnswer, error) {
	return call[wire.ModeAnswer](ctx, c, http.MethodPost, "/resume", nil, r)
}

// Reload makes guardd read its configuration again.
func (c *Client) Reload(ctx context.Context, r wire.AcceptRequest) (wire.ModeAnswer, error) {
	return call[wire.ModeAnswer](ctx, c, http.MethodPost, "/reload", nil, r)
}
