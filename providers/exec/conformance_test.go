package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestConformance(t *testing.T) { providertest.Run(t, harness()) }

func harness() providertest.Harness {
	return providertest.Harness{
		New: func(t *testing.T, scopes []string, rt http.RoundTripper, secret guard.Secret) providers.Provider {
			p := adapter(t, &plugin{rt: rt, scopes: scopes, key: secret})
			if _, err := p.hello(t.Context()); err != nil {
				t.Fatal(err)
			}
			return p
		},
		Serve:      func(_ *testing.T, w providertest.World) http.RoundTripper { return cloudtest.In(newCloud(w)) },
		Classify:   classify,
		LeftoverID: func(kind guard.Kind, n int) string { return fmt.Sprintf("%.1s-%d", kind, n) },
		Kinds:      []guard.Kind{guard.Volume, guard.Snapshot},
		Attached:   []guard.Kind{guard.Volume},
		Currency:   "CNY",
		NotFound:   func(string) (int, string) { return http.StatusNotFound, `{"kind":"not_found"}` },
		Odd:        oddServers(),
	}
}

// adapter is one that talks to a plug-in in this process, in place of a program.
func adapter(t testing.TB, x *plugin) *Provider {
	t.Helper()
	all := &Programs{}
	t.Cleanup(all.Close)
	p, err := New(Options{Name: "conformance", Config: Config{Command: []string{"/opt/plugin.py"}}, Programs: all, dial: x.dial})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// plugin is a program such as somebody may write: it forwards each call to its cloud, over
// HTTP, and turns what that answers into the protocol's words.
type plugin struct {
	rt     http.RoundTripper
	scopes []string
	key    guard.Secret
}

// dial implements what start is for a program.
func (x *plugin) dial() (conn, error) {
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		x.serve(there)
	}()
	return inProcess{here}, nil
}

type inProcess struct{ net.Conn }

func (inProcess) unread() bool { return false }

func (c inProcess) end() (string, bool) {
	c.Close()
	return "exit status 1", false
}

func (x *plugin) serve(rw io.ReadWriter) {
	in := json.NewDecoder(rw)
	for {
		var q struct {
			ID   int
			Call string
			Args json.RawMessage
		}
		if in.Decode(&q) != nil {
			return
		}
		body, err := x.answer(q.Call, q.Args)
		if err != nil {
			return // as a program that does not catch everything
		}
		line := fmt.Appendf(nil, `{"v":1,"id":%d,%s}`+"\n", q.ID, bytes.ReplaceAll(body, []byte("\n"), nil))
		if _, err := rw.Write(line); err != nil {
			return
		}
	}
}

var said = map[int]string{
	400: "invalid", 401: "permission", 402: "refused", 403: "permission", 409: "conflict", 423: "protected", 429: "throttled",
	500: "unavailable", 503: "unavailable",
}

func (x *plugin) answer(call string, args []byte) ([]byte, error) {
	if call == callHello {
		hello, err := json.Marshal(map[string]any{
			"scopes": x.scopes, "kinds": []string{"instance", "volume", "snapshot"},
			"calls":  []string{callIdentity, callList, callGet, callRelease, callStop, callTag, callBalance, callCharges},
			"truths": map[string]any{"immutable_ids": true, "terminal_billing": true, "stop": "compute", "delete_leaves": []string{"volume"}},
		})
		return append([]byte(`"result":`), hello...), err
	}
	r, err := http.NewRequest(http.MethodPost, "http://cloud.invalid/"+call, bytes.NewReader(args)) //nolint:noctx // a program's own
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+x.key.Reveal())
	resp, err := x.rt.RoundTrip(r)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return []byte(`"error":{"kind":"unavailable"}`), nil
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		return append([]byte(`"result":`), body...), nil
	case resp.StatusCode == http.StatusNotFound:
		return append([]byte(`"error":`), body...), nil
	}
	kind := said[resp.StatusCode]
	if kind == "" {
		kind = "unavailable"
		if slices.Contains([]string{callRelease, callStop, callTag}, call) {
			kind = "uncertain"
		}
	}
	no := map[string]any{"kind": kind, "message": string(body)}
	if after, ok := providers.Hint(resp, body); ok {
		no["retry_after"] = after.Seconds()
	}
	b, err := json.Marshal(no)
	return append([]byte(`"error":`), b...), err
}

