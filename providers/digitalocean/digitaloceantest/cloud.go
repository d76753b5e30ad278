// Package digitaloceantest plays DigitalOcean's API v2 in memory, for tests: droplets with
// and without GPUs in their two listings, volumes, snapshots, images and reserved IPs that
// outlive them, endpoints of Dedicated Inference, NFS shares in their regions, a Kubernetes
// cluster, tags, pages, invoices and a balance. It answers in the words of the API's own
// description of 2026.
package digitaloceantest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one account, an [http.Handler]. A lock is Protected, and a volume or a reserved
// IP is AttachedTo its droplet. Its fields are set before it is used.
type Cloud struct {
	*cloudtest.Cloud

	Token    string // that is let in
	Canary   string // is put wherever a reply may hold a secret
	PageSize int    // entries a page, at most; 0 is what is asked for
	Balance  guard.Money
	Invoices []Invoice
	// Nodes are those droplets that are nodes of the one Cluster and its Pool, which starts
	// another in place of one that is destroyed by itself.
	Nodes map[string]bool
	// Special is what is special of things, by ID.
	Special map[string]Special

	mu    sync.Mutex
	calls []string
	tags  map[string]bool // the account's
}

// Special is what is special of a thing.
type Special struct {
	Of   string         // what a snapshot or an image was made of
	Type string         // of an image; default snapshot
	Set  map[string]any // replaces fields of the record, whatever they should be
}

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	return &Cloud{
		Cloud: cloudtest.Of(w), Token: providertest.Secret, Canary: w.Canary, PageSize: w.PageSize, Balance: w.Balance,
		Invoices: billed(w.Charges, w.Canary), Special: map[string]Special{},
	}
}

// Calls are the calls made so far, as METHOD PATH?QUERY.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.RequestURI())
	if r.Header.Get("Authorization") != "Bearer "+c.Token {
		Refuse(w, http.StatusUnauthorized, "unauthorized", "Unable to authenticate you.")
		return
	}
	c.routes().ServeHTTP(w, r)
}

