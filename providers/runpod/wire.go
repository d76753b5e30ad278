package runpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxID   = 128
	maxName = 256
	maxWord = 64
)

// version is the first segment of every path.
const version = "v2"

// The collections, which are the names of their lists in a reply too where nothing else
// is said.
const (
	podsPath      = "pods"
	clustersPath  = "clusters"
	endpointsPath = "serverless"
	volumesPath   = "network-volumes"
)

// kindOf tells the API's own "not found" from any other 404: errors are problem details
// with a title and the status (description, ErrorResponse; RFC 9457).
func kindOf(status int, body []byte) error {
	if status != http.StatusNotFound && status != http.StatusGone {
		return nil
	}
	var problem struct {
		Title  providers.Field `json:"title"`
		Status providers.Field `json:"status"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Title.Text(maxName) == "" {
		return guard.ErrBadReply
	}
	if n, ok := problem.Status.Count(999); !ok || n != int64(status) {
		return guard.ErrBadReply
	}
	return nil
}

func isAbsent(err error) bool { return errors.Is(err, guard.ErrNotFound) }

// get reads one record. Fields that are left out of T are never kept: a pod's `env` and
// an endpoint's hold secrets.
func get[T any](ctx context.Context, p *Provider, path ...string) (T, error) {
	var out T
	err := p.api.Get(ctx, &out, nil, append([]string{version}, path...)...)
	return out, err
}

// list reads the records under a name of a reply. Records that are none are left out, and so
// are those of one ID that do not say the same; then there is an error beside the others.
func list[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name string, query url.Values, path ...string) ([]T, error) {
	var reply map[string]providers.Field
	if err := p.api.Get(ctx, &reply, query, append([]string{version}, path...)...); err != nil {
		return nil, err
	}
	var raw []providers.Field
	if !reply[name].Into(&raw) {
		return nil, fmt.Errorf("%w: the reply has no list of %s in it", guard.ErrBadReply, name)
	}
	out, wrong := providers.Records(raw, func(x T) (string, bool) { return x.key() })
	if wrong > 0 {
		return out, fmt.Errorf("%w: %d of %d entries of the list of %s have no usable ID of their own, so it does not count as complete", guard.ErrBadReply, wrong, len(raw), name)
	}
	return out, nil
}

// send makes a call that changes something; what it answers with is not read.
func (p *Provider) send(ctx context.Context, method string, in any, path ...string) error {
	return p.api.Call(providers.Write(ctx), method, nil, in, nil, append([]string{version}, path...)...)
}
