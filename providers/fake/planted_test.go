package fake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// bugs are adapters with one fault each, and the test of the suite that sees it.
var bugs = map[string]string{
	"a failed list looks complete":   "a failed scope is never empty",
	"only the first page":            "list all pages",
	"a failed get is absent":         "a failed get is never absent",
	"get forgets the order":          "get answers for every ID in order",
	"a write is tried twice":         "writes are sent once",
	"cancelling is ignored":          "a cancelled context makes no call",
	"protection is stripped":         "protection is respected",
	"errors tell the secret":         "no secret is told",
	"waits are forgotten":            "waits",
	"a second release is an error":   "release",
	"kinds are lost":                 "status kinds",
	"a page for people is a success": "bad replies",
	"signals forget the order":       "signals answer for every instance in order",
	"since is inclusive":             "signals answer for every instance in order",
	"failed signals are none":        "failed signals are never an empty answer",
	"scopes are ignored":             "list a subset of scopes",
	"an unknown state is free":       "odd fields",
	"tags are not written":           "tag",
	"a probe releases":               "probe",
	"samples are of no time":         "odd signals",
	"a timer is set once":            "a timer is read back",
	"a timer is never taken away":    "a timer is read back",
	"a failed timer is none":         "a timer that is not known is not none",
	"a timer is always set":          "a timer that is not known is not none",
}

// bad is the adapter with a bug in it.
type bad struct {
	timedPaid
	bug string
}

func (b bad) Identity(ctx context.Context) (guard.Identity, error) {
	id, err := b.Provider.Identity(b.context(ctx))
	if b.bug == "a page for people is a success" && errors.Is(err, guard.ErrBadReply) {
		return guard.Identity{ID: "somebody"}, nil
	}
	return id, b.spoil(err)
}

func (b bad) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	if b.bug == "scopes are ignored" {
		q.Scopes = nil
	}
	inv, err := b.Provider.List(b.context(ctx), q)
	for i := range inv.Results {
		r := &inv.Results[i]
		switch r.Err = b.spoil(r.Err); {
		case b.bug == "a failed list looks complete":
			r.Err = nil
		case b.bug == "only the first page":
			r.Resources = r.Resources[:min(2, len(r.Resources))]
		}
		for j := range r.Resources {
			if x := &r.Resources[j]; b.bug == "an unknown state is free" && x.State == guard.StateUnknown {
				x.Bills = guard.No
			}
		}
	}
	return inv, b.spoil(err)
}

func (b bad) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup {
	out := b.Provider.Get(b.context(ctx), ids...)
	for i := range out {
		out[i].Err = b.spoil(out[i].Err)
		if b.bug == "a failed get is absent" && out[i].Err != nil {
			out[i].Verdict = guard.VerdictAbsent
		}
	}
	if b.bug == "get forgets the order" {
		slices.Reverse(out)
	}
	return out
}

func (b bad) Signals(ctx context.Context, q providers.SignalQuery) []providers.Signals {
	if b.bug == "since is inclusive" {
		for i := range q.Of {
			q.Of[i].Since = q.Of[i].Since.Add(-1)
		}
	}
	out := b.Provider.Signals(b.context(ctx), q)
	for i := range out {
		if out[i].Err = b.spoil(out[i].Err); b.bug == "failed signals are none" {
			out[i].Err = nil
		}
		for j := range out[i].Samples {
			if b.bug == "samples are of no time" {
				out[i].Samples[j].At = time.Time{}
			}
		}
	}
	if b.bug == "signals forget the order" {
		slices.Reverse(out)
	}
	return out
}

func (b bad) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	err := b.Provider.Release(b.context(ctx), id, opt)
	switch {
	case b.bug == "a write is tried twice" && err != nil:
		err = b.Provider.Release(ctx, id, opt)
	case b.bug == "protection is stripped" && errors.Is(err, guard.ErrProtected):
		_ = b.Unprotect(ctx, id)
		return b.Provider.Release(ctx, id, opt)
	case b.bug == "a second release is an error" && err == nil:
		if b.Provider.Get(ctx, id)[0].Verdict == guard.VerdictAbsent {
			return guard.ErrNotFound
		}
	}
	return b.spoil(err)
}

func (b bad) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	if b.bug == "tags are not written" {
		return nil
	}
	return b.Provider.Tag(ctx, id, tags)
}

func (b bad) Probe(ctx context.Context, on ...guard.ResourceID) []providers.Check {
	if b.bug == "a probe releases" {
		_ = b.Provider.Release(ctx, on[0], providers.ReleaseOptions{})
	}
	return b.Provider.Probe(ctx, on...)
}

func (b bad) Arm(ctx context.Context, id guard.ResourceID, at time.Time) error {
	now, _ := b.timedPaid.Armed(ctx, id)
	if b.bug == "a timer is set once" && !now.IsZero() && !at.IsZero() || b.bug == "a timer is never taken away" && at.IsZero() {
		return nil
	}
	if err := b.timedPaid.Arm(ctx, id, at); b.bug != "a timer is always set" {
		return err
	}
	return nil
}

func (b bad) Armed(ctx context.Context, id guard.ResourceID) (time.Time, error) {
	at, err := b.timedPaid.Armed(ctx, id)
	if b.bug == "a failed timer is none" {
		return at, nil
	}
	return at, err
}

func (b bad) context(ctx context.Context) context.Context {
	if b.bug == "cancelling is ignored" {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

func (b bad) spoil(err error) error {
	if err == nil {
		return nil
	}
	switch b.bug {
	case "errors tell the secret":
		return fmt.Errorf("with token %s: %w", providertest.Secret, err)
	case "waits are forgotten":
		var wait *guard.RetryError
		if errors.As(err, &wait) {
			return wait.Err
		}
	case "kinds are lost":
		return errors.New("something went wrong")
	}
	return err
}

func TestPlanted(t *testing.T) {
	providertest.Planted(t, func(bug string) providertest.Harness {
		h := harness()
		good := h.New
		h.New = func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			return bad{good(t, scopes, rt, secret).(timedPaid), bug}
		}
		return h
	}, bugs)
}
