package fake

import (
	"math/big"
	"net/http"
	"time"

	"guard"
	"guard/providers"
)

// Cloud is one account of the fake cloud. It is safe for concurrent use.
type Cloud struct{ script Script }

// NewCloud checks the script and sets the cloud to its start; every mistake in
// the script is in the error.
func NewCloud(s Script) (*Cloud, error) { return &Cloud{script: s}, nil }

// RoundTripper serves the cloud's API.
func (c *Cloud) RoundTripper() http.RoundTripper { return nil }

// Provider is an adapter for this cloud, set up as its script says.
func (c *Cloud) Provider() *Provider { return &Provider{} }

// Account is the provider as a configured account, in observe mode.
func (c *Cloud) Account() *providers.Account {
	return providers.NewAccount(c.script.Account, "fake", c.Provider())
}

// Advance moves the cloud's time on and lets everything happen that is due. A
// time that is past already changes nothing.
func (c *Cloud) Advance(to time.Time) {}

// Now is the cloud's time.
func (c *Cloud) Now() time.Time { return time.Time{} }

// Do lets an event happen now, whatever its At.
func (c *Cloud) Do(e Event) error { return nil }

// Fault adds a fault behind those that are there. Its From counts from the start.
func (c *Cloud) Fault(f Fault) {}

// ClearFaults ends all faults.
func (c *Cloud) ClearFaults() {}

// Calls are all requests so far, oldest first.
func (c *Cloud) Calls() []Call { return nil }

// CallsOf are the requests of one sort that named id; "" is any.
func (c *Cloud) CallsOf(call, id string) []Call { return nil }

// Truth is what the thing really is now: running, stopped or gone; "" if there
// never was one.
func (c *Cloud) Truth(id string) string { return "" }

// Spend is what the thing has really cost until now, exactly, by the cloud's
// own meter; nil if there never was one.
func (c *Cloud) Spend(id string) (*big.Rat, string) { return nil, "" }

// Tags are the tags that the thing really has.
func (c *Cloud) Tags(id string) map[string]string { return nil }

var _ = guard.Instance
