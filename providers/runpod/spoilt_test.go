package runpod

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// spoil replaces the k-th field of a JSON value, of lists those of the first entry alone, and
// says whether there is one.
func spoil(v any, k *int, value any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if *k--; *k < 0 {
				v[name] = value
				return true
			}
			if spoil(v[name], k, value) {
				return true
			}
		}
	case []any:
		return len(v) > 0 && spoil(v[0], k, value)
	}
	return false
}

// spoilt answers as an account does, but for one field of what it says of a path.
type spoilt struct {
	next  http.RoundTripper
	path  string
	field int
	value any
	done  bool
}

func (s *spoilt) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err != nil || r.URL.Path != s.path {
		return resp, err
	}
	var v any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return nil, err
	}
	k := s.field
	s.done = spoil(v, &k, s.value)
	body, err := json.Marshal(v)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, err
}

// TestEveryFieldOfTheOthers does to clusters, endpoints, workers and the catalogue what the
// conformance suite does to pods and volumes: whatever one field of theirs holds, what bills
// is in a list that is whole, bills, and costs no less, but where a number says so.
func TestEveryFieldOfTheOthers(t *testing.T) {
	want := listed(t, on(t, full()), guard.Instance)
	tried := 0
	for _, path := range []string{"/v2/clusters", "/v2/serverless", "/v2/serverless/e1/workers", "/v2/catalog/gpus"} {
		for _, value := range []any{nil, "", "levitating", -1, json.RawMessage("1e38"), json.RawMessage("1e999"), true, []any{[]any{1}}, map[string]any{"a": 1}} {
			for field := 0; ; field++ {
				s := &spoilt{next: cloudtest.In(full()), path: path, field: field, value: value}
				p := adapter(t, "pods", s, guard.NewSecret(providertest.Secret))
				inv, err := p.List(at(t), providers.Query{Kinds: []guard.Kind{guard.Instance}})
				if err != nil {
					t.Fatal(err)
				}
				if !s.done {
					break
				}
				tried++
				res, got := inv.Results[0], map[string]guard.Resource{}
				for _, r := range res.Resources {
					sane(t, r)
					got[r.ID.ID] = r
				}
				if res.Err == nil && len(got) < len(want) {
					t.Errorf("%v in field %d of %s: a whole list of %d", value, field, path, len(got))
				}
				for id, r := range got {
					is, cost := r.Rate.Hourly()
					was, _ := want[id].Rate.Hourly()
					less, _ := is.Cmp(was)
					if r.Bills == guard.No && want[id].Bills == guard.Yes || cost && less < 0 {
						t.Errorf("%v in field %d of %s: %s bills %s, %s", value, field, path, id, r.Bills, r.Rate)
					}
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d fields were spoilt", tried)
	}
}
