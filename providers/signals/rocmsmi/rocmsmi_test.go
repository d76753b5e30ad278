package rocmsmi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"guard"
)

func fixture(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "three.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParse(t *testing.T) {
	s, err := Parse(strings.NewReader(fixture(t)))
	if err != nil {
		t.Fatal(err)
	}
	known := guard.Known
	want := guard.Sample{
		Basis: guard.Instantaneous,
		GPUs: []guard.GPUSample{
			{Util: known(99), MemUsed: known(16376), MemTotal: known(32752), Power: known(39), PowerLimit: known(290), Energy: known(15.3000005)},
			{},
			{Util: known(0), MemUsed: known(0), MemTotal: known(1), Power: known(140)},
			{MemTotal: known(1)},
		},
		Processes:    known(2),
		GPUProcesses: []guard.GPUProcess{{PID: 77, MemUsed: known(16376)}, {PID: 79}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

// Of two GPUs that share a socket (MI250) only the first tells its power, and an MI300 tells
// that of its socket.
func TestSockets(t *testing.T) {
	s, err := Parse(strings.NewReader(`{"card0": {"GPU use (%)": "0", "Average Graphics Package Power (W)": "92.0"}, "card1": {"GPU use (%)": "0", "Average Graphics Package Power (W)": "N/A"},
		"card2": {"GPU use (%)": "88", "VRAM Total Memory (B)": "205520896000", "Current Socket Graphics Package Power (W)": "550.5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	known := guard.Known
	want := []guard.GPUSample{{Util: known(0), Power: known(92)}, {Util: known(0)}, {Util: known(88), MemTotal: known(196000), Power: known(550.5)}}
	if diff := cmp.Diff(want, s.GPUs); diff != "" {
		t.Error(diff)
	}
}

// That no process is listed says that there is none only where the memory is known.
func TestNoProcesses(t *testing.T) {
	for text, want := range map[string]bool{
		`{"card0": {"VRAM Total Used Memory (B)": "0"}, "system": {"Driver version": "6"}}`:   true,
		`{"card0": {"VRAM Total Used Memory (B)": "N/A"}, "system": {"Driver version": "6"}}`: false,
		`{"card0": {"VRAM Total Used Memory (B)": "0"}}`:                                      false,
		`{"card0": "gone", "system": {"Driver version": "6"}}`:                                false,
	} {
		s, err := Parse(strings.NewReader(text))
		if err != nil || s.Processes.OK != want {
			t.Errorf("%s: %+v, %v", text, s.Processes, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	text := fixture(t)
	for name, c := range map[string]string{
		"nothing": "", "words": "ERROR: No AMD GPUs", "no card": `{"system": {}}`, "a list": "[]", "null": "null",
		"cut": text[:len(text)-10], "past belief": `{"card99999999": {}}`, "more than belongs": strings.Repeat(" ", MaxOutput+1),
	} {
		if s, err := Parse(strings.NewReader(c)); !errors.Is(err, guard.ErrBadReply) || len(s.GPUs) > 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// Recorded output of real machines.
func TestRecorded(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "data", "rocm_smi_json")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the recorded outputs are not here: ../shared is absent")
	}
	for name, want := range map[string]struct {
		gpus  int
		power float64
	}{"mi100_rocm571": {6, 39}, "mi100_rocm602": {4, 36}, "rx6700xt_rocm430": {1, 6}} {
		f, err := os.Open(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(f)
		f.Close()
		if err != nil || len(s.GPUs) != want.gpus || s.GPUs[0].Power.V != want.power || s.GPUs[0].Util != guard.Known(0) || !s.GPUs[0].MemUsed.OK || s.Processes != guard.Known(0) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// FuzzParse: whatever the program prints, there is a sample that holds together or an error.
func FuzzParse(f *testing.F) {
	f.Add(fixture(f))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text))
		if (err != nil) == (len(s.GPUs) > 0) || len(s.GPUs) > maxGPUs {
			t.Errorf("%d GPUs, %v", len(s.GPUs), err)
		}
		if s.Processes.OK && int(s.Processes.V) != len(s.GPUProcesses) {
			t.Errorf("%v processes, %d listed", s.Processes, len(s.GPUProcesses))
		}
	})
}
