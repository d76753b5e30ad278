package autodl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters, and bounds beyond which a number is
// noise.
const (
	maxID    = 128
	maxName  = 256
	maxWord  = 64
	maxGPUs  = 1024
	maxPages = 1000
	pageSize = 100
)

// The paths, behind the endpoint.
var (
	listPath     = pro("list")
	statusPath   = pro("status")
	snapshotPath = pro("snapshot")
	offPath      = pro("power_off")
	releasePath  = pro("release")
	walletPath   = []string{"api", "v1", "dev", "wallet", "balance"}

	deploymentsPath = []string{"api", "v1", "dev", "deployment", "list"}
	containersPath  = []string{"api", "v1", "dev", "deployment", "container", "list"}
	endPath         = []string{"api", "v1", "dev", "deployment", "container", "stop"}
)

func pro(verb string) []string { return []string{"api", "v1", "dev", "instance", "pro", verb} }

// kindOf keeps a 404 that no API of AutoDL sent from meaning "not found": that has the
// status 200, and a code.
func kindOf(status int, _ []byte) error {
	if status == http.StatusNotFound || status == http.StatusGone {
		return guard.ErrBadReply
	}
	return nil
}

// reply is what every answer is. Fields that are left out are never kept: the details of an
// instance hold its password and its token.
type reply struct {
	Code providers.Field `json:"code"`
	Msg  providers.Field `json:"msg"`
	Data providers.Field `json:"data"`
}

// codes are the codes that are known, each from what users wrote down (2026).
var codes = map[string]struct {
	kind error
	says string
}{
	"AuthorizeFailed":         {guard.ErrPermission, "the token is not valid, or not any more; take the one of the console's settings"},
	"TORealName":              {guard.ErrPermission, "the account's owner is not verified; AutoDL wants that first"},
	"RecordNotFoundError":     {guard.ErrNotFound, "the provider knows no such thing"},
	"RequestParameterIsWrong": {guard.ErrInvalid, "the provider does not accept the request"},
	"InternalError":           {guard.ErrUnavailable, "the provider failed; guard tries again"},
}

// What AutoDL says with the code BadRequest, which has many meanings: that the account has
// no right to what it asks for, and that an instance has to be off (users).
const (
	saysNoRight = "无当前资源访问权限"
	saysNotOff  = "关机状态"
)

// errNoRight: the account has no right to what it asks for: a thing, or a part of the API.
var errNoRight = fmt.Errorf("%w: the account has no right to that thing, or to that part of the API", guard.ErrPermission)