func (c *Cloud) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /v2/account", func(w http.ResponseWriter, _ *http.Request) {
		cloudtest.Reply(w, http.StatusOK, map[string]any{"account": map[string]any{
			"droplet_limit": 25, "floating_ip_limit": 5, "email": "sammy@example.com", "name": "Sammy", "uuid": "u-1", "email_verified": true,
			"status": "active", "status_message": " ", "team": map[string]string{"uuid": "team-1", "name": "My Team"},
		}})
	})
	m.HandleFunc("GET /v2/customers/my/balance", c.getBalance)
	m.HandleFunc("GET /v2/customers/my/invoices", c.listInvoices)
	m.HandleFunc("GET /v2/customers/my/invoices/{id}", c.getInvoice)
	m.HandleFunc("GET /v2/droplets", c.listDroplets)
	m.HandleFunc("GET /v2/droplets/{id}", c.get(guard.Instance, "droplet", c.droplet))
	m.HandleFunc("DELETE /v2/droplets/{id}", c.end(guard.Instance))
	m.HandleFunc("GET /v2/dedicated-inferences", c.listEndpoints)
	m.HandleFunc("GET /v2/dedicated-inferences/sizes", c.listSizes)
	m.HandleFunc("GET /v2/dedicated-inferences/{id}", c.getEndpoint)
	m.HandleFunc("DELETE /v2/dedicated-inferences/{id}", c.endEndpoint)
	m.HandleFunc("GET /v2/kubernetes/clusters/{cluster}/node_pools", c.listPools)
	m.HandleFunc("DELETE /v2/kubernetes/clusters/{cluster}/node_pools/{pool}/nodes/{node}", c.endNode)
	m.HandleFunc("GET /v2/volumes", c.list(guard.Volume, "volumes", c.volume))
	m.HandleFunc("GET /v2/volumes/{id}", c.get(guard.Volume, "volume", c.volume))
	m.HandleFunc("DELETE /v2/volumes/{id}", c.end(guard.Volume))
	m.HandleFunc("GET /v2/snapshots", c.listSnapshots)
	m.HandleFunc("GET /v2/snapshots/{id}", c.getSnapshot)
	m.HandleFunc("DELETE /v2/snapshots/{id}", c.end(guard.Snapshot))
	m.HandleFunc("GET /v2/images", c.list(guard.Image, "images", c.image))
	m.HandleFunc("GET /v2/images/{id}", c.get(guard.Image, "image", c.image))
	m.HandleFunc("DELETE /v2/images/{id}", c.end(guard.Image))
	m.HandleFunc("GET /v2/reserved_ips", c.listAddresses("reserved_ips", false))
	m.HandleFunc("GET /v2/reserved_ips/{id}", version(false, c.get(guard.Address, "reserved_ip", c.address)))
	m.HandleFunc("DELETE /v2/reserved_ips/{id}", version(false, c.end(guard.Address)))
	m.HandleFunc("GET /v2/regions", c.listRegions)
	m.HandleFunc("GET /v2/nfs", c.listRegional(guard.Filesystem, "shares"))
	m.HandleFunc("GET /v2/nfs/{id}", c.getRegional(guard.Filesystem, "share"))
	m.HandleFunc("DELETE /v2/nfs/{id}", c.endRegional(guard.Filesystem))
	m.HandleFunc("GET /v2/nfs/snapshots", c.listRegional(guard.Snapshot, "snapshots"))
	m.HandleFunc("GET /v2/nfs/snapshots/{id}", c.getRegional(guard.Snapshot, "snapshot"))
	m.HandleFunc("DELETE /v2/nfs/snapshots/{id}", c.endRegional(guard.Snapshot))
	m.HandleFunc("GET /v2/reserved_ipv6", c.listAddresses("reserved_ipv6s", true))
	m.HandleFunc("GET /v2/reserved_ipv6/{id}", version(true, c.get(guard.Address, "reserved_ipv6", c.address)))
	m.HandleFunc("DELETE /v2/reserved_ipv6/{id}", version(true, c.end(guard.Address)))
	m.HandleFunc("POST /v2/tags", c.createTag)
	m.HandleFunc("POST /v2/tags/{tag}/resources", c.tagged)
	m.HandleFunc("DELETE /v2/tags/{tag}/resources", c.tagged)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	return m
}

// Refuse writes a refusal in the API's form.
func Refuse(w http.ResponseWriter, status int, id, message string) {
	cloudtest.Reply(w, status, map[string]string{"id": id, "message": message, "request_id": "4d9d8375-3c56-4925-a3e7-eb137fed17e9"})
}

// refuse writes the refusal for an error of the things; false for none. Of locked droplets
// and attached volumes the description says nothing: here they are 422 and 409.
func refuse(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, guard.ErrNotFound):
		Refuse(w, http.StatusNotFound, "not_found", "The resource you requested could not be found.")
	case errors.Is(err, guard.ErrProtected):
		Refuse(w, http.StatusUnprocessableEntity, "unprocessable_entity", "Droplet is locked.")
	case errors.Is(err, guard.ErrConflict):
		Refuse(w, http.StatusConflict, "conflict", "The volume is attached.")
	default:
		Refuse(w, http.StatusInternalServerError, "server_error", "Unexpected server-side error")
	}
	return true
}

// page writes one page of records, as the request asks for it.
func (c *Cloud) page(w http.ResponseWriter, r *http.Request, name string, all []map[string]any) {
	c.pageWith(w, r, name, all, map[string]any{})
}

// pageWith is one with more in the reply.
func (c *Cloud) pageWith(w http.ResponseWriter, r *http.Request, name string, all []map[string]any, reply map[string]any) {
	size, page := asked(r, "per_page", 20, 200), asked(r, "page", 1, 1<<20)
	if c.PageSize > 0 {
		size = min(size, c.PageSize)
	}
	out, next := cloudtest.Page(all, (page-1)*size, size)
	links := map[string]any{}
	if next > 0 {
		q := url.Values{"page": {strconv.Itoa(page + 1)}, "per_page": {strconv.Itoa(size)}}
		links["pages"] = map[string]string{"next": "https://api.digitalocean.com" + r.URL.Path + "?" + q.Encode()}
	}
	reply[name], reply["links"], reply["meta"] = out, links, map[string]int{"total": len(all)}
	cloudtest.Reply(w, http.StatusOK, reply)
}

