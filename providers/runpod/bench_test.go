package runpod

import (
	"fmt"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
	"guard/providers/runpod/runpodtest"
)

// BenchmarkPoll is a poll of 500 pods and the reading of their signals, without what the
// network and the server take.
func BenchmarkPoll(b *testing.B) {
	var pods []providertest.Thing
	for i := range 500 {
		pods = append(pods, thing(fmt.Sprintf("pod%d", i)))
	}
	c := cloud(pods...)
	for _, x := range pods {
		c.Pods[x.ID] = runpodtest.Pod{DiskGB: 50, Util: []int{90, 80}}
	}
	server := cloudtest.Record(cloudtest.In(c))
	p := adapter(b, "pods", server, guard.NewSecret(providertest.Secret))
	listed(b, p, guard.Instance)
	server.Calls = 0
	b.ReportAllocs()
	for b.Loop() {
		var q providers.SignalQuery
		for _, r := range listed(b, p, guard.Instance) {
			q.Of = append(q.Of, providers.SignalsOf{Resource: r})
		}
		if got := p.Signals(at(b), q); len(got) != 500 || len(got[0].Samples) != 1 {
			b.Fatalf("%d answers", len(got))
		}
	}
	b.ReportMetric(float64(server.Calls)/float64(b.N), "calls/op")
}
