package report_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/report"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
)

// heart is a watcher outside, and the loop that tells it.
type heart struct {
	*world
	loop  *report.Heartbeat
	beats []time.Time
	down  error
	fails bool // errors are expected
}

func newHeart(w *world) *heart {
	h := &heart{world: w}
	h.loop = report.NewHeartbeat(w.config(), 5*time.Minute, func(context.Context) error {
		if h.down == nil {
			h.beats = append(h.beats, w.at.Wall)
		}
		return h.down
	})
	return h
}

// lives lets guard live for a while: the accounts are read each minute, and judged half a
// minute later. Sick is what fails meanwhile.
func (h *heart) lives(d time.Duration, sick func(*heart)) (beats int) {
	h.t.Helper()
	before := len(h.beats)
	for end := h.at.Add(d); h.at.Before(end); h.at = h.at.Add(15 * time.Second) {
		if h.at.Elapsed%time.Minute == 0 {
			for _, a := range h.accounts {
				h.polled(a.Name)
			}
		}
		if h.at.Elapsed%time.Minute == 30*time.Second {
			h.judged()
		}
		if sick != nil {
			sick(h)
		}
		if _, err := h.loop.Once(h.t.Context(), h.at); err != nil && !h.fails {
			h.t.Fatal(err)
		}
	}
	return len(h.beats) - before
}

// Beats go out while all is well, five minutes apart and no sooner.
func TestHeartbeat(t *testing.T) {
	h := newHeart(newWorld(t, "UTC", "2026-03-06 18:00"))
	if n := h.lives(time.Hour, nil); n < 11 || n > 12 {
		t.Errorf("%d beats in an hour", n)
	}
	for n := range h.beats[1:] {
		if apart := h.beats[n+1].Sub(h.beats[n]); apart < 5*time.Minute || apart > 6*time.Minute {
			t.Errorf("two beats are %s apart", apart)
		}
	}
}

// Nothing is heard while anything stands still, from the sixth minute on at the latest,
// and beats come again when it is over.
func TestHeartbeatStops(t *testing.T) {
	for name, sick := range map[string]func(*heart){
		"an account cannot be read": func(h *heart) {
			h.put(func(tx *store.Tx) error {
				return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Polled: h.when("2026-03-06 17:00"), Failing: h.when("2026-03-06 17:01")})
			})
		},
		"a scope cannot be read": func(h *heart) {
			h.put(func(tx *store.Tx) error {
				return tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "b", Complete: h.when("2026-03-06 17:00"), Failing: h.when("2026-03-06 17:01")})
			})
		},
		"the credentials are another account's": func(h *heart) {
			h.put(func(tx *store.Tx) error {
				return tx.Accounts.Put(guard.AccountStatus{Name: "lab", Polled: h.at.Wall, Mismatch: "other"})
			})
		},
		"nothing is judged":    func(h *heart) { h.runs = []report.Run{{Loop: "decide", Last: h.when("2026-03-06 17:00")}} },
		"judging fails":        func(h *heart) { h.judged(); h.runs[0].Failed = true },
		"judging does not end": func(h *heart) { h.judged(); h.runs[0].Running = true },
		"a loop stands still":  func(h *heart) { h.judged(); h.runs = append(h.runs, report.Run{Loop: "notify", Stale: true}) },
		"spend is not metered": func(h *heart) { h.judged(); h.runs = append(h.runs, report.Run{Loop: "meter", Failed: true}) },
		"nothing urgent is told": func(h *heart) {
			h.put(func(tx *store.Tx) error {
				return tx.Outbox.Put(guard.Message{ID: "team|x", Channel: "team", Urgent: true, CreatedAt: h.when("2026-03-06 17:00")})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeart(newWorld(t, "UTC", "2026-03-06 18:00"))
			h.lives(20*time.Minute, nil)
			h.lives(6*time.Minute, sick)
			if n := h.lives(time.Hour, sick); n != 0 {
				t.Fatalf("%d beats meanwhile", n)
			}
			h.put(func(tx *store.Tx) error {
				if err := tx.Scopes.Put(guard.ScopeStatus{Account: "lab", Kind: guard.Instance, Scope: "b", Complete: h.at.Wall}); err != nil {
					return err
				}
				return tx.Outbox.Delete("team|x")
			})
			if n := h.lives(12*time.Minute, nil); n < 1 {
				t.Error("no beat after that")
			}
		})
	}
}

// What is not urgent, or is for a channel that nobody configures any more, stops nothing.
func TestHeartbeatGoesOn(t *testing.T) {
	h := newHeart(newWorld(t, "UTC", "2026-03-06 18:00"))
	h.put(func(tx *store.Tx) error {
		if err := tx.Outbox.Put(guard.Message{ID: "gone|x", Channel: "gone", Urgent: true, CreatedAt: h.when("2026-03-06 10:00")}); err != nil {
			return err
		}
		return tx.Outbox.Put(guard.Message{ID: "team|y", Channel: "team", CreatedAt: h.when("2026-03-06 10:00")})
	})
	if n := h.lives(time.Hour, nil); n < 11 {
		t.Errorf("%d beats in an hour", n)
	}
}

