package client

import (
	"context"
	"net/http"

	"guard/daemon/wire"
)

// Doctor has guardd look at everything that it stands on, in calls to providers and
// channels too; it may take a minute.
func (c *Client) Doctor(ctx context.Context) (wire.Diagnosis, error) {
	return call[wire.Diagnosis](ctx, c, http.MethodGet, "/doctor", nil, nil)
}
