package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// absurd is what a field of a reply may hold one day, in place of what it should.
var absurd = []struct{ name, json string }{
	{"null", `null`},
	{"missing", ``},
	{"an empty text", `""`},
	{"a new word", `"levitating"`},
	{"a text of NaN", `"NaN"`},
	{"a huge text", `"` + strings.Repeat("x", 1<<15) + `"`},
	{"zero", `0`},
	{"negative", `-1`},
	{"a fraction", `0.5`},
	{"1e38", `1e38`},
	{"more than a float holds", `1e999`},
	{"true", `true`},
	{"a list", `[[1]]`},
	{"an object", `{"a":[]}`},
}

// wrongFields takes the healthy replies to each read, and puts each absurd value into one
// field at a time: of what stands around the list and of its first entry. What can still
// be told must be told, and the rest is unknown or an error: never nothing, never zero,
// never absent, and never at the cost of the other entries.
func (s *suite) wrongFields() {
	w := s.world(2)
	w.PageSize = 0
	reads := []read{s.readIdentity(), s.readList(w, guard.Instance), s.readGet(w)}
	for _, kind := range s.h.Kinds {
		reads = append(reads, s.readList(s.withLeftovers(kind), kind))
	}
	p, _ := s.open(w)
	if _, ok := p.(providers.Balancer); ok {
		reads = append(reads, s.readBalance())
	}
	if _, ok := p.(providers.Biller); ok {
		reads = append(reads, s.readCharges())
	}
	if _, ok := p.(providers.SignalSource); ok && s.h.Watched != nil {
		reads = append(reads, s.readSignals())
	}
	tried := 0
	var whole []string
	for _, r := range reads {
		n := s.spoil(r)
		if tried += n; n == 0 && r.call != "" {
			whole = append(whole, r.name)
		}
	}
	if tried == 0 {
		s.skip("a reply in JSON")
	}
	if len(whole) > 0 {
		s.Errorf("no reply was spoilt of %s", strings.Join(whole, ", "))
	}
	s.Logf("%d replies with a wrong field", tried)
}

// read is one that is made again and again.
type read struct {
	name   string
	call   string // what is spoilt; "" where nobody is asked
	server http.RoundTripper
	// check makes it, and finds fault with the answer.
	check func(p providers.Provider, wrong wrong) string
}

// wrong is what a field was, and what it is instead; both in JSON, "" for nothing.
type wrong struct{ was, is string }

// plain tells of a value that a field of the same sort may well have.
func (x wrong) plain() bool { return slices.Contains([]string{`0`, `-1`, `0.5`}, x.is) }

// currency tells that a field named a currency and does no more.
func (s *suite) currency(x wrong) bool {
	return s.h.Currency != "" && x.was == strconv.Quote(s.h.Currency)
}

// spoil makes one read with each absurd value in each field, and says how often.
func (s *suite) spoil(r read) int {
	s.Helper()
	p, x := s.on(r.server)
	healthy := map[string][]byte{}
	x.next = editor{r.server, func(text string, body []byte) []byte {
		healthy[text] = body
		return body
	}, x}
	if fault := r.check(p, wrong{}); fault != "" {
		s.Fatalf("%s, from a healthy account: %s", r.name, fault)
	}
	tried, drawn := 0, 0
	for _, text := range append(x.texts(r.call), x.texts(Other)...) {
		var root any
		if decode(healthy[text], &root) != nil {
			continue
		}
		for _, at := range nodes(root, nil) {
			for _, value := range absurd {
				was := at.in(root)
				if was == value.json || was == "false" && value.json == "true" {
					continue // as it may be
				}
				if drawn++; testing.Short() && drawn%7 != 0 {
					continue // the race detector makes it slow
				}
				spoilt := spoilt(healthy[text], at, value.json)
				p, x := s.on(r.server)
				x.next = editor{r.server, func(t string, body []byte) []byte {
					if t == text {
						return spoilt
					}
					return body
				}, x}
				tried++
				if fault := r.check(p, wrong{was, value.json}); fault != "" {
					s.Errorf("%s, with %s in %s: %s", r.name, value.name, strings.Join(at, "."), fault)
				}
			}
		}
	}
	return tried
}

func (s *suite) readIdentity() read {
	return read{"Identity", s.asked(Identity), s.h.Serve(s.T, s.world(1)), func(p providers.Provider, _ wrong) string {
		id, err := p.Identity(s.ctx())
		if err == nil && (strings.TrimSpace(id.ID) == "" || len(id.ID) > 1024) {
			return fmt.Sprintf("%.100q", id.ID)
		}
		return ""
	}}
}

func (s *suite) readList(w World, kind guard.Kind) read {
	scope := w.Scopes[0]
	want := w.idsIn(scope)
	if kind != guard.Instance {
		want = nil
		for _, t := range w.Leftovers {
			want = append(want, t.ID)
		}
	}
	return read{"List of kind " + string(kind), List, s.h.Serve(s.T, w), func(p providers.Provider, _ wrong) string {
		inv, err := p.List(s.ctx(), providers.Query{Kinds: []guard.Kind{kind}, Scopes: w.Scopes[:1]})
		if err != nil {
			return ""
		}
		r := s.kindIn(inv, kind, scope)
		for _, x := range r.Resources {
			s.sane(string(kind), x)
			if fault := free(x); fault != "" {
				return fault
			}
		}
		got := idsOf(r.Resources)
		kept := len(slices.DeleteFunc(slices.Clone(want), func(id string) bool { return !slices.Contains(got, id) }))
		if r.Err == nil && (len(got) != len(want) || kept < len(want)-1) {
			return fmt.Sprintf("a complete list of %.300v, where %v are", got, want)
		}
		return ""
	}}
}

