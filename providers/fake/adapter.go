package fake

import (
	"context"
	"net/http"

	"guard"
	"guard/providers"
)

// Config is what the adapter needs.
type Config struct {
	Account  string
	Endpoint string // default http://fake.invalid
	Token    guard.Secret
	Scopes   []string
	Truths   guard.Truths
	Next     http.RoundTripper // the cloud
}

// Provider is the adapter.
type Provider struct{ cfg Config }

// New makes an adapter.
func New(cfg Config) (*Provider, error) { return &Provider{cfg}, nil }

// Identity implements providers.Provider.
func (p *Provider) Identity(ctx context.Context) (guard.Identity, error) { return guard.Identity{}, nil }

// List implements providers.Provider.
func (p *Provider) List(ctx context.Context, q providers.Query) (providers.Inventory, error) {
	return providers.Inventory{}, nil
}

// Get implements providers.Provider.
func (p *Provider) Get(ctx context.Context, ids ...guard.ResourceID) []guard.Lookup { return nil }

// Release implements providers.Provider.
func (p *Provider) Release(ctx context.Context, id guard.ResourceID, opt providers.ReleaseOptions) error {
	return nil
}

// Stop implements providers.Stopper.
func (p *Provider) Stop(ctx context.Context, id guard.ResourceID) error { return nil }

// Tag implements providers.Tagger.
func (p *Provider) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	return nil
}

// Protection implements providers.Protector.
func (p *Provider) Protection(ctx context.Context, id guard.ResourceID) (providers.Protection, error) {
	return providers.Protection{}, nil
}

// Unprotect implements providers.Protector.
func (p *Provider) Unprotect(ctx context.Context, id guard.ResourceID) error { return nil }

// Truths implements providers.Provider.
func (p *Provider) Truths() guard.Truths { return p.cfg.Truths }
