package fake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"guard"
	"guard/providers"
)

// maxPages ends a listing whose continuation tokens never end.
const maxPages = 10_000

// Config is what the adapter needs.
type Config struct {
	Account  string // the account's name in guard
	Endpoint string // default http://fake.invalid
	Token    guard.Secret
	Scopes   []string
	Truths   guard.Truths
	Next     http.RoundTripper // the cloud
	// Anew: a page is read whether it is the one of before or not, and none is kept,
	// as by the adapters of real clouds.
	Anew bool
}

// Provider is the adapter. Besides providers.Provider it is a Stopper, a Tagger, a
// Protector and a SignalSource.
type Provider struct {
	cfg Config
	api providers.API

	mu    sync.Mutex
	pages map[string]page // the last that each question got, by its query
}

var (
	_ providers.Provider  = (*Provider)(nil)
	_ providers.Stopper   = (*Provider)(nil)
	_ providers.Tagger    = (*Provider)(nil)
	_ providers.Protector = (*Provider)(nil)
)

// New makes an adapter. Without an account or scopes it is guard.ErrInvalid.
func New(cfg Config) (*Provider, error) {
	if cfg.Account == "" || len(cfg.Scopes) == 0 {
		return nil, fmt.Errorf("%w: the fake provider needs an account and scopes", guard.ErrInvalid)
	}
	p := &Provider{cfg: cfg, pages: map[string]page{}, api: providers.API{
		Transport: providers.NewTransport(providers.TransportConfig{Next: cfg.Next, PerSecond: cfg.Truths.CallsPerSecond}),
		Base:      cmp.Or(cfg.Endpoint, "http://fake.invalid"),
	}}
	if token := cfg.Token; token.IsSet() {
		p.api.Sign = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token.Reveal())
			return nil
		}
	}
	// fmt prints what unexported fields hold, a Secret's value too: it lives in
	// the closure alone.
	p.cfg.Token = guard.Secret{}
	return p, nil
}

// Truths implements providers.Provider.
func (p *Provider) Truths() guard.Truths { return p.cfg.Truths }

// Identity implements providers.Provider.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) {
	var in struct {
		Identity string `json:"identity"`
		Kind     string `json:"kind"`
		Self     string `json:"self"`
	}
	if err := p.api.Get(ctx, &in, nil, "v1", "identity"); err != nil {
		return guard.Identity{}, fmt.Errorf("ask %s who it is: %w", p.cfg.Account, err)
	}
	id := guard.Identity{ID: providers.Text(in.Identity, maxID), Strong: in.Kind == "strong", Self: providers.Text(in.Self, maxID)}
	if strings.TrimSpace(id.ID) == "" {
		return guard.Identity{}, fmt.Errorf("ask %s who it is: %w: the answer names nobody", p.cfg.Account, guard.ErrBadReply)
	}
	return id, nil
}

// List implements providers.Provider. A scope that is throttled ends the round:
// the rest fails with the same wait instead of making things worse.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var clock providers.ServerTime
	ctx = providers.CollectServerTime(ctx, &clock)
	scopes := p.cfg.Scopes
	if len(q.Scopes) > 0 {
		scopes = q.Scopes
	}
	var inv providers.Inventory
	var stop error
	for _, kind := range q.Kinds {
		for _, scope := range scopes {
			res := providers.ScopeResult{Scope: scope, Kind: kind, Err: stop}
			if stop == nil {
				res.Resources, res.Err = p.list(ctx, kind, scope)
			}
			if errors.Is(res.Err, guard.ErrThrottled) {
				stop = res.Err
			}
			if err := ctx.Err(); err != nil {
				return providers.Inventory{}, fmt.Errorf("list %s: %w", p.cfg.Account, err)
			}
			inv.Results = append(inv.Results, res)
		}
	}
	inv.ServerTime = clock.Time()
	return inv, nil
}