// free is what is wrong with what exists and bills, and is told otherwise.
func free(x guard.Resource) string {
	h, ok := x.Rate.Hourly()
	switch {
	case x.State == guard.StateGone, x.Bills == guard.No:
		return fmt.Sprintf("it is %s, and bills: %s", x.State, x.Bills)
	case ok && x.State != guard.StateStopped && x.Bills == guard.Yes && h.IsZero():
		return "it costs nothing"
	}
	for _, rate := range []guard.Rate{x.Rate, x.StoppedRate} {
		if h, ok := rate.Hourly(); ok && h.Rat().Num().BitLen()-h.Rat().Denom().BitLen() > 20 { // a million an hour
			return fmt.Sprintf("it costs %s an hour", h)
		}
	}
	return ""
}

func (s *suite) readGet(w World) read {
	ask := []guard.ResourceID{s.id(w, 0), s.id(w, 1)}
	return read{"Get", s.asked(Get), s.h.Serve(s.T, w), func(p providers.Provider, _ wrong) string {
		for i, l := range p.Get(s.ctx(), ask...) {
			switch {
			case l.Verdict == guard.VerdictAbsent:
				return fmt.Sprintf("%s is absent", ask[i])
			case l.Verdict == guard.VerdictFound && l.Resource.ID.Key() != ask[i].Key():
				return fmt.Sprintf("%.100s stands for %s", l.Resource.ID, ask[i])
			case l.Verdict == guard.VerdictFound:
				s.sane("Get", l.Resource)
				if fault := free(l.Resource); fault != "" {
					return fault
				}
			case l.Err == nil:
				return fmt.Sprintf("%s is %s without a reason", ask[i], l.Verdict)
			}
		}
		return ""
	}}
}

func (s *suite) readSignals() read {
	p, x, at, w := s.watching()
	ctx := guard.WithInstant(s.ctx(), at.At)
	p.Signals(ctx, s.about(w, time.Time{}, 0, 1))
	return read{"Signals", x.asked(Signals), at.Server, func(p providers.Provider, _ wrong) string {
		got := p.(providers.SignalSource).Signals(ctx, s.about(w, time.Time{}, 0, 1))
		if len(got) != 2 {
			return fmt.Sprintf("%d answers about two", len(got))
		}
		for _, one := range got {
			s.samples(one, time.Time{}, time.Time{})
		}
		return ""
	}}
}

func (s *suite) readBalance() read {
	w := s.billed()
	return read{"Balance", Balance, s.h.Serve(s.T, w), func(p providers.Provider, x wrong) string {
		b, err := p.(providers.Balancer).Balance(s.ctx())
		if err == nil && (!b.Amount.Equal(w.Balance) && !x.plain() || b.Amount.Currency() != s.h.Currency || s.currency(x)) {
			return fmt.Sprintf("%v is left, where %s is", b.Amount, w.Balance)
		}
		return ""
	}}
}

func (s *suite) readCharges() read {
	w := s.billed()
	return read{"Charges", Charges, s.h.Serve(s.T, w), func(p providers.Provider, x wrong) string {
		all, err := p.(providers.Biller).Charges(s.ctx(), w.Charges[0].From.Add(-24*time.Hour))
		if err != nil {
			return ""
		}
		for _, c := range all {
			s.saneCharge(c)
		}
		if got, want := sum(all), sum(w.Charges); got != want && !x.plain() || s.currency(x) {
			return fmt.Sprintf("%s in all, where %s is", got, want)
		}
		return ""
	}}
}

// sum is what all charges come to, whoever they name.
func sum(all []guard.Charge) string {
	all = slices.Clone(all)
	for i := range all {
		all[i].Resource = guard.ResourceID{}
	}
	return fmt.Sprint(totals(all))
}

// editor changes the replies of a server.
type editor struct {
	next http.RoundTripper
	edit func(text string, body []byte) []byte
	x    *wire
}

// RoundTrip implements http.RoundTripper.
func (e editor) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(sent))
	resp, err := e.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	e.x.mu.Lock() // adapters ask in parallel
	body = e.edit(textOf(r, sent), body)
	e.x.mu.Unlock()
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

func decode(body []byte, into *any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	return dec.Decode(into)
}

// path leads to a field of a JSON value: names, and "0" for a list's first entry.
type path []string

// nodes are the paths to all that stands in a value, of its lists the first entry alone.
func nodes(v any, at path) []path {
	var out []path
	if len(at) > 0 {
		out = append(out, at)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, nodes(v[k], append(slices.Clone(at), k))...)
		}
	case []any:
		if len(v) > 0 {
			out = append(out, nodes(v[0], append(slices.Clone(at), "0"))...)
		}
	}
	return out
}

// step goes to a field of a value.
func step(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		return v[0]
	}
	return nil
}

// in is what stands there in a value, in JSON.
func (at path) in(v any) string {
	for _, name := range at {
		v = step(v, name)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(b)
}

// spoilt is a reply with another value at a path; "" leaves the field out.
func spoilt(body []byte, at path, value string) []byte {
	var root any
	if err := decode(body, &root); err != nil {
		panic(err) // it was decoded before
	}
	v, last := root, at[len(at)-1]
	for _, name := range at[:len(at)-1] {
		v = step(v, name)
	}
	switch v := v.(type) {
	case map[string]any:
		if v[last] = json.RawMessage(value); value == "" {
			delete(v, last)
		}
	case []any:
		if v[0] = json.RawMessage(value); value == "" {
			v[0] = json.RawMessage(`{}`)
		}
	}
	b, err := json.Marshal(root)
	if err != nil {
		panic(err) // the table is of JSON
	}
	return b
}
