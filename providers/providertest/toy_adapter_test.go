package providertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// toy is an adapter that does all that the suite asks for, but for the bug that it has.
type toy struct {
	api providers.API
	bug string
}

func newToy(rt http.RoundTripper, secret guard.Secret, bug string) *toy {
	a := providers.API{Transport: providers.NewTransport(providers.TransportConfig{Next: rt}), Base: "http://toy.invalid",
		Sign: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+secret.Reveal())
			return nil
		}}
	a.Kind = func(status int, body []byte) error {
		var in struct{ Error providers.Field }
		own := json.Unmarshal(body, &in) == nil && in.Error.Text(99) == "no_such_thing"
		switch {
		case own && (status == http.StatusNotFound || bug == "words count whatever the status"):
			return guard.ErrNotFound
		case status == http.StatusNotFound && bug != "any 404 to a release is its end":
			return guard.ErrBadReply
		}
		return nil
	}
	return &toy{a, bug}
}

// without is the toy as a cloud is that reads nothing by ID: what there is comes from a
// listing, which proves no absence.
type without struct{ *toy }

func (p without) Truths() guard.Truths {
	t := p.toy.Truths()
	t.HasGet = false
	return t
}

func (p without) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	out := make([]guard.Lookup, len(ids))
	for i, id := range ids {
		out[i] = p.lookThrough(ctx, id)
	}
	return out
}

func (p *toy) lookThrough(ctx context.Context, id guard.ResourceID) guard.Lookup {
	all, err := p.list(ctx, id.Kind)
	l := guard.Lookup{ID: id, Verdict: guard.VerdictUnknown, Err: err}
	at := slices.IndexFunc(all, func(x guard.Resource) bool { return x.ID.Key() == id.Key() })
	switch {
	case err == nil && at >= 0:
		l.Verdict, l.Resource = guard.VerdictFound, all[at]
	case err == nil:
		l.Err = fmt.Errorf("%w: %s is not listed", guard.ErrNotFound, id)
	}
	return l
}

func (p *toy) Truths() guard.Truths {
	t := guard.Truths{
		Granularity: time.Second, ImmutableIDs: true, HasGet: true, Stop: guard.StopSavesCompute, StopFirst: true, AtZero: guard.ZeroDeletes,
		PriceUnit: "gpu", DeleteLeaves: []guard.Kind{guard.Volume}, ReclaimShows: "nothing",
	}
	switch p.bug {
	case "the truths name no unit of prices":
		t.PriceUnit = ""
	case "a delete is said to leave nothing":
		t.DeleteLeaves = nil
	}
	return t
}

func (p *toy) Identity(ctx context.Context) (guard.Identity, error) {
	if p.bug == "nobody is asked who it is" {
		return guard.Identity{ID: "acct-1", Strong: true}, nil
	}
	var in struct{ Account providers.Field }
	if err := p.api.Get(ctx, &in, nil, "me"); err != nil {
		return guard.Identity{}, err
	}
	account, ok := in.Account.ID(99)
	if !ok {
		return guard.Identity{}, errBad("nobody is named")
	}
	return guard.Identity{ID: account, Strong: true}, nil
}

var folders = map[guard.Kind]string{guard.Instance: "boxes", guard.Volume: "disks"}

// item is a box or a disk.
type item struct {
	ID, Name, State, Created providers.Field
	GPUs                     providers.Field
	Price                    providers.Field `json:"usd_gpu_hour"`
	Box                      providers.Field
}

func (p *toy) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	var inv providers.Inventory
	for _, kind := range q.Kinds {
		r := providers.ScopeResult{Scope: "global", Kind: kind}
		r.Resources, r.Err = p.list(ctx, kind)
		inv.Results = append(inv.Results, r)
	}
	return inv, ctx.Err()
}

func (p *toy) list(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
	if p.bug == "a read is tried until it succeeds" {
		for range 9 {
			if out, err := p.listOnce(ctx, kind); err == nil {
				return out, nil
			}
		}
	}
	out, err := p.listOnce(ctx, kind)
	if p.bug == "a read is tried again after a rest" && err != nil {
		<-time.After(time.Second)
		return p.listOnce(ctx, kind)
	}
	return out, err
}

