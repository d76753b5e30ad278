package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"guard"
)

// server is the API. It answers at once and never blocks.
type server struct{ c *Cloud }

// op is one request, read.
type op struct {
	call  string
	kind  guard.Kind
	scope string
	ids   []ref
	after int // of a list: the last entry of the page before
	tags  map[string]string
	group string      // of a release: the group that the member goes through
	since []time.Time // of each of ids: after when its samples are wanted
	from  time.Time   // of the bill: after when its lines end
	timer time.Time   // that is to be set; zero: none
	dry   bool        // a dry run: it tells whether the call would be allowed
}

type ref struct {
	Kind guard.Kind `json:"kind"`
	ID   string     `json:"id"`
}

// logged is the call as the log names it.
func (o op) logged() string {
	if o.dry {
		return CallProbe
	}
	return o.call
}

func (o op) names() []string {
	var out []string
	for _, r := range o.ids {
		out = append(out, r.ID)
	}
	return out
}

// answer is what a request gets: a status and a body, or no reply at all.
type answer struct {
	status     int
	body       any // marshalled, or sent as it is where it is a string
	retryAfter string
	html       bool
	lost       error
	outcome    string
}

// timeOut is what net/http gives where a reply never comes.
type timeOut struct{}

func (timeOut) Error() string   { return "no reply" }
func (timeOut) Timeout() bool   { return true }
func (timeOut) Temporary() bool { return true }

// RoundTrip implements http.RoundTripper.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := guard.InstantFrom(r.Context()); ok {
		c.advance(c.script.Time(at))
	}
	o, ok := parse(r, body)
	if !ok {
		return respond(r, c.now, refuse(http.StatusNotFound, "no such call"))
	}
	a := c.answer(r, o)
	c.calls = append(c.calls, Call{At: c.now, Call: o.logged(), IDs: o.names(), Scope: o.scope, Kind: o.kind, Status: a.status, Outcome: a.outcome})
	if a.lost != nil {
		return nil, a.lost
	}
	return respond(r, c.now, a)
}

func (c *Cloud) answer(r *http.Request, o op) answer {
	if t := c.script.Token; t.IsSet() && r.Header.Get("Authorization") != "Bearer "+t.Reveal() {
		return refuse(http.StatusUnauthorized, "refused")
	}
	f := c.fault(o)
	if f == nil {
		return c.serve(o, Reply{})
	}
	return c.faulty(o, f.Reply)
}

func respond(r *http.Request, now time.Time, a answer) (*http.Response, error) {
	h := http.Header{"Date": {now.UTC().Format(http.TimeFormat)}, "Content-Type": {"application/json"}}
	if a.html {
		h.Set("Content-Type", "text/html; charset=utf-8")
	}
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	text, raw := a.body.(string)
	if !raw {
		b, err := json.Marshal(a.body)
		if err != nil {
			return nil, fmt.Errorf("the fake cloud has an answer without a JSON form: %w", err)
		}
		text = string(b)
	}
	return &http.Response{
		StatusCode: a.status, Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: r,
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body, outcome: "ok"} }

func accepted() answer { return ok(map[string]any{"accepted": true}) }

func refuse(status int, outcome string) answer {
	return answer{status: status, body: map[string]any{"error": outcome}, outcome: outcome}
}

