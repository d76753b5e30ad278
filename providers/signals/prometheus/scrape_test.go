package prometheus

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exporters answers each path with its text; what begins with a status is a refusal.
type exporters map[string]string

func (e exporters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := e[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, text)
}

// scraper is a source on exporters of lab/i-1, and scrape asks it a minute later each time.
func scraper(t *testing.T, e exporters, paths ...string) *Scraper {
	t.Helper()
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	var cfg ScrapeConfig
	for _, p := range paths {
		cfg.Targets = append(cfg.Targets, Target{URL: web.URL + p, Resource: "lab/i-1"})
	}
	s, err := NewScraper(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scrape(t *testing.T, s *Scraper, minute int) []providers.Signals {
	t.Helper()
	return s.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: at(minute)}), providers.SignalQuery{Of: []providers.SignalsOf{
		{Resource: instance("i-0", "other"), Since: at(minute - 1)}, {Resource: instance("i-1", "box"), Since: at(minute - 1)}}})
}

func TestScrape(t *testing.T) {
	e := exporters{"/dcgm": fixture(t, "dcgm.prom"), "/node": fixture(t, "node.prom")}
	s := scraper(t, e, "/dcgm", "/node")
	known := guard.Known
	want := guard.Sample{
		At: at(0), Interval: time.Minute, Basis: guard.Instantaneous, Source: "scrape", Boot: "at 2026-02-25T06:15Z",
		GPUs: []guard.GPUSample{
			{Util: known(0), MemUsed: known(4), MemTotal: known(81_004), Energy: known(2500)},
			{Util: known(97), MemUsed: known(70_000), MemTotal: known(81_000), Power: known(512.5), Engine: known(0.95)},
		},
		Cores: known(2), NICs: []guard.NICSample{{Name: "eth0", Rx: 1e9, Tx: 2e9, Bits: 64}},
	}
	got := scrape(t, s, 0)
	if diff := cmp.Diff([]providers.Signals{{}, {Samples: []guard.Sample{want}}}, got); diff != "" {
		t.Fatal(diff)
	}

	e["/node"] = strings.NewReplacer(`mode="user"} 300`, `mode="user"} 360`, `mode="iowait"} 50`, `mode="iowait"} 9999`, `"eth0"} 2e+09`, `"eth0"} 2000006000`,
		`nvme0n1"} 3e+06`, `nvme0n1"} 3120000`, `{device="lo"} 5e+09`, `{device="lo"} 9e+09`).Replace(e["/node"])
	want.At, want.CPUCores, want.Rx, want.Tx, want.Disk = at(1), known(1), known(0), known(100), known(2000)
	want.NICs = []guard.NICSample{{Name: "eth0", Rx: 1e9, Tx: 2_000_006_000, Bits: 64}}
	if diff := cmp.Diff(want, scrape(t, s, 1)[1].Samples[0]); diff != "" {
		t.Fatal(diff)
	}

	// After a boot the counters are another machine's, so to say.
	e["/node"] = strings.Replace(e["/node"], "1.772e+09", "1.773e+09", 1)
	if x := scrape(t, s, 2)[1].Samples[0]; x.CPUCores.OK || x.Rx.OK || x.Boot == want.Boot {
		t.Errorf("rates over a boot: %+v", x)
	}
	// One exporter that is away takes only its own with it.
	delete(e, "/dcgm")
	x := scrape(t, s, 3)[1]
	if len(x.Samples) != 1 || len(x.Samples[0].GPUs) > 0 || !x.Samples[0].CPUCores.OK || !errors.Is(x.Err, guard.ErrUnavailable) {
		t.Errorf("without dcgm-exporter: %+v", x)
	}
	// No rates over a night.
	if x := scrape(t, s, 3+60*9)[1].Samples[0]; x.Rx.OK {
		t.Errorf("a rate of nine hours: %v", x.Rx)
	}
}

func TestScrapeBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kind error
	}{
		"a web page":      {"<!DOCTYPE html><html><body>Sign in</body></html>", guard.ErrBadReply},
		"JSON":            {`{"status":"success"}`, guard.ErrBadReply},
		"nothing":         {"", guard.ErrBadReply},
		"cut":             {"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1", guard.ErrBadReply},
		"another's":       {"go_goroutines 7\n", guard.ErrBadReply},
		"too much":        {strings.Repeat("a{b=\"c\"} 1\n", 2<<20), guard.ErrBadReply},
		"numbers no more": {"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0x\n", guard.ErrBadReply},
	} {
		got := scrape(t, scraper(t, exporters{"/metrics": c.text}, "/metrics"), 0)[1]
		if len(got.Samples) > 0 || !errors.Is(got.Err, c.kind) {
			t.Errorf("%s: %d samples, %v", name, len(got.Samples), got.Err)
		}
	}
	if got := scrape(t, scraper(t, exporters{}, "/away"), 0)[1]; !errors.Is(got.Err, guard.ErrUnavailable) || errors.Is(got.Err, guard.ErrBadReply) || len(got.Samples) > 0 {
		t.Errorf("away: %+v", got)
	}
}

func TestScrapeCheck(t *testing.T) {
	c := ScrapeConfig{Targets: []Target{{"http://10.0.0.5:9400/metrics", "lab/i-1"}, {"http://10.0.0.5:9400/metrics", "lab/i-1"}, {"10.0.0.5:9400", "lab/i-2"}}}
	var out []string
	c.Check(func(key, _ string) { out = append(out, key) })
	(&ScrapeConfig{}).Check(func(key, _ string) { out = append(out, key) })
	if want := []string{"targets[1]", "targets[2].url", "targets"}; !slices.Equal(out, want) {
		t.Errorf("found %q, want %q", out, want)
	}
	if got := c.Resources()["targets[2].resource"]; got != "lab/i-2" {
		t.Errorf("resources: %q", got)
	}
	if text := fmt.Sprintf("%+v", scraper(t, nil, "/x")); strings.Contains(text, "transport") {
		t.Error(text)
	}
}

// FuzzScrape: no text of an exporter makes a sample that cannot be, or a panic.
func FuzzScrape(f *testing.F) {
	f.Add(fixture(f, "dcgm.prom"))
	f.Add(fixture(f, "node.prom"))
	f.Fuzz(func(t *testing.T, text string) {
		web := exporters{"/metrics": text}
		s, err := NewScraper(ScrapeConfig{Targets: []Target{{"http://x/metrics", "lab/i-1"}}}, inProcess{web})
		if err != nil {
			t.Fatal(err)
		}
		for minute := range 2 {
			got := scrape(t, s, minute)[1]
			if len(got.Samples) == 0 && got.Err == nil {
				t.Error("neither samples nor an error")
			}
			for _, x := range got.Samples {
				for _, v := range []guard.Gauge{x.CPUCores, x.Rx, x.Tx, x.Disk} {
					if v.OK && v.V < 0 {
						t.Errorf("a rate below nothing: %+v", x)
					}
				}
			}
		}
	})
}

// inProcess makes the calls of a handler.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}
