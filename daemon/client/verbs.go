package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"guard/daemon/wire"
)

// Filter narrows a list down; the zero Filter is everything that lives.
type Filter struct {
	Account string
	Kind    string
	Owner   string
	Tags    map[string]string // every one, compared exactly
	All     bool              // what is gone too
}

// Register registers a resource, or updates its registration.
func (c *Client) Register(ctx context.Context, r wire.RegisterRequest) (wire.Registered, error) {
	return call[wire.Registered](ctx, c, http.MethodPost, "/register", nil, r)
}

// List returns what guard knows of.
func (c *Client) List(ctx context.Context, f Filter) (wire.List, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("account", f.Account)
	set("kind", f.Kind)
	set("owner", f.Owner)
	for k, v := range f.Tags {
		q.Add("tag", k+"="+v)
	}
	if f.All {
		q.Set("all", "true")
	}
	return call[wire.List](ctx, c, http.MethodGet, "/resources", q, nil)
}

// Show returns everything about one resource.
func (c *Client) Show(ctx context.Context, id string) (wire.Show, error) {
	return call[wire.Show](ctx, c, http.MethodGet, "/show", url.Values{"id": {id}}, nil)
}

// Why returns what guard decides about one resource, and on which facts.
func (c *Client) Why(ctx context.Context, id string) (wire.Why, error) {
	return call[wire.Why](ctx, c, http.MethodGet, "/why", url.Values{"id": {id}}, nil)
}

// Extend moves the limits of a lease.
func (c *Client) Extend(ctx context.Context, r wire.ExtendRequest) (wire.Changed, error) {
	return c.change(ctx, "/extend", r)
}

// Hold puts limits off until a time.
func (c *Client) Hold(ctx context.Context, r wire.HoldRequest) (wire.Changed, error) {
	return c.change(ctx, "/hold", r)
}

// Unhold ends all holds.
func (c *Client) Unhold(ctx context.Context, id string) (wire.Changed, error) {
	return c.change(ctx, "/unhold", wire.IDRequest{ID: id})
}

// Protect keeps guard from ever touching a resource.
func (c *Client) Protect(ctx context.Context, id string) (wire.Changed, error) {
	return c.change(ctx, "/protect", wire.IDRequest{ID: id})
}

// Unprotect ends that.
func (c *Client) Unprotect(ctx context.Context, id string) (wire.Changed, error) {
	return c.change(ctx, "/unprotect", wire.IDRequest{ID: id})
}

// Veto keeps a rule from acting on one resource until a time.
func (c *Client) Veto(ctx context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return c.change(ctx, "/veto", r)
}

// Unveto ends vetoes: of one rule, or of all where none is named.
func (c *Client) Unveto(ctx context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return c.change(ctx, "/unveto", r)
}

// Snooze keeps messages about one resource back until a time, but for urgent ones.
func (c *Client) Snooze(ctx context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return c.change(ctx, "/snooze", r)
}

// Unsnooze ends a snooze.
func (c *Client) Unsnooze(ctx context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return c.change(ctx, "/unsnooze", r)
}

// Ack says that the caller sees to what is wrong with one resource.
func (c *Client) Ack(ctx context.Context, r wire.MuteRequest) (wire.Changed, error) {
	return c.change(ctx, "/ack", r)
}

func (c *Client) change(ctx context.Context, path string, in any) (wire.Changed, error) {
	return call[wire.Changed](ctx, c, http.MethodPost, path, nil, in)
}

// Release orders the release of resources.
func (c *Client) Release(ctx context.Context, r wire.ReleaseRequest) (wire.ReleaseAnswer, error) {
	return call[wire.ReleaseAnswer](ctx, c, http.MethodPost, "/release", nil, r)
}

// Findings returns the open findings, with closed the closed ones too.
func (c *Client) Findings(ctx context.Context, closed bool) (wire.Findings, error) {
	q := url.Values{}
	if closed {
		q.Set("closed", "true")
	}
	return call[wire.Findings](ctx, c, http.MethodGet, "/findings", q, nil)
}

// Log returns the newest entries of the journal, of one subject where id is set.
func (c *Client) Log(ctx context.Context, id string, limit int) (wire.Log, error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if id != "" {
		q.Set("id", id)
	}
	return call[wire.Log](ctx, c, http.MethodGet, "/log", q, nil)
}

// Status returns how the daemon stands and what needs a person.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	return call[wire.Status](ctx, c, http.MethodGet, "/status", nil, nil)
}

// Health returns whether the daemon does its work. That it does not is an
// answer, not an error.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	r := c.watch(ctx, http.MethodGet, c.base+wire.Prefix+"/healthz", nil)
	var out wire.Health
	if r.err != nil {
		return out, r.err
	}
	if r.status == http.StatusServiceUnavailable {
		r.status = http.StatusOK
	}
	err := r.decode(c.addr, &out)
	return out, err
}

// backupFor bounds a backup: a ledger of years is some hundred megabytes.
const backupFor = 30 * time.Minute

// Backup makes the daemon copy its ledger to a file on its own machine.
func (c *Client) Backup(ctx context.Context, to string) error {
	ctx, cancel := context.WithTimeout(ctx, backupFor)
	defer cancel()
	_, err := call[wire.BackupAnswer](ctx, c, http.MethodPost, "/backup", nil, wire.BackupRequest{To: to})
	return err
}
