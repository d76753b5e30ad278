package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"guard"
	"guard/daemon/api"
	"guard/daemon/wire"
	"guard/policy/activity"
)

// pushed is what the API has handed on.
type pushed struct {
	samples []guard.Sample
	err     func(guard.Sample) error
	state   *activity.State
}

// signals wires a place for samples into a bench, and returns the token of lab/i-1's agent.
func (b *bench) signals() (*pushed, string) {
	b.Helper()
	p := &pushed{}
	b.o.Signals = api.Signals{
		Push: func(_ context.Context, _ guard.Instant, id guard.ResourceID, batch []guard.Sample) error {
			if id.Key() != "lab/instance/i-1" {
				b.Errorf("samples of %s", id.Key())
			}
			for _, x := range batch {
				if p.err != nil {
					if err := p.err(x); err != nil {
						return err
					}
				}
				if !slices.ContainsFunc(p.samples, func(o guard.Sample) bool { return o.At.Equal(x.At) }) {
					p.samples = append(p.samples, x)
				}
			}
			return nil
		},
		Activity: func(guard.ResourceID) (activity.State, bool) {
			if p.state == nil {
				return activity.State{}, false
			}
			return *p.state, true
		},
	}
	b.h = api.New(b.o)
	return p, b.token(wire.TokenRequest{Name: "box", Role: "viewer", Scope: "lab/i-1"}).Secret
}

// report is the body of an agent that sends samples, one minute apart, the last now.
func (b *bench) report(from uint64, n int) wire.AgentRequest {
	b.Helper()
	r := wire.AgentRequest{ID: "lab/i-1", SentAt: b.at.Wall, Version: "v1", Boot: "boot-1", Samples: []wire.AgentSample{}}
	for i := range n {
		x := guard.Sample{At: b.at.Wall.Add(time.Duration(i-n+1) * time.Minute), Interval: time.Minute, Basis: guard.Summary, Source: "x",
			GPUs: []guard.GPUSample{{Util: guard.Known(50)}}}
		raw, err := json.Marshal(x)
		if err != nil {
			b.Fatal(err)
		}
		r.Samples = append(r.Samples, wire.AgentSample{Stream: "run-1", Seq: from + uint64(i), Sample: raw})
	}
	return r
}

// sends posts a report under a token.
func (b *bench) sends(token string, r wire.AgentRequest) reply {
	b.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	return b.shows(token, http.MethodPost, "/agent/samples", string(body))
}

func (b *bench) taken(token string, r wire.AgentRequest) wire.AgentAnswer {
	b.Helper()
	got := b.sends(token, r)
	if got.status != http.StatusOK {
		b.Fatalf("%d: %s", got.status, got.body)
	}
	return decode[wire.AgentAnswer](b, []byte(got.body))
}

// TestAgentTokens: only the token that is for this very box sends its samples; nothing of
// any other is taken, and each is told why.
func TestAgentTokens(t *testing.T) {
	b := leased(t)
	p, mine := b.signals()
	other := b.token(wire.TokenRequest{Name: "other", Role: "operator", Scope: "lab/i-2"}).Secret
	all := b.token(wire.TokenRequest{Name: "everything", Role: "admin"}).Secret
	revoked := b.token(wire.TokenRequest{Name: "old", Role: "viewer", Scope: "lab/i-1"}).Secret
	good[wire.Tokens](b, "root", http.MethodPost, "/revoke", wire.RevokeRequest{Token: "old"})
	gone := b.token(wire.TokenRequest{Name: "gone", Role: "viewer", Scope: "lab/i-99"}).Secret
	r := b.report(1, 1)
	b.denied(b.sends("", r), 401, `"kind":"token"`, "wants a token")
	b.denied(b.sends(mine[:len(mine)-1]+"x", r), 401, "does not know this token")
	b.denied(b.sends(revoked, r), 401, "was revoked at", "by root")
	b.denied(b.sends(other, r), 403, `"kind":"permission"`, "for lab/i-2 only")
	b.denied(b.sends(all, r), 403, "for its own instance only", "--scope lab/i-1")
	b.bad("root", http.MethodPost, "/agent/samples", r, 403, "permission", "for its own instance only") // at the socket, too
	elsewhere := r
	elsewhere.ID = "lab/i-2"
	b.denied(b.sends(mine, elsewhere), 403, "for lab/i-1 only")
	elsewhere.ID = "lab/i-99"
	b.denied(b.sends(gone, elsewhere), 404, "knows of no instance lab/i-99")
	if len(p.samples) != 0 {
		t.Errorf("taken all the same: %+v", p.samples)
	}
	if show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil); show.Agent != nil {
		t.Errorf("an agent that was refused is shown: %+v", show.Agent)
	}
	if a := b.taken(mine, r); a.Taken != 1 || len(p.samples) != 1 || p.samples[0].Source != "agent" {
		t.Errorf("%+v, %+v", a, p.samples)
	}
}