func (p *toy) listOnce(ctx context.Context, kind guard.Kind) ([]guard.Resource, error) {
	if folders[kind] == "" {
		return nil, guard.ErrUnsupported
	}
	var in struct{ Boxes, Disks []providers.Field }
	err := p.api.Get(ctx, &in, nil, folders[kind])
	if p.bug == "redirects are followed" && err != nil {
		return nil, p.follow(ctx, folders[kind])
	}
	if err != nil {
		return nil, err
	}
	items := in.Boxes
	if kind == guard.Volume {
		items = in.Disks
	}
	if p.bug == "nothing is no answer" && len(items) == 0 || items == nil && p.bug != "no list is an empty one" {
		return nil, errBad("there is no list")
	}
	var out []guard.Resource
	wrong := 0
	for _, b := range items {
		x, ok := p.resource(kind, b)
		switch {
		case ok && p.bug == "what is attached is not listed" && !x.Parent.IsZero():
		case ok:
			out = append(out, x)
		case p.bug != "an entry that makes no sense is passed over":
			wrong++
		}
	}
	if wrong > 0 {
		return out, errBad("there are entries without an ID")
	}
	return out, nil
}

// follow asks as net/http does by default.
func (p *toy) follow(ctx context.Context, folder string) error {
	c := http.Client{Transport: roundTripper(p.api.Transport.Do)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api.Base+"/"+folder, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return providers.Redact(err)
	}
	defer resp.Body.Close()
	return providers.StatusError(resp, nil)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func id(kind guard.Kind, id string) guard.ResourceID {
	return guard.ResourceID{Account: "conformance", Kind: kind, Scope: "global", ID: id}
}

func (p *toy) resource(kind guard.Kind, b providers.Field) (guard.Resource, bool) {
	var in item
	if !b.Into(&in) {
		return guard.Resource{}, false
	}
	name, ok := in.ID.ID(99)
	if !ok {
		return guard.Resource{}, false
	}
	x := guard.Resource{ID: id(kind, name), Name: in.Name.Text(99), RawState: in.State.Text(99), State: guard.StateUnknown, Bills: guard.Yes, Created: in.Created.Time()}
	for _, s := range []guard.State{guard.StateProvisioning, guard.StateRunning, guard.StateStopping, guard.StateStopped, guard.StateReleasing, guard.StateGone} {
		if x.RawState == string(s) {
			x.State = s
		}
	}
	if p.bug == "a new word means that it is over" && x.State == guard.StateUnknown {
		x.State, x.Bills = guard.StateGone, guard.No
	}
	if kind == guard.Volume {
		if box, ok := in.Box.ID(99); ok {
			x.Parent = id(guard.Instance, box)
		}
		return x, true
	}
	gpus, _ := in.GPUs.Count(64)
	x.GPUs, x.StopSaves = int(gpus), guard.StopSavesCompute
	if p.bug == "what is stopped costs nothing, and bills" {
		x.StopSaves = guard.StopSavesAll
	}
	switch price, _ := in.Price.Money("USD"); {
	case p.bug == "the price of a GPU is that of the machine":
		x.Rate = guard.Rate{Amount: price, Per: time.Hour}
	case p.bug == "no price is none to pay" && !price.IsSet():
		x.Rate = guard.Rate{Amount: guard.ZeroMoney("USD"), Per: time.Hour, Free: true}
	case price.IsPositive() && x.GPUs > 0:
		x.Rate = guard.Rate{Amount: price, Per: time.Hour, Unit: "gpu"}.PerGPU(x.GPUs)
	}
	return x, true
}

func (p *toy) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	var out []guard.Lookup
	for _, id := range ids {
		out = append(out, p.get(ctx, id))
	}
	return out
}

func (p *toy) get(ctx context.Context, id guard.ResourceID) guard.Lookup {
	l := guard.Lookup{ID: id, Verdict: guard.VerdictUnknown}
	var in providers.Field
	if p.bug == "a disk is looked for in the list of all" && id.Kind == guard.Volume {
		return p.lookThrough(ctx, id)
	}
	switch l.Err = p.api.Get(ctx, &in, nil, folders[id.Kind], id.ID); {
	case errors.Is(l.Err, guard.ErrNotFound):
		l.Verdict, l.Err = guard.VerdictAbsent, nil
		return l
	case l.Err != nil:
		return l
	}
	x, ok := p.resource(id.Kind, in)
	if !ok || x.ID.Key() != id.Key() {
		l.Err = errBad("it is another, or none")
		return l
	}
	l.Verdict, l.Resource = guard.VerdictFound, x
	return l
}

