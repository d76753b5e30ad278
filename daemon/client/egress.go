package client

import (
	"context"
	"net/http"
	"net/url"

	"guard/daemon/wire"
)

// Egress returns the traffic of every resource that has a meter, of one account where it
// is named.
func (c *Client) Egress(ctx context.Context, account string) (wire.EgressList, error) {
	q := url.Values{}
	if account != "" {
		q.Set("account", account)
	}
	return call[wire.EgressList](ctx, c, http.MethodGet, "/egress", q, nil)
}

// EgressOf returns the traffic of one resource.
func (c *Client) EgressOf(ctx context.Context, id string) (wire.EgressList, error) {
	return call[wire.EgressList](ctx, c, http.MethodGet, "/egress/show", url.Values{"id": {id}}, nil)
}

// Estimate tells what it would cost to send so much ("140GB") from a resource.
func (c *Client) Estimate(ctx context.Context, id, size string) (wire.Estimate, error) {
	return call[wire.Estimate](ctx, c, http.MethodGet, "/egress/estimate", url.Values{"id": {id}, "size": {size}}, nil)
}
