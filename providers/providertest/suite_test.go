package providertest_test

import (
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
)

// T is what harnesses are given.
type T = *testing.T

// bugs are toys with one fault each, and the test of the suite that sees it. Those of
// clouds with pages, scopes, tags, locks, signals and timers are planted in the fake
// cloud's adapter.
var bugs = map[string]string{
	"the truths name no unit of prices":           "truths",
	"what is stopped costs nothing, and bills":    "what is stopped bills as declared",
	"nobody is asked who it is":                   "identity",
	"the price of a GPU is that of the machine":   "list all pages",
	"no list is an empty one":                     "a failed page is never the end",
	"nothing is no answer":                        "an empty account",
	"a read is tried until it succeeds":           "reads are repeated a bounded number of times",
	"a stop does nothing":                         "stop",
	"a new word means that it is over":            "one wrong field",
	"what is attached is not listed":              "leftovers",
	"what is in use is taken for released":        "leftovers",
	"a delete is said to leave nothing":           "a delete leaves what is declared",
	"an entry that makes no sense is passed over": "one wrong field",
	"no price is none to pay":                     "one wrong field",
	"a charge that makes no sense is passed over": "one wrong field",
	"any currency is dollars":                     "one wrong field",
	"a disk is looked for in the list of all":     "what is read by ID is asked for by it",
	"words count whatever the status":             "the API's own not found",
	"any 404 to a release is its end":             "the API's own not found",
	"a stop is taken for a release":               "what must be stopped first is",
	"a stop is sent each time":                    "what must be stopped first is",
	"a balance that is not told is used up":       "balance",
	"no bill is an empty one":                     "charges",
	"a bill is read from its beginning":           "charges",
	"charges come as they are told":               "charges",
	"redirects are followed":                      "redirects are not followed elsewhere",
}

// A cloud without a get joins as well.
func TestToyWithoutGet(t *testing.T) {
	h := toyHarness("")
	h.New = func(_ T, _ []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
		return without{newToy(rt, secret, "")}
	}
	h.NotFound = nil
	providertest.Run(t, h)
}

func TestPlanted(t *testing.T) { providertest.Planted(t, toyHarness, bugs) }