// TestAgentClock: a clock that is hours off is put right by when the samples came, and
// that is shown; one that is a little off is left as it is.
func TestAgentClock(t *testing.T) {
	for _, c := range []struct {
		off  time.Duration // the agent's clock is so much ahead
		skew float64
	}{{0, 0}, {50 * time.Second, 0}, {-time.Minute, 0}, {-time.Minute - time.Second, 61}, {2 * time.Hour, -7200}, {-30 * time.Hour, 108000}, {24 * 365 * time.Hour, -24 * 365 * 3600}} {
		b := leased(t)
		p, token := b.signals()
		r := b.report(1, 3)
		r.SentAt = r.SentAt.Add(c.off)
		for i := range r.Samples {
			var x guard.Sample
			if err := json.Unmarshal(r.Samples[i].Sample, &x); err != nil {
				t.Fatal(err)
			}
			x.At = x.At.Add(c.off)
			r.Samples[i].Sample, _ = json.Marshal(x)
		}
		a := b.taken(token, r)
		if a.Skew != c.skew || a.Taken != 3 {
			t.Errorf("%s ahead: %+v, want a skew of %v", c.off, a, c.skew)
		}
		want := b.at.Wall
		if c.skew == 0 {
			want = want.Add(c.off)
		}
		if last := p.samples[len(p.samples)-1].At; !last.Equal(want) {
			t.Errorf("%s ahead: the last sample is of %s, want %s", c.off, last, want)
		}
		show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
		if g := show.Agent; g == nil || g.Skew != c.skew || !g.Seen.Equal(b.at.Wall) || g.Version != "v1" {
			t.Errorf("%s ahead: shown as %+v", c.off, g)
		}
	}
}

// TestAgentDrops: what came before, lies in the future or cannot be one is dropped alone
// and counted; the rest is taken.
func TestAgentDrops(t *testing.T) {
	b := leased(t)
	p, token := b.signals()
	b.taken(token, b.report(1, 3))
	b.pass(time.Minute)
	again := b.report(3, 2) // 3 has come before, 4 has not
	if a := b.taken(token, again); a.Taken != 1 || a.Twice != 1 || len(p.samples) != 4 {
		t.Errorf("%+v, %d samples", a, len(p.samples))
	}
	if a := b.taken(token, again); a.Taken != 0 || a.Twice != 2 || len(p.samples) != 4 {
		t.Errorf("the same once more: %+v, %d samples", a, len(p.samples))
	}
	// Another run of the agent counts anew, and what the first one left on its disk is
	// still known.
	second := b.report(1, 1)
	b.pass(time.Minute)
	second.Samples = append([]wire.AgentSample{again.Samples[1]}, b.report(1, 1).Samples...)
	second.Samples[1].Stream, second.SentAt = "run-2", b.at.Wall
	if a := b.taken(token, second); a.Taken != 1 || a.Twice != 1 {
		t.Errorf("a second run: %+v", a)
	}
	b.pass(time.Minute)
	odd := b.report(10, 8)
	change := func(i int, f func(*guard.Sample)) {
		var x guard.Sample
		if err := json.Unmarshal(odd.Samples[i].Sample, &x); err != nil {
			t.Fatal(err)
		}
		f(&x)
		odd.Samples[i].Sample, _ = json.Marshal(x)
	}
	change(0, func(x *guard.Sample) { x.At = b.at.Wall.Add(61 * time.Second) })
	change(1, func(x *guard.Sample) { x.At = time.Time{} })
	change(2, func(x *guard.Sample) { x.Interval = -time.Second })
	change(3, func(x *guard.Sample) { x.Basis = "guess" })
	odd.Samples[4].Sample = json.RawMessage(`"\u0007 no sample"`)
	change(5, func(x *guard.Sample) { x.GPUs = make([]guard.GPUSample, 1000) })
	p.err = func(x guard.Sample) error {
		if x.At.Equal(b.at.Wall.Add(-time.Minute)) {
			return fmt.Errorf("%w: the book does not believe it", guard.ErrInvalid)
		}
		return nil
	}
	before := len(p.samples)
	a := b.taken(token, odd)
	if a.Taken != 1 || a.Future != 1 || a.Unusable != 6 || len(p.samples) != before+1 || a.Why != "a sample has no time" {
		t.Errorf("%+v, %d samples", a, len(p.samples)-before)
	}
	show := good[wire.Show](b, "ana", http.MethodGet, "/show?id=lab/i-1", nil)
	if g := show.Agent; g.Twice != 4 || g.Future != 1 || g.Unusable != 6 || g.Why != "a sample has no time" {
		t.Errorf("shown as %+v", g)
	}
	// What cannot be read is told by its field and its value.
	p.err = nil
	b.pass(time.Minute)
	for i, c := range []struct{ sample, why string }{
		{`{"nics":[{"name":"eth0","rx":-5}]}`, "a sample cannot be read: nics.rx is number -5"},
		{`{"interval":"1m"}`, "a sample cannot be read: interval is string"},
		{`{"gpus":[{"util":"high"}]}`, `a sample cannot be read: "high" is not a number`},
		{`[]`, "a sample cannot be read: it is array"},
	} {
		r := b.report(uint64(18+i), 1)
		r.Samples[0].Sample = json.RawMessage(c.sample)
		if a := b.taken(token, r); a.Unusable != 1 || a.Why != c.why {
			t.Errorf("%s: %+v", c.sample, a)
		}
	}
	// What the book cannot keep now is not forgotten: it is to be sent again.
	p.err = func(guard.Sample) error { return fmt.Errorf("%w: the disk is full", guard.ErrUnavailable) }
	b.pass(time.Minute)
	r := b.report(30, 1)
	b.denied(b.sends(token, r), 503, "the disk is full")
	p.err = nil
	if a := b.taken(token, r); a.Taken != 1 {
		t.Errorf("sent again: %+v", a)
	}
}