func classify(r *http.Request, body []byte) providertest.Op {
	op := providertest.Op{Call: strings.TrimPrefix(r.URL.Path, "/")} // the protocol's words are the suite's
	if op.Call == callList {
		var args listArgs
		_ = json.Unmarshal(body, &args)
		op.Scope = args.Scope
	}
	return op
}

// cloud speaks the protocol's results over HTTP.
type cloud struct {
	*cloudtest.Cloud

	w   providertest.World
	set map[string]any // replaces fields of the first record
}

func newCloud(w providertest.World) *cloud { return &cloud{Cloud: cloudtest.Of(w), w: w} }

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var args struct {
		Kind            guard.Kind
		Scope, ID, Page string
		Tags            map[string]string
		Since           time.Time
	}
	if !cloudtest.Read(r, &args) || r.Header.Get("Authorization") != "Bearer "+providertest.Secret {
		cloudtest.Reply(w, http.StatusForbidden, nil)
		return
	}
	ok := func(result any) { cloudtest.Reply(w, http.StatusOK, result) }
	done := func(err error) {
		for kind, status := range map[error]int{guard.ErrNotFound: 404, guard.ErrConflict: 409, guard.ErrProtected: 423} {
			if errors.Is(err, kind) {
				cloudtest.Reply(w, status, map[string]string{"kind": "not_found"})
				return
			}
		}
		ok(map[string]bool{"accepted": true})
	}
	switch strings.TrimPrefix(r.URL.Path, "/") {
	case callIdentity:
		ok(map[string]any{"id": "acct-1", "strong": true})
	case callList:
		c.list(w, args.Kind, args.Scope, args.Page)
	case callGet:
		x, err := c.Get(args.Kind, args.ID)
		if err != nil {
			done(err)
			return
		}
		ok(map[string]any{"resource": c.record(x)})
	case callRelease:
		done(c.Release(args.Kind, args.ID))
	case callStop:
		done(c.Stop(args.ID))
	case callTag:
		done(c.Edit(args.Kind, args.ID, func(x *providertest.Thing) {
			for k, v := range args.Tags {
				x.Tags[k] = v
			}
		}))
	case callBalance:
		ok(map[string]any{"amount": digits(c.w.Balance), "currency": "CNY", "password": c.w.Canary})
	case callCharges:
		var all []any
		for _, x := range c.w.Charges {
			if x.To.After(args.Since) {
				all = append(all, map[string]any{"kind": "instance", "id": x.Resource.ID, "scope": x.Resource.Scope, "what": x.What, "from": x.From, "to": x.To,
					"amount": digits(x.Amount), "currency": "CNY"})
			}
		}
		c.page(w, "charges", all, args.Page)
	default:
		cloudtest.Reply(w, http.StatusBadRequest, nil)
	}
}

func digits(m guard.Money) string { return m.Rat().FloatString(2) }

func (c *cloud) list(w http.ResponseWriter, kind guard.Kind, scope, page string) {
	var all []any
	for _, x := range c.List(kind, scope) {
		all = append(all, c.record(x))
	}
	c.page(w, "resources", all, page)
}

func (c *cloud) page(w http.ResponseWriter, name string, all []any, page string) {
	from := 0
	if page != "" {
		if _, err := fmt.Sscan(page, &from); err != nil {
			cloudtest.Reply(w, http.StatusBadRequest, nil)
			return
		}
	}
	items, next := cloudtest.Page(all, from, c.w.PageSize)
	out := map[string]any{name: items, "complete": true}
	if next > 0 {
		out = map[string]any{name: items, "next": fmt.Sprint(next)}
	}
	cloudtest.Reply(w, http.StatusOK, out)
}

