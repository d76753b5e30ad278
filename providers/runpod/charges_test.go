package runpod

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/providertest/cloudtest"
)

func TestCharges(t *testing.T) {
	c := full()
	hour := func(h int, more map[string]any) map[string]any {
		from := noon.Wall.Add(time.Duration(h) * time.Hour)
		more["startTime"], more["endTime"] = from.Format(time.RFC3339), from.Add(time.Hour).Format(time.RFC3339)
		return more
	}
	c.Bills["pods"] = []map[string]any{
		hour(-1, map[string]any{"podId": "p1", "totalAmount": 1.5, "gpuAmount": 1.38, "cpuAmount": 0, "diskAmount": 0.12}),
		hour(-2, map[string]any{"podId": "p1", "totalAmount": 1.5, "gpuAmount": 1.38, "cpuAmount": 0, "diskAmount": 0}), // more than it names
		hour(-3, map[string]any{"podId": "p1", "totalAmount": 0, "gpuAmount": 0, "cpuAmount": 0, "diskAmount": 0}),
	}
	c.Bills["clusters"] = []map[string]any{hour(-1, map[string]any{"clusterId": "c1", "totalAmount": 3, "gpuAmount": 2.76, "diskAmount": 0, "networkingAmount": 0.24})}
	c.Bills["serverless"] = []map[string]any{hour(-1, map[string]any{"serverlessId": "e1", "totalAmount": 1e-7, "gpuAmount": 1e-7, "cpuAmount": 0, "diskAmount": 0, "feeAmount": 0})}
	c.Bills["network-volumes"] = []map[string]any{hour(-1, map[string]any{"networkVolumeId": "v1", "totalAmount": 0.01, "standardAmount": 0.01, "highPerformanceAmount": 0})}
	c.Bills["endpoints"] = []map[string]any{hour(-1, map[string]any{"totalAmount": 0.5})}
	p := on(t, c)
	got, err := p.Charges(at(t), noon.Wall.Add(-3*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", x.From.Format("15:04"), x.Resource.Key(), x.What, x.Amount))
	}
	want := []string{
		"10:00 pods/instance/p1 total 1.50 USD",
		"11:00 // endpoints 0.50 USD",
		"11:00 pods/filesystem/v1 standard 0.01 USD",
		"11:00 pods/instance/cluster/c1 gpu 2.76 USD",
		"11:00 pods/instance/cluster/c1 networking 0.24 USD",
		"11:00 pods/instance/p1 gpu 1.38 USD",
		"11:00 pods/instance/p1 disk 0.12 USD",
		"11:00 pods/instance/serverless/e1 gpu 0.0000001 USD",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	before := len(c.Calls())
	if _, err := p.Charges(at(t), noon.Wall.AddDate(0, 0, -15)); err != nil || len(c.Calls())-before != 15 {
		t.Errorf("half a month: %d calls, %v; want 15", len(c.Calls())-before, err)
	}
	c.Bills["clusters"][0]["clusterId"] = nil
	if _, err := p.Charges(at(t), noon.Wall.Add(-3*time.Hour)); !errors.Is(err, guard.ErrBadReply) {
		t.Errorf("a record that names nothing: %v", err)
	}
}

// TestChargesToldTwice: an hour that two readings tell of is one charge, and one that a reading
// tells of twice is none that anybody knows.
func TestChargesToldTwice(t *testing.T) {
	c := full()
	since := noon.Wall.AddDate(0, 0, -10)
	hour := func(from time.Time, total float64) map[string]any {
		return map[string]any{"startTime": from.Format(time.RFC3339), "endTime": from.Add(time.Hour).Format(time.RFC3339), "podId": "p1", "totalAmount": total, "gpuAmount": total}
	}
	edge := since.Add(window)
	c.Bills["pods"] = []map[string]any{hour(edge.Add(-time.Hour), 1), hour(edge, 2), hour(edge.Add(time.Hour), 3)}
	p := adapter(t, "pods", allOf{cloudtest.In(c)}, guard.NewSecret(c.Key))
	got, err := p.Charges(at(t), since)
	if err != nil || len(got) != 3 {
		t.Errorf("of an account that tells of all times: %+v, %v; want three charges", got, err)
	}
	c.Bills["pods"] = append(c.Bills["pods"], hour(edge, 2.5))
	if got, err := on(t, c).Charges(at(t), since); !errors.Is(err, guard.ErrBadReply) || got != nil {
		t.Errorf("an hour twice: %+v, %v", got, err)
	}
}

// allOf asks for the bill of all times, whatever it is asked for.
type allOf struct{ next http.RoundTripper }

func (a allOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.RawQuery = "startTime=2000-01-01T00:00:00Z&endTime=2100-01-01T00:00:00Z"
	return a.next.RoundTrip(r)
}
