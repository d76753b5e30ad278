package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers"
)

// Each bad answer is an error that says what happened, and nothing it holds counts.
func TestBadAnswers(t *testing.T) {
	elsewhere := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere <- r.Header.Get("Authorization")
	}))
	defer other.Close()
	page := "<!DOCTYPE html><html><body>Sign in</body></html>"
	write := func(status int, body string) func(string, http.ResponseWriter, *http.Request) bool {
		return func(_ string, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	good := &server{series: []series{{"gpu_util", gpuOf("a", "0"), always(0)}, {"cpu_cores", nodeOf("a"), always(1)}}}
	full := func(more string) func(string, http.ResponseWriter, *http.Request) bool {
		return func(key string, w http.ResponseWriter, r *http.Request) bool {
			io.WriteString(w, good.matrix(key, unix(r.FormValue("start")), unix(r.FormValue("end")), more))
			return true
		}
	}
	for name, c := range map[string]struct {
		answer func(string, http.ResponseWriter, *http.Request) bool
		kind   error
		says   string
	}{
		"a warning":        {full(`,"warnings":["store is away; token=canary-4f9a88"]`), guard.ErrBadReply, "Prometheus warns: store is away"},
		"a web page":       {write(200, page), guard.ErrBadReply, "web page"},
		"a 503 page":       {write(503, page), guard.ErrUnavailable, "status 503"},
		"not ready":        {write(503, `{"status":"error","errorType":"unavailable","error":"TSDB not ready"}`), guard.ErrUnavailable, "status 503"},
		"a bad query":      {write(400, `{"status":"error","errorType":"bad_data","error":"parse error: canary-4f9a88"}`), guard.ErrInvalid, "parse error"},
		"who are you":      {write(401, "no"), guard.ErrPermission, "status 401"},
		"not permitted":    {write(403, "no"), guard.ErrPermission, "status 403"},
		"not there":        {write(404, "404 page not found"), guard.ErrNotFound, "status 404"},
		"cut JSON":         {write(200, `{"status":"success","data":{"resultType":"matrix","result":[{"metr`), guard.ErrBadReply, "not an answer of Prometheus"},
		"JSON of another":  {write(200, `{"hits":[]}`), guard.ErrBadReply, ""},
		"empty":            {write(200, ``), guard.ErrBadReply, ""},
		"null":             {write(200, `null`), guard.ErrBadReply, ""},
		"a vector":         {write(200, `{"status":"success","data":{"resultType":"vector","result":[]}}`), guard.ErrBadReply, "no series"},
		"of another time":  {write(200, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"Hostname":"a","gpu":"0"},"values":[[1,"0"]]}]}}`), guard.ErrBadReply, "another time"},
		"error in a reply": {write(200, `{"status":"error","errorType":"timeout","error":"query timed out"}`), guard.ErrUnavailable, "query timed out"},
		"100 MB": {func(_ string, w http.ResponseWriter, _ *http.Request) bool {
			b := []byte(strings.Repeat(" ", 1<<20))
			for range 100 {
				if _, err := w.Write(b); err != nil {
					break
				}
			}
			return true
		}, guard.ErrBadReply, "too large"},
		"a redirect elsewhere": {func(_ string, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+"/prom/api/v1/query_range", http.StatusTemporaryRedirect)
			return true
		}, guard.ErrBadReply, "status 307"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answer: c.answer}
			for i, got := range read(t, s, nil, instance("i-1", "a"), instance("i-2", "b")) {
				if len(got.Samples) > 0 || !errors.Is(got.Err, c.kind) || !strings.Contains(fmt.Sprint(got.Err), c.says) {
					t.Errorf("%d: %d samples, %v; want %v and %q", i, len(got.Samples), got.Err, c.kind, c.says)
				}
				if strings.Contains(fmt.Sprint(got.Err), "canary") {
					t.Errorf("%d: the error holds a secret: %v", i, got.Err)
				}
			}
			if n := len(s.asked); n > 1 && !errors.Is(c.kind, guard.ErrInvalid) {
				t.Errorf("%d queries went to a server that answers none", n)
			}
		})
	}
	if n := len(elsewhere); n > 0 {
		t.Errorf("a redirect was followed to another host %d times, with %q", n, <-elsewhere)
	}
}

// One query that fails leaves its own numbers unknown, and says so.
func TestOneQueryFails(t *testing.T) {
	s := &server{series: []series{{"gpu_util", gpuOf("a", "0"), always(0)}, {"gpu_mem_used", gpuOf("a", "0"), always(10)}}}
	s.answer = func(key string, w http.ResponseWriter, r *http.Request) bool {
		if key == "gpu_util" {
			io.WriteString(w, s.matrix(key, unix(r.FormValue("start")), unix(r.FormValue("end")), `,"warnings":["partial"]`))
		}
		return key == "gpu_util"
	}
	got := read(t, s, nil, instance("i-1", "a"))[0]
	if len(got.Samples) != 2 || got.Samples[0].GPUs[0].Util.OK || got.Samples[0].GPUs[0].MemUsed.V != 10 {
		t.Errorf("samples %+v, want memory known and utilisation not", got.Samples)
	}
	if !errors.Is(got.Err, guard.ErrBadReply) || !strings.Contains(got.Err.Error(), "query gpu_util") {
		t.Errorf("error %v", got.Err)
	}
}

// Many that fail are told by the first of them, and as what that is.
func TestSeveral(t *testing.T) {
	one, two := fmt.Errorf("%w: one", guard.ErrInvalid), fmt.Errorf("%w: two", guard.ErrBadReply)
	for want, errs := range map[string][]error{"": {nil, nil}, "invalid: one": {nil, one}, "invalid: one; and so on, 2 queries in all": {one, nil, two}} {
		err := several(errs)
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || !errors.Is(err, guard.ErrInvalid)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	s := &server{answer: func(_ string, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}}
	got := read(t, s, nil, instance("i-1", "a"))[0]
	if wait, ok := guard.RetryAfter(got.Err); !ok || wait != 30*time.Second || !errors.Is(got.Err, guard.ErrThrottled) {
		t.Errorf("got %v", got.Err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	src := source(t, &server{}, func(c *Config) { c.URL = "http://127.0.0.1:1" }) // where nobody may listen but the system
	if got := ask(t, src, -2, instance("i-1", "a"))[0]; !errors.Is(got.Err, guard.ErrUnavailable) {
		t.Errorf("got %v", got.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := providers.SignalQuery{Of: []providers.SignalsOf{{Resource: instance("i-1", "a"), Since: time.Now().Add(-time.Hour)}}}
	if got := src.Signals(ctx, q); got[0].Err == nil {
		t.Error("a cancelled question has no error")
	}
}
