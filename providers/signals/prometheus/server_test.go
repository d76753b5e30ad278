package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers"
)

// now is when the tests' readings happen.
var now = time.Date(2026, 3, 6, 12, 0, 20, 0, time.UTC)

// at is a moment before now, on the grid of the samples.
func at(minutes int) time.Time {
	return now.Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute)
}

// series is one series of the fake server: what a query tells at a minute relative to
// now; false where it has nothing then.
type series struct {
	key    string
	labels map[string]string
	value  func(minute int) (float64, bool)
}

func always(v float64) func(int) (float64, bool) { return func(int) (float64, bool) { return v, true } }

// server is a Prometheus of a few series. Where answer is set it answers a key first.
type server struct {
	series []series
	answer func(key string, w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked map[string][]string // "start end" by key
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/prom/api/v1/query_range" {
		http.NotFound(w, r)
		return
	}
	key := ""
	for k, q := range Queries(nil, time.Minute) {
		if q == r.FormValue("query") {
			key = k
		}
	}
	start, end := unix(r.FormValue("start")), unix(r.FormValue("end"))
	s.mu.Lock()
	s.asked[key] = append(s.asked[key], start.Format("15:04")+" "+end.Format("15:04"))
	s.mu.Unlock()
	if s.answer != nil && s.answer(key, w, r) {
		return
	}
	io.WriteString(w, s.matrix(key, start, end, ""))
}

func unix(s string) time.Time {
	v, _ := strconv.ParseFloat(s, 64)
	return time.Unix(int64(v), 0).UTC()
}

// matrix answers a range query.
func (s *server) matrix(key string, start, end time.Time, more string) string {
	type one struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	result := []one{}
	for _, x := range s.series {
		if x.key != key {
			continue
		}
		o := one{Metric: x.labels}
		for t := start; !t.After(end); t = t.Add(time.Minute) {
			if v, ok := x.value(int(t.Sub(at(0)) / time.Minute)); ok {
				o.Values = append(o.Values, [2]any{t.Unix(), strconv.FormatFloat(v, 'f', -1, 64)})
			}
		}
		if len(o.Values) > 0 {
			result = append(result, o)
		}
	}
	b, _ := json.Marshal(result)
	return `{"status":"success","data":{"resultType":"matrix","result":` + string(b) + `}` + more + `}`
}

func instance(id, name string) guard.Resource {
	return guard.Resource{ID: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: id}, Name: name, Tags: map[string]string{"host": "tag-" + name}}
}

// read asks the fake server about instances, since two minutes ago.
func read(t *testing.T, s *server, change func(*Config), of ...guard.Resource) []providers.Signals {
	t.Helper()
	return ask(t, source(t, s, change), -2, of...)
}

func source(t *testing.T, s *server, change func(*Config)) *Server {
	t.Helper()
	s.asked = map[string][]string{}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	cfg := Defaults()
	cfg.URL, cfg.Token = web.URL+"/prom/", guard.NewSecret("canary-4f9a88")
	if change != nil {
		change(&cfg)
	}
	src, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func ask(t *testing.T, src *Server, since int, of ...guard.Resource) []providers.Signals {
	t.Helper()
	q := providers.SignalQuery{}
	for _, r := range of {
		q.Of = append(q.Of, providers.SignalsOf{Resource: r, Since: at(since)})
	}
	got := src.Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: now}), q)
	if len(got) != len(of) {
		t.Fatalf("asked of %d, told of %d", len(of), len(got))
	}
	return got
}

