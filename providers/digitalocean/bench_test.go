package digitalocean

import (
	"testing"

	"guard"
	"guard/providers/digitalocean/digitaloceantest"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

// BenchmarkPoll is a poll of 500 droplets, half of them with GPUs, without what the network
// and the server take.
func BenchmarkPoll(b *testing.B) {
	var boxes []providertest.Thing
	for i := range 500 {
		x := thing(i)
		x.GPUs = i % 2
		boxes = append(boxes, x)
	}
	server := cloudtest.Record(cloudtest.In(digitaloceantest.Of(providertest.World{Instances: boxes})))
	p := adapter(b, "ocean", server, guard.NewSecret(providertest.Secret))
	listed(b, p, guard.Instance)
	server.Calls = 0
	b.ReportAllocs()
	for b.Loop() {
		if got := listed(b, p, guard.Instance); len(got) != 500 {
			b.Fatalf("%d droplets", len(got))
		}
	}
	b.ReportMetric(float64(server.Calls)/float64(b.N), "calls/op")
}