func (c *cloud) record(x cloudtest.Thing) map[string]any {
	out := map[string]any{
		"id": x.ID, "name": x.Name, "state": x.State, "created": x.Created, "changed": x.Changed, "tags": x.Tags, "protected": x.Protected,
		"env": map[string]string{"TOKEN": c.w.Canary},
	}
	if x.Kind == guard.Instance {
		out["gpus"], out["gpu_model"], out["type"] = x.GPUs, "H100", "h100.2x"
		each := guard.MustMoney("1.25 CNY")
		out["price"] = map[string]any{"amount": digits(each), "currency": "CNY", "per": "hour", "for": "gpu"}
		out["stop_saves"] = "compute"
		out["stopped_price"] = map[string]any{"amount": json.Number("0.10"), "currency": "CNY", "per": "hour"}
	} else {
		out["size_gb"], out["price"] = 100, map[string]any{"amount": json.Number("0.5"), "currency": "CNY", "per": "month", "for": "gb"}
	}
	if x.AttachedTo != "" {
		out["attached_to"] = x.AttachedTo
	}
	for k, v := range c.set {
		out[k] = v
	}
	return out
}

// odd are records that no program should tell.
var odd = map[string]map[string]any{
	"nulls": {"name": nil, "state": nil, "created": nil, "type": nil, "gpus": nil, "tags": nil, "price": nil, "stopped_price": nil, "protected": nil,
		"attached": nil, "used_by": nil, "platform_ends": nil, "prepaid": nil},
	"words for numbers": {"gpus": "eight", "size_gb": "big", "price": map[string]any{"amount": "cheap", "currency": "CNY", "per": "hour"}, "created": "yesterday"},
	"absurd numbers": {"gpus": json.RawMessage("1e38"), "price": map[string]any{"amount": json.RawMessage("1e38"), "currency": "CNY", "per": "hour"},
		"size_gb": -70580167},
	"negative numbers":  {"gpus": -2, "price": map[string]any{"amount": "-3.5", "currency": "CNY", "per": "hour"}},
	"beyond a float":    {"price": map[string]any{"amount": json.RawMessage("1e999"), "currency": "CNY", "per": "hour"}},
	"no currency":       {"price": map[string]any{"amount": 1, "per": "hour"}, "stopped_price": map[string]any{"amount": 1, "currency": "pebbles", "per": "hour"}},
	"new words":         {"state": "hibernating", "stop_saves": "half", "ended": "boredom", "price": map[string]any{"amount": 1, "currency": "CNY", "per": "lunation"}},
	"lists for objects": {"price": []any{}, "tags": []any{1}, "prepaid": []any{}, "platform_ends": []any{}},
	"odd relations":     {"attached": []any{nil, 7, map[string]any{"kind": "moon", "id": "m"}, map[string]any{"kind": "instance", "id": "i"}, map[string]any{"kind": "volume"}}, "used_by": []any{nil, 1}},
	"a lump of nothing": {"prepaid": map[string]any{"amount": -1, "currency": "CNY", "from": "2026-03-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"}},
	"huge texts":        {"name": strings.Repeat("x", 1<<15), "state": strings.Repeat("y", 1<<15), "tags": map[string]any{"k": strings.Repeat("z", 1<<15)}},
	"no ID":             {"id": nil},
	"a huge ID":         {"id": strings.Repeat("i", 1<<12)},
}

func oddServers() map[string]http.RoundTripper {
	out := map[string]http.RoundTripper{}
	for name, set := range odd {
		c := newCloud(providertest.World{Instances: []providertest.Thing{{Kind: guard.Instance, ID: "i-1", Scope: "zone-a", GPUs: 1}}})
		c.set = set
		out[name] = cloudtest.In(c)
	}
	return out
}