func gpuOf(host, n string, more ...string) map[string]string {
	m := map[string]string{"Hostname": host, "gpu": n, "UUID": "GPU-" + host + n}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func nodeOf(host string, more ...string) map[string]string {
	m := map[string]string{"instance": host + ":9100"}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func TestSamples(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0"), always(0)},
		{"gpu_util_max", gpuOf("a", "0"), always(7)},
		{"gpu_mem_used", gpuOf("a", "0"), always(500)},
		{"gpu_mem_free", gpuOf("a", "0"), always(80_000)},
		{"gpu_power", gpuOf("a", "0"), always(70)},
		{"gpu_power_limit", gpuOf("a", "0"), always(700)},
		{"gpu_energy", gpuOf("a", "0"), always(1234.5)},
		// GPU 1 tells nothing; GPU 2 is cut up, and says it once for each part.
		{"gpu_mem_used", gpuOf("a", "2", "GPU_I_ID", "1"), always(12)},
		{"gpu_mem_used", gpuOf("a", "2", "GPU_I_ID", "2"), always(30)},
		{"gpu_engine", gpuOf("a", "2", "GPU_I_ID", "1"), always(0.25)},
		{"gpu_engine", gpuOf("a", "2", "GPU_I_ID", "2"), always(0.5)},
		{"gpu_power", gpuOf("a", "2", "GPU_I_ID", "1"), always(68)},
		{"gpu_power", gpuOf("a", "2", "GPU_I_ID", "2"), always(68)},
		{"gpu_util", gpuOf("a", "2", "GPU_I_ID", "2"), always(0)},
		{"cpu_cores", nodeOf("a"), always(1.5)},
		{"cores", nodeOf("a"), always(96)},
		{"disk", nodeOf("a"), always(2048)},
		{"boot", nodeOf("a"), always(1_772_000_001)},
		{"rx", nodeOf("a", "device", "eth0"), func(m int) (float64, bool) { return 1e6 + 6000*float64(m), true }},
		{"tx", nodeOf("a", "device", "eth0"), func(m int) (float64, bool) { return 5e6 + 600*float64(m), true }},
		{"rx", nodeOf("a", "device", "docker0"), always(99)}, // a query of one's own may let it in
		{"gpu_util", gpuOf("b", "0"), always(93)},
	}}
	known := guard.Known
	want := func(minute int) guard.Sample {
		return guard.Sample{
			At: at(minute), Interval: time.Minute, Basis: guard.Instantaneous, Source: "prometheus", Boot: "at 2026-02-25T06:15Z",
			GPUs: []guard.GPUSample{
				{Util: known(0), UtilMax: known(7), MemUsed: known(500), MemTotal: known(80_500), Power: known(70), PowerLimit: known(700), Energy: known(1234.5)},
				{},
				{MemUsed: known(42), Power: known(68), Engine: known(0.5), MIG: true},
			},
			CPUCores: known(1.5), Cores: known(96), Disk: known(2048), Rx: known(100), Tx: known(10),
			NICs: []guard.NICSample{{Name: "eth0", Rx: uint64(1e6 + 6000*minute), Tx: uint64(5e6 + 600*minute), Bits: 64}},
		}
	}
	got := read(t, s, nil, instance("i-1", "a"), instance("i-2", "b"), instance("i-3", "nobody"))
	if diff := cmp.Diff(providers.Signals{Samples: []guard.Sample{want(-1), want(0)}}, got[0]); diff != "" {
		t.Error(diff)
	}
	if len(got[1].Samples) != 2 || got[1].Samples[1].GPUs[0].Util != known(93) || got[1].Err != nil {
		t.Errorf("b: %+v", got[1])
	}
	if len(got[2].Samples) != 0 || got[2].Err != nil {
		t.Errorf("an instance without series: %+v, want neither samples nor an error", got[2])
	}
	for key, calls := range s.asked {
		if len(calls) != 1 || calls[0] != "11:58 12:00" {
			t.Errorf("query %s was asked %q", key, calls)
		}
	}
}

// A machine without GPUs' metrics tells rates only.
func TestBasis(t *testing.T) {
	s := &server{series: []series{{"cpu_cores", nodeOf("a"), always(1)}}}
	got := read(t, s, nil, instance("i-1", "a"))[0]
	if len(got.Samples) != 2 || got.Samples[0].Basis != guard.Average || got.Samples[0].GPUs != nil {
		t.Errorf("got %+v", got)
	}
}

func TestWhoIsWho(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0"), always(1)},
		{"gpu_util", gpuOf("i-2", "0"), always(2)},
		{"gpu_util", gpuOf("tag-c", "0"), always(3)},
		{"cpu_cores", nodeOf("a"), always(4)},
	}}
	of := []guard.Resource{instance("i-1", "a"), instance("i-2", "b"), instance("i-3", "c"), instance("i-4", "")}
	for is, want := range map[string][]float64{"name": {1, -1, -1, -1}, "id": {-1, 2, -1, -1}, "tag:host": {-1, -1, 3, -1}} {
		got := read(t, s, func(c *Config) { c.Instance.Is = is }, of...)
		for i, v := range want {
			switch {
			case got[i].Err != nil:
				t.Errorf("%s: %s: %v", is, of[i].ID, got[i].Err)
			case v < 0 && len(got[i].Samples) > 0, v >= 0 && (len(got[i].Samples) != 2 || got[i].Samples[0].GPUs[0].Util.V != v):
				t.Errorf("%s: %s: %+v, want %v", is, of[i].ID, got[i].Samples, v)
			}
		}
	}
}