// parse reads a request; false where the API has no such call.
//
//	GET    /v1/identity
//	GET    /v1/balance                        what is left in the account
//	GET    /v1/charges?since=                 the bill
//	GET    /v1/resources?kind=&scope=&page=   one page
//	POST   /v1/lookup {"ids":[{kind,id}]}     a read of up to 100 things
//	POST   /v1/signals {"ids":[{kind,id,since}]}   the samples of up to 100 things
//	DELETE /v1/KIND/ID
//	DELETE /v1/instance/ID/group/GROUP        the group does not start another in its place
//	POST   /v1/KIND/ID/stop
//	POST   /v1/KIND/ID/tags {"tags":{}}
//	GET    /v1/KIND/ID/protection             DELETE lifts it
//	GET    /v1/instance/ID/timer              when the cloud ends it by itself
//	POST   /v1/instance/ID/timer {"at":TIME}  null takes it away
//
// A write with ?dry_run=1 says whether it would be allowed, and does nothing.
func parse(r *http.Request, body []byte) (op, bool) {
	path := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/v1/"), "/")
	q := r.URL.Query()
	var in struct {
		IDs []struct {
			ref
			Since time.Time `json:"since"`
		} `json:"ids"`
		Tags map[string]string `json:"tags"`
		At   time.Time         `json:"at"`
	}
	if len(body) > 0 && json.Unmarshal(body, &in) != nil || len(in.IDs) > mostIDs {
		return op{}, false
	}
	many := op{}
	for _, id := range in.IDs {
		many.ids, many.since = append(many.ids, id.ref), append(many.since, id.Since)
	}
	what := r.Method + " " + path[0]
	group := ""
	if len(path) == 4 && path[2] == "group" {
		group, path = unescape(path[3]), path[:2]
	}
	if len(path) >= 2 {
		what = r.Method + " " + strings.Join(path[2:], "/")
	}
	switch {
	case len(path) == 1 && what == "GET identity":
		return op{call: CallIdentity}, true
	case len(path) == 1 && what == "GET balance":
		return op{call: CallBalance}, true
	case len(path) == 1 && what == "GET charges":
		return op{call: CallCharges, from: readSince(r)}, true
	case len(path) == 1 && what == "GET resources":
		o := op{call: CallList, kind: guard.Kind(q.Get("kind")), scope: q.Get("scope")}
		if page := q.Get("page"); page != "" {
			n, err := strconv.Atoi(strings.TrimPrefix(page, "after-"))
			if err != nil {
				return op{}, false
			}
			o.after = n
		}
		return o, true
	case len(path) == 1 && what == "POST lookup":
		many.call = CallGet
		return many, true
	case len(path) == 1 && what == "POST signals":
		many.call = CallSignals
		return many, true
	case len(path) < 2:
		return op{}, false
	}
	o := op{kind: guard.Kind(path[0]), tags: in.Tags, timer: in.At, group: group}
	o.ids = []ref{{o.kind, unescape(path[1])}}
	switch what {
	case "DELETE ":
		o.call = CallDelete
		if o.kind == guard.Instance || o.kind == guard.SpotRequest {
			o.call = CallRelease
		}
	case "POST stop":
		o.call = CallStop
	case "POST tags":
		o.call = CallTag
	case "GET protection":
		o.call = CallProtection
	case "DELETE protection":
		o.call = CallUnprotect
	case "GET timer":
		o.call = CallArmed
	case "POST timer":
		o.call = CallArm
	default:
		return op{}, false
	}
	o.dry = q.Get("dry_run") == "1" && o.call != CallProtection && o.call != CallArmed
	return o, true
}

// serve answers a request as it should be, but for what an odd reply changes.
func (c *Cloud) serve(o op, odd Reply) answer {
	switch o.call {
	case CallIdentity:
		self := c.script.Self
		return ok(map[string]any{"identity": c.identity, "kind": c.script.IdentityKind, "self": self})
	case CallBalance:
		return c.left(odd)
	case CallCharges:
		return c.charges(o, odd)
	case CallList:
		return c.list(o, odd)
	case CallGet:
		return c.lookup(o, odd)
	case CallSignals:
		return c.signals(o, odd)
	}
	id := o.ids[0]
	t := c.see(id)
	if t == nil && id.Kind == guard.SpotRequest && o.call == CallRelease && c.cancel(id.ID) {
		return accepted()
	}
	if t == nil {
		return refuse(http.StatusNotFound, "not found")
	}
	if o.dry {
		return ok(map[string]any{"dry_run": true})
	}
	gone := t.last().word == stateGone || t.last().word == stateReleasing
	switch o.call {
	case CallRelease, CallDelete:
		if !gone && slices.Contains(t.spec.Protected, "release") {
			return refuse(http.StatusLocked, "protected")
		}
		if !gone && (t.host != nil || len(c.users(t)) > 0) {
			return refuse(http.StatusConflict, "in use")
		}
		if o.group != "" && t.chain != nil && t.chain.relaunch.Parent == o.group {
			t.chain.done = len(t.chain.relaunch.IDs)
		}
		c.release(t)
	case CallStop:
		switch {
		case t.spec.Kind != guard.Instance || c.script.StopEffect == guard.StopUnsupported:
			return refuse(http.StatusNotImplemented, "refused")
		case gone:
			return refuse(http.StatusConflict, "refused")
		case slices.Contains(t.spec.Protected, "stop"):
			return refuse(http.StatusLocked, "protected")
		case t.last().word != stateStopped:
			c.halt(t, endedUser, c.now)
		}
	case CallTag:
		if t.spec.Tags == nil {
			t.spec.Tags = map[string]string{}
		}
		for k, v := range o.tags {
			t.spec.Tags[k] = v
		}
	case CallProtection:
		return ok(map[string]any{"protected": append([]string{}, t.spec.Protected...)})
	case CallUnprotect:
		t.spec.Protected = nil
	case CallArm, CallArmed:
		return c.timed(t, o)
	}
	return accepted()
}

