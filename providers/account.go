package providers

import (
	"cmp"
	"net/http"
	"strings"

	"guard"
	"guard/providers/prices"
)

// Options is what the adapter of an account is made of; C is the account's own section of
// the configuration.
type Options[C any] struct {
	// Name is the account's name in the configuration.
	Name string
	// Config is the account's own section.
	Config C
	// Book says what things cost where the API does not, and instead of it where both do;
	// nil says nothing.
	Book *prices.Book
	// Base makes the HTTP calls; nil is a pooled transport.
	Base http.RoundTripper
	// Unpaced calls keep to no rate, for tests on a time that is not the real one.
	Unpaced bool
}

// Transport makes the account's calls: on average so many a second, so many at once.
func (o Options[C]) Transport(perSecond float64, burst int) *Transport {
	if o.Unpaced {
		perSecond = 0
	}
	return NewTransport(TransportConfig{Next: o.Base, PerSecond: perSecond, Burst: burst})
}

// Endpoint is the URL before the paths of an API: an account's own, or the usual one. The
// folder that all paths begin with may stand in the account's, too.
func Endpoint(own, usual, folder string) string {
	return strings.TrimSuffix(strings.TrimRight(cmp.Or(own, usual), "/"), folder)
}

// Bearer signs a call with a key, for [API].
func Bearer(key guard.Secret) func(*http.Request) error {
	return func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
		return nil
	}
}
