package digitalocean

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxID   = 128
	maxName = 256
	maxWord = 64
	maxTag  = 255 // the description's
)

// strict signs each call and lets only successes through: godo's own error of a refusal
// quotes the URL and the reply.
type strict struct {
	transport *providers.Transport
	token     guard.Secret
}

// strictly is a client for godo.
func strictly(t *providers.Transport, token guard.Secret) *http.Client {
	return &http.Client{Transport: strict{t, token}}
}

// RoundTrip implements http.RoundTripper.
func (s strict) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token.Reveal())
	resp, err := s.transport.Do(r)
	if err != nil {
		return nil, err
	}
	if providers.KindOf(resp.StatusCode) == nil {
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body) // it is in memory
	if err != nil {
		return nil, errOdd
	}
	return nil, refusal(resp, body)
}

// errOdd is an answer that is none of the API's.
var errOdd = fmt.Errorf("%w: this is not an answer of the API; check the endpoint", guard.ErrBadReply)

// refusal is the error of a response that is not a success. A 404 counts as the API's word
// only with the ID that it has for it (description).
func refusal(resp *http.Response, body []byte) error {
	var reply struct {
		ID providers.Field `json:"id"`
	}
	_ = json.Unmarshal(body, &reply) // then there is none
	lost := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone
	if lost && reply.ID.Text(maxWord) != "not_found" {
		return errOdd
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		if _, ok := providers.Hint(resp, body); !ok {
			hint(resp.Header)
		}
	}
	return providers.StatusError(resp, body)
}

// hint puts the wait that a refusal's rate headers tell, the time at which the oldest call
// no longer counts (description), where the transport looks for one.
func hint(h http.Header) {
	reset, err := strconv.ParseInt(h.Get("Ratelimit-Reset"), 10, 64)
	now, none := http.ParseTime(h.Get("Date"))
	if err != nil || none != nil {
		return
	}
	if wait := time.Unix(reset, 0).Sub(now); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
	}
}

// plain takes what http.Client and godo put around an error of ours off it: they quote the
// URL. What is left is an answer that could not be read.
func plain(err error) error {
	var (
		wait *guard.RetryError
		call *providers.CallError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wait):
		return wait
	case errors.As(err, &call):
		return call
	}
	return errOdd
}

// written is how a write ended; an odd answer leaves open whether it was done.
func written(err error) error {
	if err = plain(err); errors.Is(err, errOdd) {
		return fmt.Errorf("%w: %w", guard.ErrUncertain, err)
	}
	return err
}

func isAbsent(err error) bool { return errors.Is(err, guard.ErrNotFound) }

// read reads one reply.
func (p *Provider) read(ctx context.Context, path string, query url.Values) (map[string]providers.Field, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := p.api.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the request cannot be made; check the ID", guard.ErrInvalid)
	}
	var body bytes.Buffer
	if _, err := p.api.Do(ctx, req, &body); err != nil { //nolint:bodyclose // godo closes it
		return nil, plain(err)
	}
	var reply map[string]providers.Field
	if json.Unmarshal(body.Bytes(), &reply) != nil || reply == nil {
		return nil, fmt.Errorf("%w: the reply is not whole JSON of the API's shape", guard.ErrBadReply)
	}
	return reply, nil
}

// get reads the record under a name of a reply, which is about the thing that is asked for.
func get[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, path, id string) (T, error) {
	var x T
	reply, err := p.read(ctx, path+"/"+id, nil)
	if err != nil {
		return x, err
	}
	reply[name].Into(&x) // else it has no ID
	got, ok := x.key()
	return x, providers.CheckAnswer(got, ok, id)
}

const (
	perPage  = 200 // the most (description)
	maxPages = 1000
)