// see finds what the API knows of.
func (c *Cloud) see(r ref) *thing {
	for _, t := range c.index.byID[r.ID] {
		if t.spec.Kind == r.Kind && c.visible(t) {
			return t
		}
	}
	return nil
}

// behind yields the visible things of a kind in a scope that come after an entry,
// in order. The token of a page is the last entry of the one before, so that what
// vanishes in between shifts nothing.
func (c *Cloud) behind(o op, after int) iter.Seq[*thing] {
	return func(yield func(*thing) bool) {
		for _, t := range c.index.listed(o.kind, o.scope, after) {
			if c.visible(t) && !yield(t) {
				return
			}
		}
	}
}

// pages are all of them, for faults that speak of a page by its number.
func (c *Cloud) pages(o op) [][]*thing {
	return slices.Collect(slices.Chunk(slices.Collect(c.behind(o, 0)), c.script.PageSize))
}

// pageOf is the number of the page, from 1, that begins behind an entry.
func (c *Cloud) pageOf(o op) int {
	for i, p := range c.pages(o) {
		if p[len(p)-1].seq > o.after {
			return i + 1
		}
	}
	return 1
}

func (c *Cloud) list(o op, odd Reply) answer {
	if !slices.Contains(c.script.Scopes, o.scope) {
		return refuse(http.StatusNotFound, "not found")
	}
	body := map[string]any{"currency": c.script.Currency}
	if odd.DropPage > 0 { // the entries of that page are nowhere; no token tells
		o.after = max(o.after, last(c.pages(o), odd.DropPage))
	}
	items := []any{}
	for t := range c.behind(o, o.after) {
		if len(items) == c.script.PageSize {
			body["next"] = "after-" + strconv.Itoa(o.after)
			break
		}
		as := odd
		if f := c.faultOf(CallList, ref{t.spec.Kind, t.spec.ID}); f != nil {
			as = f.Reply
		}
		items = append(items, disguise(c.report(t), as))
		o.after = t.seq
	}
	body["items"] = items
	return ok(body)
}

// last is the last entry of page n.
func last(pages [][]*thing, n int) int {
	if n > len(pages) {
		return 0
	}
	page := pages[n-1]
	return page[len(page)-1].seq
}

func (c *Cloud) lookup(o op, odd Reply) answer {
	results := []wireLookup{}
	for _, id := range o.ids {
		l := wireLookup{Kind: id.Kind, ID: id.ID}
		f := c.faultOf(CallGet, id)
		t := c.see(id)
		switch {
		case f != nil && f.Reply.fails():
			l.Error = f.Reply.itemError()
		case f != nil && (f.Reply.Empty || f.Reply.HTML):
			// a null object: neither there nor absent
		case t == nil:
			l.Absent = true
		case f != nil:
			l.Resource = disguise(c.report(t), f.Reply)
		default:
			l.Resource = disguise(c.report(t), odd)
		}
		results = append(results, l)
	}
	return ok(map[string]any{"results": results, "currency": c.script.Currency})
}

// disguise nulls and replaces fields of what the API tells.
func disguise(w any, odd Reply) any {
	if len(odd.NullFields) == 0 && len(odd.SetFields) == 0 {
		return w
	}
	b, err := json.Marshal(w)
	fields := map[string]any{}
	if err != nil || json.Unmarshal(b, &fields) != nil {
		return w
	}
	for _, name := range odd.NullFields {
		fields[name] = nil
	}
	for name, v := range odd.SetFields {
		fields[name] = v
	}
	return fields
}

// dialFailed is what net/http gives where there is no way to the host.
func dialFailed() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ENETUNREACH}
}