func (p *toy) write(ctx context.Context, method string, path ...string) error {
	var in struct{ OK providers.Field }
	err := p.api.Call(providers.Write(ctx), method, nil, nil, &in, path...)
	if err == nil && in.OK.Tri() != guard.Yes {
		return fmt.Errorf("%w, %w", errBad("it does not say that it was done"), guard.ErrUncertain)
	}
	return err
}

func (p *toy) Release(ctx context.Context, id guard.ResourceID, _ providers.ReleaseOptions) error {
	err := p.write(ctx, http.MethodDelete, folders[id.Kind], id.ID)
	switch {
	case errors.Is(err, guard.ErrNotFound):
		return nil
	case !errors.Is(err, guard.ErrConflict):
		return err
	case id.Kind != guard.Instance:
		if p.bug == "what is in use is taken for released" {
			return nil
		}
		return err
	}
	l := p.get(ctx, id)
	if l.Err != nil {
		return l.Err
	}
	if l.Resource.State == guard.StateRunning || p.bug == "a stop is sent each time" {
		if err := p.Stop(ctx, id); err != nil {
			return err
		}
	}
	if p.bug == "a stop is taken for a release" {
		return nil
	}
	return &guard.RetryError{Err: fmt.Errorf("%w: %s is being stopped first", guard.ErrConflict, id), After: 10 * time.Second}
}

func (p *toy) Stop(ctx context.Context, id guard.ResourceID) error {
	if p.bug == "a stop does nothing" {
		return nil
	}
	return p.write(ctx, http.MethodPost, folders[id.Kind], id.ID, "stop")
}

func (p *toy) Balance(ctx context.Context) (guard.Balance, error) {
	var in struct{ Balance, Currency providers.Field }
	if err := p.api.Get(ctx, &in, nil, "balance"); err != nil {
		return guard.Balance{}, err
	}
	m, _ := in.Balance.Money("USD")
	switch {
	case p.bug == "a balance that is not told is used up" && !m.IsSet():
		return guard.Balance{Amount: guard.ZeroMoney("USD")}, nil
	case !m.IsSet(), in.Currency.Text(9) != "USD" && p.bug != "any currency is dollars":
		return guard.Balance{}, errBad("it tells no balance")
	}
	return guard.Balance{Amount: m}, nil
}

func (p *toy) Charges(ctx context.Context, since time.Time) ([]guard.Charge, error) {
	var in struct {
		Charges []struct{ Box, From, To, USD providers.Field }
	}
	if p.bug == "a bill is read from its beginning" {
		since = time.Time{}
	}
	if err := p.api.Get(ctx, &in, url.Values{"since": {since.UTC().Format(time.RFC3339)}}, "charges"); err != nil {
		return nil, err
	}
	if in.Charges == nil && p.bug != "no bill is an empty one" {
		return nil, errBad("there is no bill")
	}
	var out []guard.Charge
	for _, x := range in.Charges {
		c := guard.Charge{Resource: id(guard.Instance, x.Box.Text(99)), What: "gpu", From: x.From.Time(), To: x.To.Time()}
		c.Amount, _ = x.USD.Money("USD")
		if c.From.IsZero() || c.To.Before(c.From) || !c.Amount.IsSet() {
			if p.bug == "a charge that makes no sense is passed over" {
				continue
			}
			return nil, errBad("a charge has no time or no amount")
		}
		out = append(out, c)
	}
	if p.bug != "charges come as they are told" {
		slices.SortStableFunc(out, func(a, b guard.Charge) int { return a.From.Compare(b.From) })
	}
	return out, nil
}

func toyHarness(bug string) providertest.Harness {
	return providertest.Harness{
		New: func(_ T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return newToy(rt, secret, bug)
		},
		Serve:        func(_ T, w providertest.World) http.RoundTripper { return newToyCloud(w) },
		Classify:     classify,
		Scopes:       []string{"global"},
		Kinds:        []guard.Kind{guard.Volume},
		Attached:     []guard.Kind{guard.Volume},
		Currency:     "USD",
		Unpaged:      true,
		NoTags:       true,
		NoProtection: true,
		NotFound:     func(string) (int, string) { return 404, `{"error":"no_such_thing"}` },
	}
}
