package lambda

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// BenchmarkPoll is a poll of 500 instances, without what the network and the server take.
func BenchmarkPoll(b *testing.B) {
	var boxes []providertest.Thing
	for i := range 500 {
		boxes = append(boxes, thing(fmt.Sprintf("box%d", i)))
	}
	r, err := http.NewRequest(http.MethodGet, "http://cloud.invalid/api/v1/instances", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+providertest.Secret)
	resp, err := cloudtest.In(cloud(boxes...)).RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	p := adapter(b, "gpus", cloudtest.Canned(body), guard.NewSecret(providertest.Secret))
	b.ReportAllocs()
	for b.Loop() {
		if got := listed(b, p, guard.Instance); len(got) != 500 {
			b.Fatalf("%d instances", len(got))
		}
	}
}