// counted is a body that counts how much of it was read.
type counted struct {
	left, read int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), c.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	c.left, c.read = c.left-n, c.read+n
	return int(n), nil
}

// TestAgentBody: a body of 100 MB is refused and not read, whether its length is told or
// not; more samples than a body may have, and what is no JSON, have their words.
func TestAgentBody(t *testing.T) {
	b := leased(t)
	p, token := b.signals()
	const size = 100 << 20
	for name, length := range map[string]int64{"its length is told": size, "it is not": -1} {
		body := &counted{left: size}
		r := httptest.NewRequest(http.MethodPost, "/v1/agent/samples", body)
		r.ContentLength = length
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		b.h.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || body.read > 2<<20 {
			t.Errorf("%s: %d after %d bytes: %s", name, w.Code, body.read, w.Body)
		}
	}
	bomb := httptest.NewRequest(http.MethodPost, "/v1/agent/samples", strings.NewReader("\x1f\x8b"))
	bomb.Header.Set("Content-Encoding", "gzip")
	bomb.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if b.h.ServeHTTP(w, bomb); w.Code != http.StatusUnsupportedMediaType || !strings.Contains(w.Body.String(), "no packed bodies, and this one is gzip") {
		t.Errorf("a gzip bomb: %d %s", w.Code, w.Body)
	}
	r := b.report(1, wire.MostSamples+1)
	b.denied(b.sends(token, r), 400, "too many: at most 500")
	b.denied(b.shows(token, http.MethodPost, "/agent/samples", "<html>"), 400, "invalid")
	b.denied(b.shows(token, http.MethodPost, "/agent/samples", `{"id":"lab/i-1"}`), 400, "sent_at")
	// What is wrong is told, and not all that came.
	for _, body := range []string{"[[[[" + strings.Repeat("x", 5000), `{"id":"lab/i-1","junk":"` + strings.Repeat("x", 5000) + `"}`, "\x1f\x8b" + strings.Repeat("\x00", 5000)} {
		if r := b.shows(token, http.MethodPost, "/agent/samples", body); r.status != 400 || len(r.body) > 1000 {
			t.Errorf("%d, %d bytes: %.200s", r.status, len(r.body), r.body)
		}
	}
	long := b.report(1, 1)
	long.Trouble = strings.Repeat("x", 400)
	b.denied(b.sends(token, long), 400, "trouble")
	if len(p.samples) != 0 {
		t.Errorf("%d samples were taken", len(p.samples))
	}
	if a := b.taken(token, b.report(1, wire.MostSamples)); a.Taken != wire.MostSamples {
		t.Errorf("%+v", a)
	}
	// Who asks too often waits, and is told for how long.
	var last reply
	for range 200 {
		if last = b.sends(token, b.report(1000, 1)); last.status != http.StatusOK {
			break
		}
	}
	b.denied(last, 429, "throttled")
	if last.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestTooSlow: what comes too slowly may come again, which what is wrong may not.
func TestTooSlow(t *testing.T) {
	err := huma.NewError(http.StatusRequestTimeout, "request body read timeout")
	text, _ := json.Marshal(err)
	if err.GetStatus() != http.StatusRequestTimeout || !strings.Contains(string(text), `"kind":"unavailable"`) || !strings.Contains(string(text), "too slowly") {
		t.Errorf("%d: %s", err.GetStatus(), text)
	}
}
