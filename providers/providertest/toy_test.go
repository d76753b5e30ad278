package providertest_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// toyCloud is a cloud as small ones are: one scope, no pages, no tags and no locks. It
// bills ahead, and wants a box stopped before it goes.
type toyCloud struct {
	*cloudtest.Cloud
	world providertest.World
	reads int
}

func newToyCloud(w providertest.World) http.RoundTripper {
	c := &toyCloud{Cloud: cloudtest.Of(w), world: w}
	start := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	c.StopFirst, c.Lags.Stop = true, 8*time.Second
	c.Clock = func() time.Time { // which each look at it moves on
		c.reads++
		return start.Add(time.Duration(c.reads) * time.Second)
	}
	return cloudtest.In(c)
}

type object map[string]any

func (c *toyCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+providertest.Secret {
		cloudtest.Reply(w, 401, object{"error": "unauthorized"})
		return
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	kind := map[string]guard.Kind{"boxes": guard.Instance, "disks": guard.Volume}[path[0]]
	switch {
	case path[0] == "me":
		cloudtest.Reply(w, 200, object{"account": "acct-1", "key": c.world.Canary})
	case path[0] == "balance":
		b := c.world.Balance
		cloudtest.Reply(w, 200, object{"balance": number(b), "currency": b.Currency()})
	case path[0] == "charges":
		c.bill(w, r)
	case kind == "":
		cloudtest.Reply(w, 404, object{"error": "no_such_path"})
	case len(path) == 1:
		list := []object{}
		for _, t := range c.List(kind, "") {
			list = append(list, c.wire(t))
		}
		cloudtest.Reply(w, 200, object{path[0]: list})
	case r.Method == http.MethodGet:
		t, err := c.Get(kind, path[1])
		c.reply(w, err, c.wire(t))
	case r.Method == http.MethodDelete:
		c.reply(w, c.Release(kind, path[1]), object{"ok": true})
	default:
		c.reply(w, c.Stop(path[1]), object{"ok": true})
	}
}

func (c *toyCloud) reply(w http.ResponseWriter, err error, body object) {
	switch {
	case errors.Is(err, guard.ErrNotFound):
		cloudtest.Reply(w, 404, object{"error": "no_such_thing"})
	case err != nil:
		cloudtest.Reply(w, 409, object{"error": "busy"})
	default:
		cloudtest.Reply(w, 200, body)
	}
}

func (c *toyCloud) wire(t cloudtest.Thing) object {
	o := object{"id": t.ID, "name": t.Name, "state": string(t.State), "created": t.Created.Format(time.RFC3339), "password": c.world.Canary}
	if t.Kind == guard.Volume {
		o["box"] = t.AttachedTo
		return o
	}
	o["gpus"] = t.GPUs
	if t.GPUs > 0 {
		gpu := new(big.Rat).Quo(t.Price.Rat(), big.NewRat(int64(t.GPUs), 1))
		o["usd_gpu_hour"] = jsonNumber(gpu.FloatString(4))
	}
	return o
}

func (c *toyCloud) bill(w http.ResponseWriter, r *http.Request) {
	list := []object{}
	for _, x := range c.world.Charges {
		if x.To.Format(time.RFC3339) > r.URL.Query().Get("since") {
			list = append(list, object{"box": x.Resource.ID, "from": x.From.Format(time.RFC3339), "to": x.To.Format(time.RFC3339), "usd": number(x.Amount)})
		}
	}
	slices.Reverse(list) // the newest first
	cloudtest.Reply(w, 200, object{"charges": list})
}

type jsonNumber string

func (n jsonNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

func number(m guard.Money) jsonNumber {
	if !m.IsSet() {
		return "0"
	}
	return jsonNumber(m.Rat().FloatString(2))
}

func classify(r *http.Request, _ []byte) providertest.Op {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	calls := map[string]string{"me": providertest.Identity, "balance": providertest.Balance, "charges": providertest.Charges}
	op := providertest.Op{Call: cmp.Or(calls[path[0]], providertest.List)}
	switch {
	case len(path) == 2 && r.Method == http.MethodGet:
		op.Call = providertest.Get
	case len(path) == 2 && r.Method == http.MethodDelete:
		op.Call = providertest.Release
	case len(path) == 3:
		op.Call = providertest.Stop
	}
	return op
}

func errBad(what string) error { return fmt.Errorf("%w: %s", guard.ErrBadReply, what) }