// Whose series they are must not be a guess.
func TestTwins(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0"), always(0)},
		{"gpu_util", map[string]string{"Hostname": "c", "gpu": "0", "UUID": "one"}, always(0)},
		{"gpu_util", map[string]string{"Hostname": "c", "gpu": "0", "UUID": "two"}, always(90)},
		{"boot", nodeOf("d", "job", "x"), always(1_772_000_000)},
		{"boot", nodeOf("d", "job", "y"), always(1_772_100_000)},
	}}
	got := read(t, s, nil, instance("i-1", "a"), instance("i-2", "b"), instance("i-3", "a"), instance("i-4", "c"), instance("i-5", "d"))
	for _, i := range []int{0, 2, 3, 4} {
		if !errors.Is(got[i].Err, guard.ErrConflict) || len(got[i].Samples) > 0 {
			t.Errorf("%d: %+v, want a conflict", i, got[i])
		}
	}
	if got[1].Err != nil {
		t.Errorf("the one with a name of its own: %v", got[1].Err)
	}
}

// Two exporters of one machine, or one whose labels changed, tell the same twice.
func TestToldTwice(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0", "pod", "x"), always(0)},
		{"gpu_util", gpuOf("a", "0", "pod", "y"), always(40)},
		{"gpu_mem_used", gpuOf("a", "0", "pod", "x"), always(500)},
		{"gpu_mem_used", gpuOf("a", "0", "pod", "y"), always(500)},
		{"cpu_cores", nodeOf("a", "job", "x"), always(3)},
		{"cpu_cores", nodeOf("a", "job", "y"), always(2)},
	}}
	x := read(t, s, nil, instance("i-1", "a"))[0].Samples[0]
	if x.GPUs[0].Util.V != 40 || x.GPUs[0].MemUsed.V != 500 || x.CPUCores.V != 3 {
		t.Errorf("got %+v", x)
	}
}

// What is no number, and what has ended, is not known.
func TestUnknown(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0"), func(m int) (float64, bool) { return 0, m < 0 }}, // it ends
		{"gpu_power", gpuOf("a", "0"), func(int) (float64, bool) { return nan, true }},
		{"gpu_util", gpuOf("b", "0"), func(m int) (float64, bool) { return 5, m < -2 }},
		{"rx", nodeOf("c", "device", "eth0"), func(m int) (float64, bool) { return 600 + 60*float64(m), m != -2 }},
		{"rx", nodeOf("d", "device", "eth0"), func(m int) (float64, bool) { return float64(600 * (1 + m)), m > -2 }},
		{"gpu_util", gpuOf("e", "0", "pod", "x"), always(nan)},
		{"gpu_util", gpuOf("e", "0", "pod", "y"), always(40)},
		{"tx", nodeOf("e", "device", "eth0"), always(nan)},
	}}
	got := read(t, s, nil, instance("i-1", "a"), instance("i-2", "b"), instance("i-3", "c"), instance("i-4", "d"), instance("i-5", "e"))
	if x := got[4].Samples; len(x) != 2 || x[0].GPUs[0].Util.V != 40 || x[0].NICs != nil {
		t.Errorf("e: %+v", x)
	}
	if x := got[0].Samples; len(x) != 2 || !x[0].GPUs[0].Util.OK || x[0].GPUs[0].Power.OK || len(x[1].GPUs) != 0 && x[1].GPUs[0].Util.OK {
		t.Errorf("a: %+v", x)
	}
	if len(got[1].Samples) != 0 || got[1].Err != nil {
		t.Errorf("b: %+v, want nothing stale", got[1])
	}
	if x := got[2].Samples; len(x) != 2 || x[0].Rx.OK || x[1].Rx.V != 1 {
		t.Errorf("c: %+v, want a rate of the second sample only", x)
	}
}

var nan = func() float64 { v, _ := strconv.ParseFloat("NaN", 64); return v }()

