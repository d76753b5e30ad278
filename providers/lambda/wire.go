package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxID   = 128
	maxName = 256
	maxWord = 64
)

// The paths. The list of file systems and the deletion of one are spelled differently
// (description).
var (
	instancesPath   = []string{"api", "v1", "instances"}
	terminatePath   = []string{"api", "v1", "instance-operations", "terminate"}
	fileSystemsPath = []string{"api", "v1", "file-systems"}
	deletePath      = []string{"api", "v1", "filesystems"}
)

// kindOf is what the code of a refusal says beyond its status (description, the ApiErrors);
// nil where that is nothing. A 404 without the API's own word for it is no answer of the
// API.
func kindOf(status int, body []byte) error {
	var reply struct {
		Error struct {
			Code providers.Field `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &reply) // then there is no code
	code := reply.Error.Code.Text(maxName)
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		if code != "global/object-does-not-exist" {
			return guard.ErrBadReply
		}
	case status == http.StatusForbidden && code == "global/account-inactive":
		return guard.ErrRefused
	case providers.KindOf(status) != guard.ErrInvalid:
	case code == "filesystems/filesystem-in-use":
		return guard.ErrConflict
	case strings.HasPrefix(code, "provider/"): // of whoever is behind Lambda
		return guard.ErrUnavailable
	}
	return nil
}

func isAbsent(err error) bool { return errors.Is(err, guard.ErrNotFound) }

// data reads what a reply is about.
func (p *Provider) data(ctx context.Context, path ...string) (providers.Field, error) {
	var reply struct {
		Data providers.Field `json:"data"`
	}
	err := p.api.Get(ctx, &reply, nil, path...)
	return reply.Data, err
}

// list reads the records of a list. Records that are none are left out, and so are those of
// one ID that do not say the same; then there is an error beside the others.
// Fields that are left out of T are never kept: an instance's jupyter_token and jupyter_url
// let in whoever has them.
func list[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, path ...string) ([]T, error) {
	data, err := p.data(ctx, path...)
	if err != nil {
		return nil, err
	}
	var raw []providers.Field
	if !data.Into(&raw) {
		return nil, fmt.Errorf("%w: the reply has no list in it", guard.ErrBadReply)
	}
	out, wrong := providers.Records(raw, func(x T) (string, bool) { return x.key() })
	if wrong > 0 {
		return out, fmt.Errorf("%w: %d of %d entries have no usable ID of their own, so the list does not count as complete", guard.ErrBadReply, wrong, len(raw))
	}
	return out, nil
}

// readInstance reads one instance.
func (p *Provider) readInstance(ctx context.Context, id string) (instance, error) {
	data, err := p.data(ctx, append(slices.Clone(instancesPath), id)...)
	if err != nil {
		return instance{}, err
	}
	var x instance
	data.Into(&x) // else it has no ID
	got, ok := x.key()
	return x, providers.CheckAnswer(got, ok, id)
}
