package simulate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/providers/fake"
)

const monitored = `scenario: s
start: 2026-03-06T18:00:00+08:00
for: 2h
accounts:
  lab:
    provider: fake
    resources: [{id: i-1, gpus: 2}]
    timeline:
`

// told are the events of a story's only account.
func told(t *testing.T, dir, lines string) []fake.Event {
	t.Helper()
	s, err := Parse([]byte(monitored+lines), filepath.Join(dir, "s.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.accounts[0].script.Timeline
}

func TestSignalsAreRead(t *testing.T) {
	got := told(t, t.TempDir(), `
      - {at: 0s, id: i-1, signals: {gpu_util: [93, null], gpu_mem_mib: 61000, gpu_power_w: N/A, engine_active: .nan, tensor_active: 1e300, dram_active: -1, cpu_cores: null,
          processes: "[N/A]", session_input_age: 5m, heartbeat_age: 90s, tx_start: 9e12, rx_start: 18446744073709551615, counter_bits: 32, mig: true,
          gpu_processes: [{pid: 7, util: 9, mem_mib: 5, alive: false}, {pid: 8, util: NaN, alive: true}]}}
      - {at: 1m, id: i-1, signals: {gpu_util: 0, average: true, interval: 5m}}
      - {at: 2m, id: i-1, signals: {gpu_util: 0, average: false, gpu_processes: []}}
      - {at: 3m, id: i-1, signals: {gpu_util: 0, summary: true}}
      - {at: 4m, id: i-1, signals: missing}
      - {at: 5m, id: i-1, signals: frozen}
      - {at: 6m, id: i-1, signals: stuck}
      - {at: 7m, id: i-1, sample_offset: -8h}
      - {at: 8m, id: i-1, pulse: {gpu_util: [95, 0], cpu_cores: 3, every: 50m, for: 2m}}
      - {at: 9m, id: i-1, pulse: off}
      - {at: 10m, id: i-1, reboot: true}
`)
	at := func(m int, e fake.Event) fake.Event {
		e.At, e.ID = time.Duration(m)*time.Minute, "i-1"
		return e
	}
	word := func(w string) fake.Value { return fake.Value{Word: w} }
	all := func(v fake.Value) fake.Reading { return fake.Reading{All: v} }
	util := func(s fake.Signals) fake.Event {
		s.Of = map[string]fake.Reading{"gpu_util": fake.Every(0)}
		return fake.Event{Signals: &s}
	}
	rx, tx, off := ^uint64(0), uint64(9e12), -8*time.Hour
	want := []fake.Event{
		at(0, fake.Event{Signals: &fake.Signals{
			Of: map[string]fake.Reading{"gpu_util": {Each: []fake.Value{fake.Num(93), {}}}, "gpu_mem_mib": fake.Every(61000), "gpu_power_w": all(word("N/A")),
				"engine_active": all(word("NaN")), "tensor_active": fake.Every(1e300), "dram_active": fake.Every(-1), "cpu_cores": {}, "processes": all(word("[N/A]")),
				"session_input_age": fake.Every(300), "heartbeat_age": fake.Every(90)},
			GPUProcesses: []fake.GPUProcess{{PID: 7, Util: fake.Num(9), MemMB: fake.Num(5), Alive: guard.No}, {PID: 8, Util: word("NaN"), Alive: guard.Yes}},
			MIG:          true, TxStart: &tx, RxStart: &rx, CounterBits: 32}}),
		at(1, util(fake.Signals{Basis: guard.Average, Interval: 5 * time.Minute})),
		at(2, util(fake.Signals{Basis: guard.Instantaneous, GPUProcesses: []fake.GPUProcess{}})),
		at(3, util(fake.Signals{Basis: guard.Summary})),
		at(4, fake.Event{Signals: &fake.Signals{Lost: fake.SignalsMissing}}),
		at(5, fake.Event{Signals: &fake.Signals{Lost: fake.SignalsFrozen}}),
		at(6, fake.Event{Signals: &fake.Signals{Lost: fake.SignalsStuck}}),
		at(7, fake.Event{SampleOffset: &off}),
		at(8, fake.Event{Pulse: &fake.Pulse{Of: map[string]fake.Reading{"gpu_util": {Each: []fake.Value{fake.Num(95), fake.Num(0)}}, "cpu_cores": fake.Every(3)},
			Every: 50 * time.Minute, For: 2 * time.Minute}}),
		at(9, fake.Event{Pulse: &fake.Pulse{}}),
		at(10, fake.Event{Reboot: true}),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(fake.Trace{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSignalMistakesAreTold(t *testing.T) {
	for line, want := range map[string]string{
		"signals: gone":                                                 `timeline[0].signals: unknown "gone": known here are missing, frozen, stuck`,
		"signals: [1]":                                                  "signals: is a list: write missing, frozen, stuck or numbers",
		"signals: {gpu_utl: 1}":                                         `signals.gpu_utl: unknown "gpu_utl": did you mean gpu_util?`,
		"signals: {averag: true}":                                       `unknown "averag": did you mean average?`,
		"signals: {gpu_util: 93%}":                                      `signals.gpu_util: "93%" is not a number: write one without a unit`,
		"signals: {gpu_util: true}":                                     "signals.gpu_util: is true or false: write a number",
		"signals: {gpu_util: {a: 1}}":                                   "signals.gpu_util: is a group of keys: write a number",
		"signals: {gpu_util: [1, [2]]}":                                 "signals.gpu_util[1]: is a list: write a number",
		"signals: {processes: [1]}":                                     "signals.processes: is a list: write one number, for the whole box",
		"signals: {session_input_age: 300}":                             "signals.session_input_age: 300 has no unit",
		"signals: {interval: 10ms}":                                     "signals.interval: write from 1s to 1d",
		"signals: {average: true, summary: true}":                       "signals: a source tells an average or a summary",
		"signals: {average: yes please}":                                "signals.average: is text: write true or false",
		"signals: {tx_start: -1}":                                       "signals.tx_start: write a whole number of bytes below 2^64",
		"signals: {tx_start: 18446744073709551616}":                     "signals.tx_start: write a whole number of bytes below 2^64",
		"signals: {tx_start: 1.5}":                                      "signals.tx_start: write a whole number of bytes below 2^64",
		"signals: {counter_bits: 16}":                                   "signals.counter_bits: write 32 or 64",
		"signals: {gpu_processes: 3}":                                   "signals.gpu_processes: is a number: write a list",
		"signals: {gpu_processes: [4]}":                                 "signals.gpu_processes[0]: is a number: write {pid: 4711",
		"signals: {gpu_processes: [{pid: 1, name: python}]}":            `signals.gpu_processes[0]: unknown key "name"`,
		"sample_offset: eight":                                          `sample_offset: "eight" is not a duration`,
		"pulse: 95":                                                     "pulse: is a number: write {gpu_util: 95, every: 50m, for: 2m}",
		"pulse: {every: 1h, for: 1m}":                                   "pulse: says nothing of what bursts",
		"pulse: {gpu_util: 95, every: 1m, for: 1h}":                     "pulse: for must be longer than 0s and shorter than every",
		"pulse: {gpu_util: 95, for: 1h}":                                "pulse: for must be longer than 0s and shorter than every",
		"pulse: {gpu: 95, every: 1h, for: 1m}":                          `pulse.gpu: unknown "gpu"`,
		"signals: missing, reboot: true":                                "timeline[0]: write one thing that happens",
		"signals_file: t.csv":                                           "signals_file: is text: write {csv: trace.csv",
		"signals_file: {csv: t.csv}":                                    "signals_file: write {csv: trace.csv",
		"signals_file: {csv: t.csv, columns: {gpu_util: u}}":            "signals_file.columns: t is missing",
		"signals_file: {csv: t.csv, columns: {t: s}}":                   "signals_file.columns: name the columns of the readings",
		"signals_file: {csv: t.csv, columns: {t: s, gpu: u}}":           `signals_file.columns.gpu: unknown "gpu"`,
		"signals_file: {csv: t.csv, columns: {t: s, sessions: [u, v]}}": "signals_file.columns.sessions: is a list: write one column",
		"signals_file: {csv: t.csv, columns: {t: s, gpu_util: u}}":      "signals_file.csv: t.csv cannot be read: no such file",
	} {
		_, err := Parse([]byte(monitored+"      - {at: 1h, id: i-1, "+line+"}\n"), "s.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "s.yaml:9: ") {
			t.Errorf("%s\ngot  %v\nwant %s", line, err, want)
		}
	}
}

func TestTracesAreRead(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		if err := os.WriteFile(filepath.Join(dir, "trace.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return `      - {at: 1h, id: i-1, signals_file: {csv: trace.csv, columns: {t: seconds, gpu_util: [u0, u1], gpu_mem_mib: mem}}}` + "\n"
	}
	num, word := fake.Num, func(w string) fake.Value { return fake.Value{Word: w} }
	row := func(at time.Duration, u0, u1, mem fake.Value) fake.TraceRow {
		return fake.TraceRow{At: at, Of: map[string]fake.Reading{"gpu_util": {Each: []fake.Value{u0, u1}}, "gpu_mem_mib": {All: mem}}}
	}
	want := []fake.TraceRow{row(0, num(93.5), num(0), num(61000)), row(57300*time.Millisecond, word("N/A"), fake.Value{}, num(5)), row(9*time.Minute, num(1), num(2), fake.Value{})}
	for name, text := range map[string]string{
		"seconds":    "\ufeffmem, seconds ,u0,u1,host\n61000,0,93.5,0,x\n5,57.3,N/A,,x\n,540,1,2,x\n",
		"since 1970": "seconds,u0,u1,mem\n1662858720.0,93.5,0,61000\n1662858777.3,N/A,,5\n1662859260.0,1,2,\n",
	} {
		got := told(t, dir, write(text))
		if diff := cmp.Diff(want, got[0].SignalsFile.Rows); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	for text, want := range map[string]string{
		"":                          "trace.csv, line 1: its head with the names of the columns is missing",
		"seconds,u0,u1,mem\n":       "trace.csv, line 2: it has no rows",
		"seconds,u0,mem\n0,1,2\n":   `trace.csv, line 1: there is no column "u1"; there are seconds, u0, mem`,
		"secs,u0,u1,mem\n0,1,2,3\n": `line 1: there is no column "seconds"`,
		"seconds,u0,u1,mem\n0,1,2,3\n60,1,9O,3\n": `trace.csv, line 3, column u1: "9O" is not a number`,
		"seconds,u0,u1,mem\nnoon,1,2,3\n":         `line 2, column seconds: "noon" is not a time in seconds`,
		"seconds,u0,u1,mem\n60,1,2,3\n60,1,2,3\n": "line 3, column seconds: it is not later than the line before",
		"seconds,u0,u1,mem\n0,1,2,3\n1e9,1,2,3\n": "line 3, column seconds: longer than ten years",
		"seconds,u0,u1,mem\n0,1,2\n":              "trace.csv, record on line 2: wrong number of fields",
	} {
		_, err := Parse([]byte(monitored+write(text)), filepath.Join(dir, "s.yaml"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"10GB": 10e9, "1.5 TiB": 3 << 39, "0B": 0, "800 kb": 800_000, "18446744073709551615 B": 0, "1e3GB": 0, "GB": 0, "10": 0, "-1GB": 0} {
		var got size
		if err := got.UnmarshalText([]byte(text)); got != want || (err == nil) != (want > 0 || text == "0B") {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
}
