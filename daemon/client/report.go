package client

import (
	"context"
	"net/http"
	"net/url"

	"guard"
	"guard/daemon/wire"
)

// Report returns the digest as of now, its texts in a language.
func (c *Client) Report(ctx context.Context, lang guard.Lang) (wire.Report, error) {
	q := url.Values{}
	if lang != "" {
		q.Set("lang", string(lang))
	}
	return call[wire.Report](ctx, c, http.MethodGet, "/report", q, nil)
}