// list reads all pages of one kind in one scope. With an error it gives what it
// has.
func (p *Provider) list(ctx context.Context, kind guard.Kind, scope string) ([]guard.Resource, error) {
	var out []guard.Resource
	at := map[string]int{} // where each thing is: one may show on two pages
	var wrong int
	query := url.Values{"kind": {string(kind)}, "scope": {scope}}
	tokens := map[string]bool{}
	fail := func(err error) ([]guard.Resource, error) {
		return out, fmt.Errorf("list %s in %s of %s: %w", kind.Plural(), scope, p.cfg.Account, err)
	}
	for {
		page, err := p.page(ctx, query)
		if err != nil {
			return fail(err)
		}
		out = slices.Grow(out, len(page.things))
		wrong += page.unnamed
		for _, r := range page.things {
			if r.ID.Kind != kind {
				wrong++
				continue
			}
			if i, twice := at[r.ID.ID]; twice {
				out[i] = r
				continue
			}
			at[r.ID.ID] = len(out)
			out = append(out, r)
		}
		if page.next == "" {
			break
		}
		if tokens[page.next] || len(tokens) >= maxPages {
			return fail(fmt.Errorf("%w: the pages do not end", guard.ErrBadReply))
		}
		tokens[page.next] = true
		query.Set("page", page.next)
	}
	if wrong > 0 {
		return fail(fmt.Errorf("%w: %d entries name no resource of this kind, so the list does not count as complete", guard.ErrBadReply, wrong))
	}
	return out, nil
}

// page is one page of a list, read. It is never changed.
type page struct {
	body    []byte // what it was read from
	things  []guard.Resource
	unnamed int    // entries that do not say which thing they are about
	next    string // the token of the next page; "" at the end
}

// page asks for a page. Most are, minute after minute, what they were: those are not
// read again.
func (p *Provider) page(ctx context.Context, query url.Values) (page, error) {
	var body json.RawMessage
	if err := p.api.Get(ctx, &body, query, "v1", "resources"); err != nil {
		return page{}, err
	}
	key := query.Encode()
	p.mu.Lock()
	was, had := p.pages[key]
	p.mu.Unlock()
	if had && bytes.Equal(was.body, body) {
		return was, nil
	}
	var in listReply
	if json.Unmarshal(body, &in) != nil || in.Items == nil {
		return page{}, fmt.Errorf("%w: a page has no list in it", guard.ErrBadReply)
	}
	out := page{body: body, next: in.Next, things: make([]guard.Resource, 0, len(in.Items))}
	for _, item := range in.Items {
		if r, ok := p.decode(item, in.Currency); ok {
			out.things = append(out.things, r)
		} else {
			out.unnamed++
		}
	}
	if p.cfg.Anew {
		return out, nil
	}
	p.mu.Lock()
	p.pages[key] = out
	p.mu.Unlock()
	return out, nil
}

// mostIDs are how many things one call may name.
const mostIDs = 100

// Get implements providers.Provider, a hundred IDs a call.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	out := make([]guard.Lookup, 0, len(ids))
	for chunk := range slices.Chunk(ids, mostIDs) {
		out = append(out, p.get(ctx, chunk)...)
	}
	return out
}

