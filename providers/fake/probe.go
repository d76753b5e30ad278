package fake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"guard"
	"guard/providers"
)

var _ providers.Prober = (*Provider)(nil)

// writes are what a probe tries on an instance, by the API's names.
var writes = []struct {
	call, method string
	path         []string
	acts         bool
}{
	{CallTag, http.MethodPost, []string{"tags"}, false},
	{CallStop, http.MethodPost, []string{"stop"}, true},
	{CallRelease, http.MethodDelete, nil, true},
}

// Probe implements providers.Prober. The API's refusals name no permission; the
// call that was refused is one.
func (p *Provider) Probe(ctx context.Context, on ...guard.ResourceID) []providers.Check {
	var clock providers.ServerTime
	at, told := guard.InstantFrom(ctx)
	id, err := p.Identity(providers.CollectServerTime(ctx, &clock))
	who := named(CallIdentity, err)
	if err == nil {
		who.Text = "these credentials are of " + id.ID
	}
	checks := []providers.Check{who}
	if told {
		checks = append(checks, providers.CheckClock(at.Wall, clock.Time()))
	}
	if err != nil {
		return checks
	}
	var seen []guard.ResourceID
	listed := providers.Check{Name: CallList, Outcome: providers.CheckOK}
	inv, err := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
	for _, r := range inv.Results {
		if err == nil {
			err = r.Err
		}
		for _, x := range r.Resources {
			if x.Live() {
				seen = append(seen, x.ID)
			}
		}
	}
	if err != nil {
		listed = named(CallList, err)
	}
	checks = append(checks, listed)
	on = slices.DeleteFunc(slices.Clone(on), func(id guard.ResourceID) bool {
		return id.Account != p.cfg.Account || id.Kind != guard.Instance || id.ID == ""
	})
	subjects := append(on, seen...)
	for _, w := range writes {
		if w.call == CallStop && p.cfg.Truths.Stop == guard.StopUnsupported {
			continue
		}
		c := providers.Check{Name: w.call, Outcome: providers.CheckUntried, Text: "not tried: no instance to try it on"}
		for _, id := range subjects {
			err := p.dryRun(ctx, w.method, id, w.path...)
			if errors.Is(err, guard.ErrNotFound) {
				continue // gone in between
			}
			c = named(w.call, err)
			break
		}
		c.Acts = w.acts
		checks = append(checks, c)
	}
	return checks
}

// dryRun asks whether a write would be allowed.
func (p *Provider) dryRun(ctx context.Context, method string, id guard.ResourceID, path ...string) error {
	var out struct {
		DryRun bool `json:"dry_run"`
	}
	path = append([]string{"v1", string(id.Kind), id.ID}, path...)
	if err := p.api.Call(providers.Write(ctx), method, url.Values{"dry_run": {"1"}}, nil, &out, path...); err != nil {
		return err
	}
	if !out.DryRun {
		return fmt.Errorf("%w: the answer does not say that it was a dry run", guard.ErrBadReply)
	}
	return nil
}

// named is the check of a call, its name in what is said about it.
func named(call string, err error) providers.Check {
	c := providers.CheckOf(call, err)
	if c.Outcome == providers.CheckRefused {
		c.Text = "these credentials may not " + call + ": " + c.Text
		c.Do = "give the credentials the permission to " + call
	}
	return c
}
