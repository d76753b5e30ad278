package client

import (
	"context"
	"net/http"

	"guard/daemon/wire"
)

// CreateToken makes a token. The answer is the only place where its secret ever is.
func (c *Client) CreateToken(ctx context.Context, r wire.TokenRequest) (wire.TokenMade, error) {
	return call[wire.TokenMade](ctx, c, http.MethodPost, "/token", nil, r)
}

// Tokens returns the tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) (wire.Tokens, error) {
	return call[wire.Tokens](ctx, c, http.MethodGet, "/tokens", nil, nil)
}

// Revoke ends a token by its ID, or all of a name. It returns those that it ended.
func (c *Client) Revoke(ctx context.Context, token string) (wire.Tokens, error) {
	return call[wire.Tokens](ctx, c, http.MethodPost, "/revoke", nil, wire.RevokeRequest{Token: token})
}