// asked is a number that a request asks for.
func asked(r *http.Request, key string, otherwise, most int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(key))
	if err != nil || n < 1 || n > most {
		return otherwise
	}
	return n
}

// records are those of a kind that are not gone.
func (c *Cloud) records(kind guard.Kind, record func(cloudtest.Thing) map[string]any) []map[string]any {
	out := []map[string]any{}
	for _, t := range c.List(kind, "") {
		if t.State != guard.StateGone {
			out = append(out, record(t))
		}
	}
	return out
}

func (c *Cloud) list(kind guard.Kind, name string, record func(cloudtest.Thing) map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { c.page(w, r, name, c.records(kind, record)) }
}

// one is a thing that is not gone.
func (c *Cloud) one(kind guard.Kind, id string) (cloudtest.Thing, error) {
	t, err := c.Get(kind, id)
	if err == nil && t.State == guard.StateGone {
		err = guard.ErrNotFound
	}
	return t, err
}

func (c *Cloud) get(kind guard.Kind, name string, record func(cloudtest.Thing) map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if t, err := c.one(kind, r.PathValue("id")); !refuse(w, err) {
			cloudtest.Reply(w, http.StatusOK, map[string]any{name: record(t)})
		}
	}
}

func (c *Cloud) end(kind guard.Kind) http.HandlerFunc { return c.endWith(http.StatusNoContent, kind) }

func (c *Cloud) endWith(status int, kind guard.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		_, err := c.one(kind, id)
		if err == nil {
			err = c.Release(kind, id)
		}
		if !refuse(w, err) {
			w.WriteHeader(status)
		}
	}
}

func (c *Cloud) getBalance(w http.ResponseWriter, _ *http.Request) {
	owed := strings.TrimPrefix("-"+c.Balance.Rat().FloatString(2), "--")
	cloudtest.Reply(w, http.StatusOK, map[string]string{
		"month_to_date_balance": owed, "account_balance": "0.00", "month_to_date_usage": owed, "generated_at": "2026-03-10T11:59:00Z",
	})
}

func (c *Cloud) createTag(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"name"`
	}
	if !cloudtest.Read(r, &in) || in.Name == "" {
		Refuse(w, http.StatusUnprocessableEntity, "unprocessable_entity", "Name is invalid.")
		return
	}
	if c.tags == nil {
		c.tags = map[string]bool{}
	}
	c.tags[in.Name] = true
	cloudtest.Reply(w, http.StatusCreated, map[string]any{"tag": map[string]any{"name": in.Name, "resources": map[string]int{"count": 0}}})
}

// tagged puts a tag on droplets, or takes it off.
func (c *Cloud) tagged(w http.ResponseWriter, r *http.Request) {
	tag := r.PathValue("tag")
	var in struct {
		Resources []struct {
			ID   string `json:"resource_id"`
			Type string `json:"resource_type"`
		} `json:"resources"`
	}
	if !c.tags[tag] && r.Method == http.MethodPost {
		refuse(w, guard.ErrNotFound)
		return
	}
	if !cloudtest.Read(r, &in) {
		Refuse(w, http.StatusUnprocessableEntity, "unprocessable_entity", "Resources are invalid.")
		return
	}
	for _, x := range in.Resources {
		err := fmt.Errorf("%w: a %s is not tagged here", guard.ErrUnsupported, x.Type)
		if x.Type == "droplet" {
			err = c.Edit(guard.Instance, x.ID, func(t *providertest.Thing) { t.Tags = retagged(t.Tags, tag, r.Method == http.MethodPost) })
		}
		if refuse(w, err) {
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