func (p *Provider) get(ctx context.Context, ids []guard.ResourceID) []guard.Lookup {
	out := make([]guard.Lookup, len(ids))
	fail := func(i int, err error) {
		out[i] = guard.Lookup{ID: ids[i], Verdict: guard.VerdictUnknown, Err: providers.Says("read", ids[i], err)}
	}
	var ask struct {
		IDs []ref `json:"ids"`
	}
	for _, id := range ids {
		ask.IDs = append(ask.IDs, ref{id.Kind, id.ID})
	}
	var in lookupReply
	if err := p.api.Call(providers.Read(ctx), http.MethodPost, nil, ask, &in, "v1", "lookup"); err != nil {
		for i := range ids {
			fail(i, err)
		}
		return out
	}
	found := map[ref]lookupItem{}
	torn := map[ref]bool{} // answered for twice, as absent and not
	for _, item := range in.Results {
		about := ref{guard.Kind(item.Kind.Text(maxID)), item.ID.Text(maxID)}
		was, told := found[about]
		torn[about] = torn[about] || told && was.Absent != item.Absent
		found[about] = item
	}
	for i, id := range ids {
		item, told := found[ref{id.Kind, id.ID}]
		r, ok := p.decode(item.Resource, in.Currency)
		switch {
		case !told:
			fail(i, fmt.Errorf("%w: the answer says nothing of it", guard.ErrBadReply))
		case torn[ref{id.Kind, id.ID}], item.Absent && !item.Resource.Null():
			fail(i, fmt.Errorf("%w: it is both there and absent", guard.ErrBadReply))
		case item.Error != nil:
			fail(i, item.Error.err())
		case item.Absent:
			out[i] = guard.Lookup{ID: id, Verdict: guard.VerdictAbsent}
		case !ok:
			fail(i, fmt.Errorf("%w: an empty object, which is neither there nor absent", guard.ErrBadReply))
		case r.ID.Key() != id.Key():
			fail(i, fmt.Errorf("%w: the answer is about another resource", guard.ErrBadReply))
		default:
			out[i] = guard.Lookup{ID: id, Verdict: guard.VerdictFound, Resource: r}
		}
	}
	return out
}

// Release implements providers.Provider. A spot request that would start the instance
// again goes first, and a member of a group goes through that.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	if request := opt.Parent; request.Kind == guard.SpotRequest {
		if err := p.write(ctx, http.MethodDelete, nil, request); err != nil && !errors.Is(err, guard.ErrNotFound) {
			return providers.Says("cancel the spot request "+request.ID+" of", id, err)
		}
	}
	path := []string{}
	if opt.Group != "" {
		path = append(path, "group", opt.Group)
	}
	err := p.write(ctx, http.MethodDelete, nil, id, path...)
	if errors.Is(err, guard.ErrNotFound) {
		return nil // gone already
	}
	return providers.Says("release", id, err)
}

// Stop implements providers.Stopper.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error {
	if p.cfg.Truths.Stop == guard.StopUnsupported || id.Kind != guard.Instance {
		return providers.Says("stop", id, guard.ErrUnsupported)
	}
	return providers.Says("stop", id, p.write(ctx, http.MethodPost, nil, id, "stop"))
}

// Tag implements providers.Tagger.
func (p *Provider) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	return providers.Says("tag", id, p.write(ctx, http.MethodPost, map[string]any{"tags": tags}, id, "tags"))
}

// Protection implements providers.Protector.
func (p *Provider) Protection(ctx context.Context, id guard.ResourceID) (providers.Protection, error) {
	var in struct {
		Protected field `json:"protected"`
	}
	if err := p.api.Get(ctx, &in, nil, "v1", string(id.Kind), id.ID, "protection"); err != nil {
		return providers.Protection{}, providers.Says("read the protection of", id, err)
	}
	release, stop := in.Protected.protection()
	if in.Protected.Null() {
		return providers.Protection{}, providers.Says("read the protection of", id, guard.ErrBadReply)
	}
	return providers.Protection{Release: release, Stop: stop}, nil
}

// Unprotect implements providers.Protector.
func (p *Provider) Unprotect(ctx context.Context, id guard.ResourceID) error {
	return providers.Says("unprotect", id, p.write(ctx, http.MethodDelete, nil, id, "protection"))
}

func (p *Provider) write(ctx context.Context, method string, in any, id guard.ResourceID, path ...string) error {
	var out struct {
		Accepted bool `json:"accepted"`
	}
	path = append([]string{"v1", string(id.Kind), id.ID}, path...)
	if err := p.api.Call(providers.Write(ctx), method, nil, in, &out, path...); err != nil {
		return err
	}
	if !out.Accepted {
		return fmt.Errorf("%w, %w: the answer does not say that it was accepted", guard.ErrBadReply, guard.ErrUncertain)
	}
	return nil
}
