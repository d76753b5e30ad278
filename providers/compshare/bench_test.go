package compshare

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/compshare/compsharetest"
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
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(sent))
	body, ok := x.bodies[string(sent)]
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
		x.bodies[string(sent)] = body
	}
	return body.RoundTrip(r)
}

// BenchmarkPoll is a poll of 500 instances whose prices are known, and the reading of their
// signals, without what the network and the server take.
func BenchmarkPoll(b *testing.B) {
	var things []providertest.Thing
	for i := range 500 {
		things = append(things, thing(uhostID(i)))
	}
	c := cloud(things...)
	for _, x := range things {
		c.Instances[x.ID] = compsharetest.Instance{Util: []int{90, 80}}
	}
	server := &recorded{next: cloudtest.In(c), bodies: map[string]canned{}}
	p := adapter(b, "cs", server, guard.NewSecret(providertest.Secret))
	listed(at(b), b, p, guard.Instance)
	for _, of := range []string{"list", "list and signals"} {
		b.Run(of, func(b *testing.B) {
			server.calls = 0
			b.ReportAllocs()
			for b.Loop() {
				all := listed(at(b), b, p, guard.Instance)
				if of == "list" {
					continue
				}
				var q providers.SignalQuery
				for _, x := range things {
					q.Of = append(q.Of, providers.SignalsOf{Resource: all[x.ID]})
				}
				if got := p.Signals(at(b), q); len(got) != 500 || got[0].Err != nil {
					b.Fatalf("%d answers, %v", len(got), got[0].Err)
				}
			}
			b.ReportMetric(float64(server.calls)/float64(b.N), "calls/op")
		})
	}
}