// list reads all pages of a list, in which each thing is once, unless things have no IDs:
// their key is "". Records that are none are left out, and then there is an error beside the
// others; so it is where the pages do not make up the number that the API counts, or that
// changes meanwhile. What else a page tells goes to also.
func list[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, path string, query url.Values, also ...func(reply map[string]providers.Field)) ([]T, error) {
	out, at := []T{}, map[string]bool{}
	seen, wrong, total := 0, 0, -1
	var last []providers.Field
	for n := 1; ; n++ {
		raw, count, more, err := p.page(ctx, name, path, query, n, also)
		before := len(out)
		for _, b := range raw {
			var x T
			b.Into(&x) // else it has no ID
			id, ok := x.key()
			if !ok {
				wrong++
			} else if id == "" || !at[id] {
				at[id] = true
				out = append(out, x)
			}
		}
		switch {
		case err != nil:
			return out, err
		case total >= 0 && count != total:
			return out, fmt.Errorf("%w: the list of %s changed while it was read", guard.ErrBadReply, name)
		case len(raw) > 0 && slices.EqualFunc(raw, last, func(a, b providers.Field) bool { return bytes.Equal(a, b) }):
			return out, fmt.Errorf("%w: two pages of the list of %s are the same", guard.ErrBadReply, name)
		}
		total, seen, last = count, seen+len(raw), raw
		switch {
		case seen < total && len(out) > before && n < maxPages:
		case wrong > 0:
			return out, fmt.Errorf("%w: %d of %d entries of the list of %s have no usable ID, so it does not count as complete", guard.ErrBadReply, wrong, seen, name)
		case len(out) > total && !more:
			return out, fmt.Errorf("%w: the list of %s has %d entries: %w, %d", guard.ErrBadReply, name, len(out), errSurplus, total)
		case len(out) != total:
			return out, fmt.Errorf("%w: the list of %s has %d entries and counts %d", guard.ErrBadReply, name, len(out), total)
		default:
			return out, nil
		}
	}
}

// errSurplus is of a list without a further page and with more entries than it counts.
var errSurplus = errors.New("more than it counts")

// page reads the n-th page of a list, how many entries the API counts on all of them, and
// whether it tells of a further one.
func (p *Provider) page(ctx context.Context, name, path string, query url.Values, n int, also []func(map[string]providers.Field)) (entries []providers.Field, total int, more bool, err error) {
	q := url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(n)}}
	maps.Copy(q, query)
	reply, err := p.read(ctx, path, q)
	if isAbsent(err) {
		err = fmt.Errorf("%w: there is no such list", guard.ErrBadReply)
	}
	if err != nil {
		return nil, 0, false, err
	}
	for _, f := range also {
		f(reply)
	}
	var meta struct {
		Total providers.Field `json:"total"`
	}
	reply["meta"].Into(&meta)
	var links struct {
		Pages struct {
			Next providers.Field `json:"next"`
		} `json:"pages"`
	}
	reply["links"].Into(&links)
	count, counted := meta.Total.Count(maxPages * perPage)
	switch {
	case !reply[name].Into(&entries):
		err = fmt.Errorf("%w: the reply has no list of %s in it", guard.ErrBadReply, name)
	case !counted:
		err = fmt.Errorf("%w: the list of %s does not tell how many there are", guard.ErrBadReply, name)
	}
	return entries, int(count), !links.Pages.Next.Null(), err
}

// numeric reports whether an ID is one of those that are numbers.
func numeric(id string) bool {
	return id != "" && len(id) <= 18 && id[0] != '0' && strings.Trim(id, "0123456789") == ""
}

// number is an ID that is a number, in digits.
func number(f providers.Field) (string, bool) {
	return string(f), numeric(string(f))
}

// shaped reports whether an ID is of the form that those of a kind have. godo puts IDs into
// paths as they are.
func shaped(id guard.ResourceID) bool {
	if own, ok := endpointID(id); ok {
		return opaque(own)
	}
	_, _, regional := inRegion(id.ID)
	switch id.Kind {
	case guard.Instance, guard.Image:
		return numeric(id.ID)
	case guard.Address:
		at, err := netip.ParseAddr(id.ID)
		return err == nil && !at.Is4In6() && at.Zone() == "" && at.String() == id.ID
	case guard.Filesystem:
		return regional
	case guard.Snapshot:
		return regional || opaque(id.ID)
	}
	return opaque(id.ID)
}

// opaque reports whether an ID is of letters, digits and dashes, as those that are no
// numbers are.
func opaque(id string) bool {
	const form = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
	return id != "" && len(id) <= maxID && strings.Trim(id, form) == ""
}

// name is an ID of that form.
func name(f providers.Field) (string, bool) {
	id, ok := f.ID(maxID)
	return id, ok && opaque(id)
}

// odd is the error of an ID that no thing of its kind has.
func odd(id guard.ResourceID) error {
	return fmt.Errorf("%w: no %s of DigitalOcean has an ID of this form", guard.ErrInvalid, id.Kind)
}