// A long time is asked for in parts, what was asked for once is not again, and what an
// instance has already does not come twice.
func TestWindow(t *testing.T) {
	s := &server{series: []series{
		{"gpu_util", gpuOf("a", "0"), always(1)},
		{"gpu_util", gpuOf("late", "0"), func(m int) (float64, bool) { return 2, m >= 0 }},
	}}
	src := source(t, s, nil)
	got := ask(t, src, -70, instance("i-1", "a"), instance("i-2", "none"))
	if n := len(got[0].Samples); n != 70 || !got[0].Samples[0].At.Equal(at(-69)) {
		t.Errorf("%d samples of 70 minutes", n)
	}
	if want := []string{"10:50 11:19", "11:20 11:49", "11:50 12:00"}; !slices.Equal(s.asked["gpu_util"], want) {
		t.Errorf("asked %q, want %q", s.asked["gpu_util"], want)
	}
	clear(s.asked)
	if got := ask(t, src, -70, instance("i-2", "none")); len(got[0].Samples) > 0 || !slices.Equal(s.asked["gpu_util"], []string{"11:55 12:00"}) {
		t.Errorf("asked %q again", s.asked["gpu_util"])
	}
	clear(s.asked)
	if got := ask(t, src, 0, instance("i-1", "a")); len(got[0].Samples) > 0 || len(s.asked) > 0 {
		t.Errorf("asked %q with nothing new", slices.Collect(maps.Keys(s.asked)))
	}
	clear(s.asked)
	early := providers.SignalQuery{Of: []providers.SignalsOf{{Resource: instance("i-1", "a"), Since: at(-1)}}}
	if got := source(t, s, nil).Signals(guard.WithInstant(t.Context(), guard.Instant{Wall: at(0).Add(5 * time.Second)}), early); len(got[0].Samples) > 0 || len(s.asked) > 0 {
		t.Errorf("asked of a minute that may not be all there: %+v", got[0])
	}
	clear(s.asked)
	ask(t, source(t, s, nil), -10_000, instance("i-1", "a"))
	if first := s.asked["gpu_util"][0]; !strings.HasPrefix(first, "06:00") {
		t.Errorf("went back to %s", first)
	}
}

func TestOwnQueries(t *testing.T) {
	q := Queries(map[string]string{"gpu_util": "avg_over_time(x[$interval])", "disk": " ", "cpu_cores": "y[$rate]"}, 30*time.Second)
	if q["gpu_util"] != "avg_over_time(x[30s])" || q["cpu_cores"] != "y[60s]" {
		t.Errorf("got %q", q)
	}
	if _, ok := q["disk"]; ok {
		t.Error("a query that was dropped is asked")
	}
	if !strings.Contains(q["boot"], "[30s]") {
		t.Errorf("the default of another key: %q", q["boot"])
	}
	for key, q := range Queries(nil, time.Minute) {
		if strings.Contains(q, "$") {
			t.Errorf("%s: %s has a place left open", key, q)
		}
	}
}

func TestCheck(t *testing.T) {
	found := func(change func(*Config)) string {
		c := Defaults()
		c.URL = "http://127.0.0.1:9090"
		change(&c)
		var out []string
		c.Check(func(key, _ string) { out = append(out, key) })
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for want, change := range map[string]func(*Config){
		"":                         func(*Config) {},
		"url":                      func(c *Config) { c.URL = "http://user:pw@prom" },
		"token":                    func(c *Config) { c.Token, c.User = guard.NewSecret("x"), "y" },
		"password":                 func(c *Config) { c.Password = guard.NewSecret("x") },
		"queries.gpu_use":          func(c *Config) { c.Queries = map[string]string{"gpu_use": "x", "gpu_util": "y"} },
		"instance.is":              func(c *Config) { c.Instance.Is = "tag:" },
		"instance.label":           func(c *Config) { c.Instance.Label = "" },
		"instance.node_label":      func(c *Config) { c.Instance.NodeLabel = "a-b" },
		"interval":                 func(c *Config) { c.Interval = time.Second },
		"instance.is interval url": func(c *Config) { *c = Config{Instance: Instance{Label: "a", NodeLabel: "b"}} },
	} {
		if got := found(change); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

func TestNoSecretShows(t *testing.T) {
	src := source(t, &server{}, nil)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, src); strings.Contains(text, "canary") {
			t.Errorf("%s shows the token: %s", format, text)
		}
	}
}
