package prismtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestViolations(t *testing.T) {
	for name, c := range map[string]struct {
		header, body string
		want         int
	}{
		"an answer":              {"", `{"pods":[]}`, 0},
		"a list":                 {"", `[1]`, 0},
		"an answer all the same": {`[{"location":["request","body","action"],"message":"must be equal to one of the allowed values"}]`, `{}`, 1},
		"its own answer":         {`[{"location":["response","body"],"message":"must have name"}]`, `{}`, 0},
		"no such path":           {"", `{"type":"https://stoplight.io/prism/errors#NO_PATH_MATCHED_ERROR","title":"Route not resolved, no path matched","detail":"x"}`, 1},
		"an error with a list":   {"", `{"type":"https://stoplight.io/prism/errors#UNPROCESSABLE_ENTITY","title":"Invalid request","validation":[{"location":["request"],"message":"required"}]}`, 2},
	} {
		resp := &http.Response{Header: http.Header{"Sl-Violations": {c.header}}}
		if got := violations(resp, []byte(c.body)); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}

func TestWatchTellsTheLastWords(t *testing.T) {
	for said, want := range map[string]string{
		"a\n[CLI] ▶ start Prism is listening on http://127.0.0.1:4010\nb\n": "listening on http://127.0.0.1:4010",
		"a\n✖ fatal no such file\n\n":                                       "✖ fatal no such file",
		"":                                                                  "nothing was said",
		strings.Repeat("x", 2<<20):                                          "nothing was said",
	} {
		up := make(chan string, 1)
		watch(strings.NewReader(said), up)
		if got := <-up; got != want {
			t.Errorf("%.50q: %q, want %q", said, got, want)
		}
	}
}

// TestPrism tells a request that a description has from one that it has not.
func TestPrism(t *testing.T) {
	m := Start(t, "lambda.json")
	ask := func(judge *testing.T, prefer, path string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		resp, err := m.RoundTripper(judge, prefer).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, body := ask(t, "", "/api/v1/instances"); status != 200 || !strings.Contains(body, `"data"`) {
		t.Errorf("%d %.200s", status, body)
	}
	if status, _ := ask(t, "code=403", "/api/v1/instances"); status != 403 {
		t.Errorf("%d where 403 was asked for", status)
	}
	var wrong testing.T // what it is told does not count
	if status, body := ask(&wrong, "", "/api/v1/nothing"); status != 404 || !wrong.Failed() {
		t.Errorf("a path that is in no description passed: %d %.200s", status, body)
	}
}
