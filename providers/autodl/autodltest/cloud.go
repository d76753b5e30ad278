// Package autodltest plays AutoDL's developer API in memory, for tests: Pro instances boot, are
// turned off, kept for 15 days and released, and a company has elastic deployments. It answers
// in the shapes of the API's pages of 2026, and with the codes that its users wrote down.
package autodltest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// Cloud is one account, an [http.Handler]. Pro instances are its things of the kind instance.
// Its fields are set before it is used; Change changes them later.
type Cloud struct {
	*cloudtest.Cloud

	Token  string // that is let in
	Canary string // is put wherever a reply may hold a secret
	// PageSize is the most entries of a page, whatever is asked for; 0: 100.
	PageSize int
	// Pro is what is special of Pro instances, by ID.
	Pro map[string]Instance
	// Company: the account may have deployments.
	Company     bool
	Deployments []Deployment
	// Assets, Blocked and Vouchers are the wallet's, in thousandths of a yuan.
	Assets            json.Number
	Blocked, Vouchers int

	mu    sync.Mutex
	calls []string
}

// Instance is what is special of a Pro instance. The zero value is paid by the hour, and has
// no disk beyond the first.
type Instance struct {
	Charge   string // charge_type; default payg
	Mode     string // start_mode; default gpu
	Expanded int64  // GB of the system disk beyond the first 30
	// Set and Detail replace fields of the record and of its detail, whatever they should be.
	Set, Detail map[string]any
}

// Deployment is an elastic deployment with its containers.
type Deployment struct {
	ID, Name   string
	Replicas   int // that it keeps up
	Containers []Container
}

// Container is one of a deployment's. Price is in thousandths of a yuan an hour.
type Container struct {
	ID, Status, GPU string
	GPUs, Price     int
	Released        bool // it is told of only where those are asked for that are gone
}

// Of plays a world of the conformance suite.
func Of(w providertest.World) *Cloud {
	c := &Cloud{Cloud: cloudtest.Of(w), Token: providertest.Secret, Canary: w.Canary, PageSize: w.PageSize, Pro: map[string]Instance{}, Assets: "0"}
	c.StopFirst = true
	if w.Balance.IsSet() {
		c.Assets = json.Number(w.Balance.Rat().Mul(w.Balance.Rat(), thousand).RatString())
	}
	return c
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

// Keep is how long an instance that is off is kept.
const Keep = 15 * 24 * time.Hour

// expire deletes what has been off for too long.
func (c *Cloud) expire() {
	now := time.Now()
	if c.Clock != nil {
		now = c.Clock()
	}
	for _, t := range c.List(guard.Instance, "") {
		if t.State == guard.StateStopped && !now.Before(t.Changed.Add(Keep)) {
			_ = c.Release(guard.Instance, t.ID) // it is off, and there
		}
	}
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Method+" "+r.URL.Path)
	if r.Header.Get("Authorization") != c.Token {
		Code(w, "AuthorizeFailed", "认证失败; 登录超时")
		return
	}
	c.expire()
	c.routes().ServeHTTP(w, r)
}

func (c *Cloud) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("POST /api/v1/dev/instance/pro/list", c.listPro)
	m.HandleFunc("GET /api/v1/dev/instance/pro/status", c.status)
	m.HandleFunc("GET /api/v1/dev/instance/pro/snapshot", c.snapshot)
	m.HandleFunc("POST /api/v1/dev/instance/pro/power_on", c.on(c.Start))
	m.HandleFunc("POST /api/v1/dev/instance/pro/power_off", c.on(c.Stop))
	m.HandleFunc("POST /api/v1/dev/instance/pro/release", c.on(func(id string) error { return c.Release(guard.Instance, id) }))
	m.HandleFunc("POST /api/v1/dev/wallet/balance", c.wallet)
	m.HandleFunc("POST /api/v1/dev/deployment/list", c.company(c.listDeployments))
	m.HandleFunc("POST /api/v1/dev/deployment/container/list", c.company(c.listContainers))
	m.HandleFunc("PUT /api/v1/dev/deployment/container/stop", c.company(c.endContainer))
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	return m
}

// Code writes a refusal in the API's form, with the status 200.
func Code(w http.ResponseWriter, code, msg string) {
	cloudtest.Reply(w, http.StatusOK, map[string]any{"code": code, "data": nil, "msg": msg, "request_id": "r"})
}

func success(w http.ResponseWriter, data any) {
	cloudtest.Reply(w, http.StatusOK, map[string]any{"code": "Success", "data": data, "msg": "", "request_id": "r"})
}

// refuse writes the refusal for an error of the things; false for none.
func refuse(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, guard.ErrNotFound):
		Code(w, "RecordNotFoundError", "未查询到相关实例")
	case errors.Is(err, guard.ErrConflict):
		Code(w, "BadRequest", "请在实例关机状态下执行释放操作")
	default:
		Code(w, "InternalError", "内部错误")
	}
	return true
}

// wrong refuses a request that is not in the API's form.
func wrong(w http.ResponseWriter) { Code(w, "RequestParameterIsWrong", "请求参数错误") }

// asked reads the part of a request that says which page is wanted.
func asked(w http.ResponseWriter, r *http.Request, into any) bool {
	ok := cloudtest.Read(r, into)
	if !ok {
		wrong(w)
	}
	return ok
}

// Page is the part of a list's request that says which page is wanted.
type Page struct {
	Index int `json:"page_index"`
	Size  int `json:"page_size"`
}

// pageOf writes one page of a list.
func pageOf(c *Cloud, w http.ResponseWriter, all []any, in Page) {
	size := min(cmp.Or(in.Size, 10), cmp.Or(c.PageSize, 100))
	if in.Index < 1 || in.Size < 1 {
		wrong(w)
		return
	}
	entries, _ := cloudtest.Page(all, (in.Index-1)*size, size)
	success(w, map[string]any{"list": entries, "page_index": in.Index, "page_size": size, "offset": (in.Index - 1) * size,
		"max_page": (len(all) + size - 1) / size, "result_total": len(all), "page": in.Index})
}

func (c *Cloud) wallet(w http.ResponseWriter, _ *http.Request) {
	success(w, map[string]any{"assets": c.Assets, "accumulate": 1000, "voucher_balance": c.Vouchers, "blocked_asset": c.Blocked})
}
