package nvidiasmi

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"guard"
)

var known = guard.Known

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parse(t *testing.T, text string) guard.Sample {
	t.Helper()
	s, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParse(t *testing.T) {
	text := fixture(t, "four.xml")
	want := guard.Sample{
		Basis: guard.Instantaneous,
		GPUs: []guard.GPUSample{
			{Util: known(97), MemUsed: known(70_001), MemTotal: known(81_559), Power: known(512.5), PowerLimit: known(700)},
			{},
			{MemUsed: known(50), MemTotal: known(81_920), Power: known(67.03), PowerLimit: known(300), MIG: true},
			{Util: known(0), MemUsed: known(4), MemTotal: known(81_559), Power: known(71.2)},
		},
		Processes:    known(2),
		GPUProcesses: []guard.GPUProcess{{PID: 4242, MemUsed: known(70_000)}, {PID: 901, MemUsed: known(900)}},
	}
	if diff := cmp.Diff(want, parse(t, text)); diff != "" {
		t.Error(diff)
	}

	for name, c := range map[string]struct {
		from, to string
		gpus     int
		known    bool // are the processes
	}{
		"no timestamp":                     {"<timestamp>Fri Mar  6 12:00:00 2026</timestamp>", "", 4, true},
		"warnings before it":               {"<?xml", "Unable to determine the device handle for GPU2: GPU is lost.\n<?xml", 4, true},
		"a GPU that is not there":          {"<attached_gpus>4<", "<attached_gpus>5<", 5, false},
		"no list of processes":             {"<processes>\n\t\t</processes>", "", 4, false},
		"a list that may not be read":      {"<processes>\n\t\t</processes>", "<processes>Insufficient Permissions</processes>", 4, false},
		"a process whose number is hidden": {"<pid>4242</pid>", "<pid>[Not Found]</pid>", 4, true},
		"names of bytes":                   {"renderer", "\xff\x00\x1b", 4, true},
	} {
		s := parse(t, strings.Replace(text, c.from, c.to, 1))
		if len(s.GPUs) != c.gpus || s.Processes.OK != c.known || s.GPUs[0].Util.V != 97 {
			t.Errorf("%s: %d GPUs, processes %+v", name, len(s.GPUs), s.Processes)
		}
	}
	if s := parse(t, strings.Replace(text, "<pid>4242</pid>", "<pid>[Not Found]</pid>", 1)); s.Processes.V != 3 {
		t.Errorf("a hidden process is none: %+v", s.Processes)
	}
	if s := parse(t, strings.Replace(text, "<used_memory>1000 MiB", "<used_memory>N/A", 1)); s.GPUProcesses[0].MemUsed.OK {
		t.Errorf("half of a process's memory passes for all of it: %+v", s.GPUProcesses)
	}
}

func TestParseRefuses(t *testing.T) {
	text := fixture(t, "four.xml")
	for name, c := range map[string]string{
		"nothing":           "",
		"a failure":         "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
		"cut":               text[:len(text)/2],
		"cut before GPUs":   text[:strings.Index(text, "<gpu ")],
		"another's XML":     "<html><body></body></html>",
		"GPUs past belief":  strings.Replace(text, "<attached_gpus>4<", "<attached_gpus>999999999<", 1),
		"more than belongs": strings.Repeat(" ", MaxOutput+1),
	} {
		if s, err := Parse(strings.NewReader(c)); !errors.Is(err, guard.ErrBadReply) || len(s.GPUs) > 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// No GPU in the machine is an answer, and says nothing of processes.
func TestParseNoGPU(t *testing.T) {
	s := parse(t, "<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>")
	if len(s.GPUs) != 0 || s.Processes.OK {
		t.Errorf("got %+v", s)
	}
}

func TestParseGPUs(t *testing.T) {
	s, err := ParseGPUs(strings.NewReader(`WARNING: infoROM is corrupted at gpu 0000:00:04.0
0, 97, 70001, 81559, 512.50, 700.00, Disabled
1, [N/A], [Not Supported], ERR!, [Unknown Error], [N/A], [N/A]
3, 0, 50, 81920, 67.03, 400.00, Enabled
4, 0, 50
`))
	if err != nil {
		t.Fatal(err)
	}
	want := guard.Sample{Basis: guard.Instantaneous, GPUs: []guard.GPUSample{
		{Util: known(97), MemUsed: known(70_001), MemTotal: known(81_559), Power: known(512.5), PowerLimit: known(700)},
		{}, {},
		{MemUsed: known(50), MemTotal: known(81_920), Power: known(67.03), PowerLimit: known(400), MIG: true},
		{},
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "No devices were found\n", `Field "mig.mode.current" is not a valid field to query.`, "99999999, 1\n"} {
		if _, err := ParseGPUs(strings.NewReader(text)); !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseApps(t *testing.T) {
	got, err := ParseApps(strings.NewReader("4242, 69000\n77, [N/A]\n4242, 1000\n"))
	if diff := cmp.Diff([]guard.GPUProcess{{PID: 4242, MemUsed: known(70_000)}, {PID: 77}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, err := ParseApps(strings.NewReader("\n")); len(got) > 0 || err != nil {
		t.Errorf("no processes: %v, %v", got, err)
	}
	for _, text := range []string{"No devices were found\n", "[N/A], 5\n", "4242, 1\nERR!\n"} {
		if _, err := ParseApps(strings.NewReader(text)); !errors.Is(err, guard.ErrBadReply) {
			t.Errorf("%q: %v, want nobody to know", text, err)
		}
	}
}

// Recorded output of real machines, schemas v10 to v13.
func TestRecorded(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "data", "nvidia_smi_xml")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the recorded outputs are not here: ../shared is absent")
	}
	n := guard.Gauge{}
	for name, want := range map[string]struct {
		gpus                          int
		util, used, power, limit, pro guard.Gauge
	}{
		"a100-sxm4-v12":        {4, n, known(50), known(67.03), known(500), n}, // 3 of 4 are cut out of the file
		"a10g":                 {1, known(0), known(22), known(25.58), known(300), known(0)},
		"gtx-1070-ti":          {1, known(0), known(42), n, n, n},
		"gtx-1660-ti":          {1, known(0), known(0), known(8.93), known(130), known(0)},
		"quadro-p2000-v12":     {1, known(0), n, known(4.61), known(75), known(0)},
		"quadro-p400":          {1, known(0), n, n, n, known(0)},
		"rtx-3060-v12":         {1, known(0), n, known(11.6), known(170), known(0)},
		"rtx-3080-v12":         {1, known(0), n, known(22.78), known(336), known(4)},
		"rtx-3080-v13":         {1, known(65), n, known(139.62), known(320), known(0)},
		"rtx-3090-v12":         {1, known(0), n, known(27.23), known(200), known(0)},
		"rtx-4000-sff-ada-v13": {1, known(0), n, known(8.81), known(70), known(4)},
		"tesla-t4":             {1, known(0), n, known(26.78), known(70), known(1)},
	} {
		b, err := os.ReadFile(filepath.Join(folder, name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		s := parse(t, string(b))
		if len(s.GPUs) != want.gpus {
			t.Errorf("%s: %d GPUs", name, len(s.GPUs))
			continue
		}
		g := s.GPUs[0]
		if g.Util != want.util || g.Power != want.power || g.PowerLimit != want.limit || s.Processes != want.pro || want.used.OK && g.MemUsed != want.used {
			t.Errorf("%s: %+v, processes %+v", name, g, s.Processes)
		}
		if !g.MemUsed.OK || !g.MemTotal.OK || g.MemTotal.V < g.MemUsed.V {
			t.Errorf("%s: memory %v of %v", name, g.MemUsed, g.MemTotal)
		}
	}
}

// FuzzParse: whatever the program prints, there is a sample that holds together or an error.
func FuzzParse(f *testing.F) {
	f.Add(fixture(f, "four.xml"))
	f.Add("<nvidia_smi_log><gpu><processes>N/A</processes></gpu></nvidia_smi_log>")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(strings.NewReader(text))
		holds(t, s, err)
	})
}

// FuzzCSV is FuzzParse for the two forms of CSV.
func FuzzCSV(f *testing.F) {
	f.Add("0, 97, 70001, 81559, 512.50, 700.00, Disabled\n1, [N/A], ERR!\n", "4242, 69000\n")
	f.Fuzz(func(t *testing.T, gpus, apps string) {
		s, err := ParseGPUs(strings.NewReader(gpus))
		holds(t, s, err)
		list, err := ParseApps(strings.NewReader(apps))
		if err != nil && list != nil {
			t.Error("processes beside an error")
		}
	})
}

func holds(t *testing.T, s guard.Sample, err error) {
	t.Helper()
	if (err != nil) == (s.Basis != "") || len(s.GPUs) > maxGPUs {
		t.Errorf("%d GPUs, %v", len(s.GPUs), err)
	}
	if s.Processes.OK && int(s.Processes.V) != len(s.GPUProcesses) {
		t.Errorf("%v processes, %d listed", s.Processes, len(s.GPUProcesses))
	}
	for _, g := range s.GPUs {
		if g.MIG && g.Util.OK {
			t.Error("the utilisation of a GPU that is cut up")
		}
	}
}