// err is what an answer says that has a code other than Success; nil for Success. A code that
// is not known is guard.ErrUnavailable: neither done nor absent.
func (r reply) err() error {
	code := r.Code.Text(maxWord)
	known, ok := codes[code]
	switch {
	case code == "Success":
		return nil
	case code == "":
		return fmt.Errorf("%w: the answer has no code; check the endpoint", guard.ErrBadReply)
	case ok:
		return fmt.Errorf("%w: code %s: %s", known.kind, code, known.says)
	}
	msg := r.Msg.Text(maxName)
	switch {
	case code != "BadRequest":
	case strings.Contains(msg, saysNoRight):
		return errNoRight
	case strings.Contains(msg, saysNotOff):
		return fmt.Errorf("%w: code %s: it has to be off first", guard.ErrConflict, code)
	default:
		return fmt.Errorf("%w: code %s: the provider does not accept the request", guard.ErrInvalid, code)
	}
	if strings.Trim(code, letters) != "" {
		code = "of another form" // whatever it is, it is not quoted
	}
	return fmt.Errorf("%w: the answer's code is not known: %s", guard.ErrUnavailable, code)
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func isAbsent(err error) bool { return errors.Is(err, guard.ErrNotFound) }

// ask reads, whatever the method, and gives the answer's data.
func (p *Provider) ask(ctx context.Context, method string, query url.Values, in any, path []string) (providers.Field, error) {
	var r reply
	if err := p.api.Call(providers.Read(ctx), method, query, in, &r, path...); err != nil {
		return nil, err
	}
	return r.Data, r.err()
}

// order makes a call that changes something. An answer without a code leaves open whether it
// was done.
func (p *Provider) order(ctx context.Context, method string, in any, path []string) error {
	var r reply
	if err := p.api.Call(providers.Write(ctx), method, nil, in, &r, path...); err != nil {
		return err
	}
	err := r.err()
	if errors.Is(err, guard.ErrBadReply) {
		return fmt.Errorf("%w: whether it was done is not known: %w", guard.ErrUncertain, err)
	}
	return err
}

// about asks for one Pro instance. The pages show the ID in the body of a GET; it is read from
// the query alone (users).
func (p *Provider) about(ctx context.Context, id string, path []string) (providers.Field, error) {
	return p.ask(ctx, http.MethodGet, url.Values{"instance_uuid": {id}}, nil, path)
}

// always is the error of a call about what every account has: that is never "not found".
func always(err error) error {
	if isAbsent(err) {
		return fmt.Errorf("%w: it is told as not found, which it cannot be", guard.ErrBadReply)
	}
	return err
}

// page is one of a list.
type page struct {
	List  providers.Field `json:"list"`
	Index providers.Field `json:"page_index"`
	Last  providers.Field `json:"max_page"`
	Total providers.Field `json:"result_total"`
}

// record is an entry of a list.
type record interface {
	key() (string, bool)
}

// list reads all pages of a list, and gives an error beside what was read where they are not
// all that the provider says there is: pages that failed, that contradict each other, or
// entries without an ID. The request's own fields are in.
func list[T record](ctx context.Context, p *Provider, in map[string]any, path []string) ([]T, error) {
	var out []T
	seen := map[string]bool{}
	var wrong int
	var total int64
	for n := int64(1); ; n++ {
		body := map[string]any{"page_index": n, "page_size": pageSize}
		for k, v := range in {
			body[k] = v
		}
		data, err := p.ask(ctx, http.MethodPost, nil, body, path)
		if err != nil {
			return out, err
		}
		entries, last, all, err := pageOf(data, n)
		if err != nil {
			return out, err
		}
		for _, f := range entries {
			var x T
			id, ok := "", f.Into(&x)
			if ok {
				id, ok = x.key()
			}
			switch {
			case !ok:
				wrong++
			case !seen[id]:
				seen[id] = true
				out = append(out, x)
			}
		}
		if n > 1 && all != total {
			return out, fmt.Errorf("%w: the list changed while it was read", guard.ErrUnavailable)
		}
		if total = all; n >= last {
			break
		}
	}
	switch {
	case wrong > 0:
		return out, fmt.Errorf("%w: %d of %d entries of the list have no usable ID, so it does not count as complete", guard.ErrBadReply, wrong, wrong+len(out))
	case int64(len(out)) != total:
		return out, fmt.Errorf("%w: the list has %d entries, and says that there are %d", guard.ErrBadReply, len(out), total)
	}
	return out, nil
}

// pageOf takes the n-th page apart: its entries, how many pages there are, and how many entries
// on all of them. A page without a list is none, but where there is nothing the list is null.
func pageOf(data providers.Field, n int64) (entries []providers.Field, last, total int64, err error) {
	var x page
	if !data.Into(&x) {
		return nil, 0, 0, fmt.Errorf("%w: the answer has no list in it", guard.ErrBadReply)
	}
	index, ok := x.Index.Count(maxPages)
	if !x.Index.Null() && (!ok || index != n) {
		return nil, 0, 0, fmt.Errorf("%w: the answer is another page than page %d", guard.ErrBadReply, n)
	}
	last, ok = x.Last.Count(maxPages)
	total, counted := x.Total.Count(maxPages * pageSize)
	if !ok || !counted {
		return nil, 0, 0, fmt.Errorf("%w: the answer does not say how many entries and pages there are", guard.ErrBadReply)
	}
	empty := total == 0 && string(x.List) == "null"
	if !empty && !x.List.Into(&entries) {
		return nil, 0, 0, fmt.Errorf("%w: the answer has no list in it", guard.ErrBadReply)
	}
	return entries, last, total, nil
}
