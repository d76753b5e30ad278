package digitalocean

import (
	"io"
	"net/http"
	"testing"

	"guard"
	"guard/providers/digitalocean/digitaloceantest"
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
	body, ok := x.bodies[r.URL.String()]
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
		x.bodies[r.URL.String()] = body
	}
	return body.RoundTrip(r)
}

// BenchmarkPoll is a poll of 500 droplets, half of them with GPUs, without what the network
// and the server take.
func BenchmarkPoll(b *testing.B) {
	var boxes []providertest.Thing
	for i := range 500 {
		x := thing(i)
		x.GPUs = i % 2
		boxes = append(boxes, x)
	}
	server := &recorded{next: cloudtest.In(digitaloceantest.Of(providertest.World{Instances: boxes})), bodies: map[string]canned{}}
	p := adapter(b, "ocean", server, guard.NewSecret(providertest.Secret))
	listed(b, p, guard.Instance)
	server.calls = 0
	b.ReportAllocs()
	for b.Loop() {
		if got := listed(b, p, guard.Instance); len(got) != 500 {
			b.Fatalf("%d droplets", len(got))
		}
	}
	b.ReportMetric(float64(server.calls)/float64(b.N), "calls/op")
}
