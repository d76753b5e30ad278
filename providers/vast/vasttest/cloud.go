// Package vasttest plays Vast.ai's REST API in memory, for tests: instances load, run, are
// outbid and stopped, and end, volumes stay, and an account may run dry. It answers in the
// words of the API's own description of 2026.
package vasttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one account, an [http.Handler]. Instances and volumes are its things of these
// kinds, with numbers as their IDs; a volume is AttachedTo one instance. Its fields are set
// before it is used; Change changes them later.
type Cloud struct {
	*cloudtest.Cloud

	Key    string // that is let in
	User   int64  // the number of whose key it is
	Canary string // is put wherever a reply may hold a secret
	// PageSize, where set, is the most entries of a page.
	PageSize int
	// Credit is what is left.
	Credit guard.Money
	// Boxes is what is special of instances, by ID.
	Boxes map[string]Box
	// Users are the instances that a volume is attached to beside its AttachedTo, by ID.
	Users map[string][]string
	// Bills are the contracts' records of each day, by its beginning.
	Bills map[time.Time][]map[string]any

	mu    sync.Mutex
	calls []string
	made  int
}

// Box is what is special of an instance.
type Box struct {
	Bid  bool     // it is interruptible
	Util *float64 // its gpu_util; nil: null
	// Set replaces fields of the record, whatever they should be.
	Set map[string]any
}

// Disk is what the disk of each instance costs an hour, a part of its price, and of each
// volume. DiskGB is its size.
var Disk = guard.MustMoney("0.02USD")

// DiskGB is the size of each disk.
const DiskGB = 100

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	return &Cloud{Cloud: cloudtest.Of(w), Key: providertest.Secret, User: 4711, Canary: w.Canary, PageSize: w.PageSize, Credit: w.Balance,
		Boxes: map[string]Box{}, Bills: map[time.Time][]map[string]any{}}
}

// Change changes the account between two calls.
func (c *Cloud) Change(f func(*Cloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// Calls are the calls made so far, as METHOD PATH.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Outbid takes the GPUs of an interruptible instance away, which stops it.
func (c *Cloud) Outbid(id string) error { return c.Reclaim(id, guard.StateStopped) }

// Drain is what a balance of nothing does: all that runs is stopped, and nothing deleted.
func (c *Cloud) Drain() error {
	var errs []error
	for _, t := range c.List(guard.Instance, "") {
		errs = append(errs, c.Stop(t.ID))
	}
	return errors.Join(errs...)
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer "+c.Key {
		Fail(w, http.StatusUnauthorized, "auth_error")
		return
	}
	m := http.NewServeMux()
	m.HandleFunc("GET /api/v1/instances", c.listInstances)
	m.HandleFunc("PUT /api/v0/asks/{id}", c.createInstance)
	m.HandleFunc("GET /api/v0/instances/{id}", c.getInstance)
	m.HandleFunc("PUT /api/v0/instances/{id}", c.manageInstance)
	m.HandleFunc("DELETE /api/v0/instances/{id}", c.destroyInstance)
	m.HandleFunc("GET /api/v0/volumes", c.listVolumes)
	m.HandleFunc("DELETE /api/v0/volumes", c.deleteVolume)
	m.HandleFunc("GET /api/v0/charges", c.listCharges)
	m.HandleFunc("GET /api/v0/users/current", c.currentUser)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	m.ServeHTTP(w, r)
}

// Fail writes a refusal in the API's form.
func Fail(w http.ResponseWriter, status int, word string) {
	cloudtest.Reply(w, status, map[string]any{"success": false, "error": word, "msg": "it failed"})
}

// TooOften writes what comes of two calls that follow each other too fast: plain text.
func TooOften(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprint(w, "API requests too frequent: endpoint threshold=2.0")
}

// done answers a call that changes something. absent is the word for what is not there; of a
// volume that is attached the description says nothing: here its ID is not a valid one.
func done(w http.ResponseWriter, err error, absent string) {
	switch {
	case err == nil:
		cloudtest.Reply(w, http.StatusOK, map[string]bool{"success": true})
	case errors.Is(err, guard.ErrNotFound):
		Fail(w, http.StatusNotFound, absent)
	default:
		Fail(w, http.StatusBadRequest, "invalid_args")
	}
}

// page is one of a list: what follows the ID that a token names.
func page[T any](w http.ResponseWriter, r *http.Request, all []T, most, size int) (some []T, next any, ok bool) {
	q := r.URL.Query()
	n, err := strconv.Atoi(q.Get("limit"))
	from, bad := 0, error(nil)
	if token := q.Get("after_token"); token != "" {
		from, bad = strconv.Atoi(token)
	}
	if err != nil || n > most || bad != nil {
		Fail(w, http.StatusBadRequest, "invalid_token")
		return nil, nil, false
	}
	if size > 0 {
		n = min(n, size)
	}
	some, to := cloudtest.Page(all, from, n)
	if to > 0 {
		next = strconv.Itoa(to)
	}
	return some, next, true
}

func (c *Cloud) currentUser(w http.ResponseWriter, _ *http.Request) {
	out := map[string]any{"id": c.User, "key_id": 7, "email": c.Canary + "@example.com", "ssh_key": c.Canary, "sid": c.Canary, "balance": json.Number("0.0")}
	if c.Credit.IsSet() {
		out["balance"] = amount(c.Credit)
	}
	cloudtest.Reply(w, http.StatusOK, out)
}

func (c *Cloud) listCharges(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Day struct {
			From *int64 `json:"gte"`
			To   *int64 `json:"lte"`
		} `json:"day"`
	}
	if json.Unmarshal([]byte(r.URL.Query().Get("select_filters")), &q) != nil || q.Day.From == nil || q.Day.To == nil {
		Fail(w, http.StatusBadRequest, "invalid_args")
		return
	}
	all := []map[string]any{}
	for at, records := range c.Bills {
		if at.Unix() >= *q.Day.From && at.Unix() <= *q.Day.To {
			all = append(all, records...)
		}
	}
	some, next, ok := page(w, r, all, 500, c.PageSize)
	if ok {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"success": true, "count": len(some), "total": len(all), "next_token": next, "results": some})
	}
}

// Charge puts a contract's record of one day on the bill: source is instance-ID or
// volume-ID, and the parts are what each item costs, by its type.
func (c *Cloud) Charge(day time.Time, source string, parts map[string]guard.Money) {
	total := guard.ZeroMoney("USD")
	items := []any{}
	for _, what := range []string{"gpu", "disk", "bwd", "bwu"} {
		m, ok := parts[what]
		if !ok {
			m = guard.ZeroMoney("USD")
		}
		total, _ = total.Add(m) // both are dollars
		items = append(items, map[string]any{"start": day.Unix(), "end": day.Unix(), "type": what, "source": nil, "description": "", "amount": amount(m), "metadata": map[string]any{}, "items": []any{}})
	}
	c.Bills[day] = append(c.Bills[day], map[string]any{"start": day.Unix(), "end": day.Unix(), "type": "instance", "source": source,
		"description": "charges - 1 day", "amount": amount(total), "metadata": map[string]any{"label": c.Canary}, "items": items})
}

func amount(m guard.Money) json.Number { return json.Number(m.Rat().FloatString(3)) }
