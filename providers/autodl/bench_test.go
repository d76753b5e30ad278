package autodl

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// recorded answers each request as it was answered the first time.
type recorded struct {
	next   http.RoundTripper
	bodies map[string]canned
	calls  int
}

func (x *recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	x.calls++
	key := r.URL.String()
	if r.Body != nil {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		key += string(sent)
	}
	body, ok := x.bodies[key]
	if !ok {
		resp, err := x.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		body = canned(b)
		x.bodies[key] = body
	}
	return body.RoundTrip(r)
}

// BenchmarkPoll is a poll of 500 Pro instances whose prices are known, without what the network
// and the server take.
func BenchmarkPoll(b *testing.B) {
	var things []providertest.Thing
	for i := range 500 {
		things = append(things, thing(proID(i)))
	}
	server := &recorded{next: cloudtest.In(cloud(things...)), bodies: map[string]canned{}}
	p := adapter(b, "dl", server, guard.NewSecret(providertest.Secret))
	for range 500 / mostNew {
		listed(b, p, at(b))
	}
	server.calls = 0
	b.ReportAllocs()
	for b.Loop() {
		if got := listed(b, p, at(b)); len(got) != 500 || !got[proID(499)].Rate.Known() {
			b.Fatalf("%d instances", len(got))
		}
	}
	b.ReportMetric(float64(server.calls)/float64(b.N), "calls/op")
}
