package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"guard"
)

// BenchmarkPages reads all pages of an account of 9,000 things, and encodes the
// same entries with nothing around: x-encoding is how many times as long the pages
// take. It stays near 1 only while no page costs a walk through the account.
func BenchmarkPages(b *testing.B) {
	s := Script{}
	for i := range 1000 {
		r := Resource{ID: fmt.Sprintf("i-%d", i), Rate: &Rate{Amount: "2", Per: "hour"}, Tags: map[string]string{"team": "nlp"}}
		for j := range 8 {
			v := Resource{ID: fmt.Sprintf("v-%d-%d", i, j), Kind: guard.Volume, SizeGB: 100, Rate: &Rate{Amount: "0.1", Per: "gb_month"}}
			r.Attached = append(r.Attached, v.ID)
			s.Resources = append(s.Resources, v)
		}
		s.Resources = append(s.Resources, r)
	}
	c := MustCloud(s)
	var pages, encoding time.Duration
	for b.Loop() {
		start := time.Now()
		for _, kind := range []guard.Kind{guard.Instance, guard.Volume} {
			for next := "-"; next != ""; {
				url := "http://fake.invalid/v1/resources?scope=default&kind=" + string(kind)
				if next != "-" {
					url += "&page=" + next
				}
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := c.RoundTripper().RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					b.Fatal(err)
				}
				_, rest, more := bytes.Cut(body, []byte(`"next":"`)) // not decoded: that is the adapter's work
				token, _, _ := bytes.Cut(rest, []byte(`"`))
				if next = string(token); !more {
					break
				}
			}
		}
		pages += time.Since(start)
		start = time.Now()
		for _, t := range c.things {
			if _, err := json.Marshal(c.report(t)); err != nil {
				b.Fatal(err)
			}
		}
		encoding += time.Since(start)
	}
	b.ReportMetric(float64(pages)/float64(encoding), "x-encoding")
}