// Between two beats there is always a full cycle, whatever fails meanwhile.
func TestBetweenBeatsIsACycle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: t, backend: memory.New(), zone: time.UTC, at: guard.Instant{Wall: time.Date(2026, 3, 6, 18, 0, 0, 0, time.UTC), Elapsed: time.Hour}}
		w.restart()
		for _, name := range []string{"lab", "pods"} {
			w.accounts = append(w.accounts, &providers.Account{Name: name, Poll: time.Minute, Mode: guard.Enforce})
		}
		read, judgedAt := map[string][]time.Time{}, []time.Time{}
		h := newHeart(w)
		for range rapid.IntRange(20, 120).Draw(rt, "steps") {
			h.at = h.at.Add(time.Duration(rapid.IntRange(1, 6).Draw(rt, "quarters")) * 15 * time.Second)
			for _, a := range h.accounts {
				switch rapid.IntRange(0, 4).Draw(rt, a.Name) {
				case 0, 1, 2:
					h.polled(a.Name)
					read[a.Name] = append(read[a.Name], h.at.Wall)
				case 3:
					h.put(func(tx *store.Tx) error {
						return tx.Scopes.Put(guard.ScopeStatus{Account: a.Name, Kind: guard.Instance, Scope: "a", Failing: h.at.Wall})
					})
				}
			}
			if rapid.Bool().Draw(rt, "judged") {
				h.judged()
				judgedAt = append(judgedAt, h.at.Wall)
			}
			if _, err := h.loop.Once(t.Context(), h.at); err != nil {
				rt.Fatal(err)
			}
		}
		within := func(times []time.Time, after, before time.Time) bool {
			for _, at := range times {
				if at.After(after) && !at.After(before) {
					return true
				}
			}
			return false
		}
		last := w.at.Wall.Add(-1000 * time.Hour)
		for _, beat := range h.beats {
			for _, a := range h.accounts {
				if !within(read[a.Name], last, beat) {
					rt.Fatalf("a beat at %s although %s was not read since %s", beat, a.Name, last)
				}
			}
			if !within(judgedAt, last, beat) {
				rt.Fatalf("a beat at %s although nothing was judged since %s", beat, last)
			}
			last = beat
		}
	})
}

// A watcher that cannot be reached is tried again, ever more slowly, and its error stays
// until it can.
func TestHeartbeatFails(t *testing.T) {
	h := newHeart(newWorld(t, "UTC", "2026-03-06 18:00"))
	tries := 0
	h.loop = report.NewHeartbeat(h.config(), 5*time.Minute, func(context.Context) error {
		tries++
		return h.down
	})
	h.down, h.fails = errors.New("the watcher is down"), true
	h.lives(time.Hour, nil)
	if tries < 5 || tries > 20 {
		t.Errorf("%d tries in an hour", tries)
	}
	if _, err := h.loop.Once(t.Context(), h.at); err == nil || !strings.Contains(err.Error(), "the watcher is down") {
		t.Errorf("between two tries the error is %v", err)
	}
	h.down = nil
	h.lives(10*time.Minute, nil)
	if _, err := h.loop.Once(t.Context(), h.at); err != nil {
		t.Errorf("after that it is %v", err)
	}
}

// A beat is a GET to the address and to nobody else, and no error tells the address.
func TestBeat(t *testing.T) {
	const secret = "/ping/5f3a-secret"
	var mu sync.Mutex // a handler may outlive what it answers
	var asked []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, what)
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note("other " + r.URL.Path) }))
	defer other.Close()
	answer := func(http.ResponseWriter, *http.Request) {}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		note(r.Method + " " + r.URL.Path)
		if r.URL.Path == secret {
			answer(rw, r)
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the error; "" for none
		asked  string
	}{
		{"well", func(http.ResponseWriter, *http.Request) {}, "", "GET " + secret},
		{"not found", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotFound) }, "with 404", "GET " + secret},
		{"broken", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }, "with 500", "GET " + secret},
		{"elsewhere on the host", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/ok", http.StatusFound) }, "", "GET " + secret + ", GET /ok"},
		{"to another host", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, other.URL+secret, http.StatusFound)
		}, "with 302", "GET " + secret},
		{"for ever", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, secret, http.StatusFound) }, "with 302", strings.TrimSuffix(strings.Repeat("GET "+secret+", ", 4), ", ")},
		{"an address that is none", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "http://[::1"+secret)
			rw.WriteHeader(http.StatusFound)
		}, "no heartbeat reached", "GET " + secret},
		{"cut off", func(rw http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "no heartbeat reached", "GET " + secret},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, answer = nil, c.answer
			err := report.Beat(guard.NewSecret(server.URL+secret), nil)(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "5f3a") || strings.Contains(err.Error(), "Get ")) {
				t.Errorf("the error tells the address: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(asked, ", "); got != c.asked {
				t.Errorf("asked for %s, want %s", got, c.asked)
			}
		})
	}
	unknown := &http.Transport{DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}}
	}}
	for to, by := range map[string]http.RoundTripper{"http://127.0.0.1:1": nil, "http://no-such-host.invalid": unknown, "http://a b": unknown, "::": unknown} {
		if err := report.Beat(guard.NewSecret(to+secret), by)(t.Context()); err == nil || strings.Contains(err.Error(), "5f3a") {
			t.Errorf("got %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := report.Beat(guard.NewSecret(server.URL+secret), nil)(ctx); err == nil || strings.Contains(fmt.Sprint(err), "5f3a") {
		t.Errorf("got %v", err)
	}
}
