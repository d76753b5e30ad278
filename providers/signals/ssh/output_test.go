package ssh

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"guard"
)

// smi is what nvidia-smi says of two processes.
const smi = `<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu><processes>
<process_info><pid>41</pid><type>C</type><used_memory>5 MiB</used_memory></process_info>
<process_info><pid>42</pid><type>C</type><used_memory>5 MiB</used_memory></process_info>
</processes></gpu></nvidia_smi_log>
`

func out(parts ...string) string {
	var b strings.Builder
	b.WriteString("Welcome!\nlast login never\n")
	for _, p := range parts {
		b.WriteString(mark + p + "\n")
	}
	return b.String() + mark + "end\n"
}

// Which processes live is told only where their numbers mean the same to the driver and
// to the shell: not in a container's own namespace.
func TestAlive(t *testing.T) {
	for pids, want := range map[string][]guard.Tri{
		"pids\n" + initial + "\n1\n41\n":      {guard.Yes, guard.No},
		"pids\npid:[4026532000]\n1\n41\n":     {guard.Unknown, guard.Unknown},
		"pids\n":                              {guard.Unknown, guard.Unknown},
		"boot\nno word of processes\n":        {guard.Unknown, guard.Unknown},
		"pids\n" + initial + "\n":             {guard.Unknown, guard.Unknown}, // /proc is not readable
		"pids\n" + initial + "\n1\n41\n42\n7": {guard.Yes, guard.Yes},
	} {
		s, _, err := read(out("nvidia\n"+smi, pids))
		if err != nil || len(s.GPUProcesses) != 2 {
			t.Fatalf("%q: %+v, %v", pids, s, err)
		}
		if diff := cmp.Diff(want, []guard.Tri{s.GPUProcesses[0].Alive, s.GPUProcesses[1].Alive}); diff != "" {
			t.Errorf("%q: %s", pids, diff)
		}
	}
}

func TestTerminals(t *testing.T) {
	known := guard.Known
	for text, want := range map[string][2]guard.Gauge{
		"ttys\n1000\n400\n940\n": {known(2), known(60)},
		"ttys\n1000\n":           {known(0), {}},
		"ttys\n1000\n1005\n":     {known(1), known(0)},
		"ttys\n":                 {},
		"ttys\nx\n5\n":           {},
		"ttys\n1000\n?\n":        {},
		"boot\nx\n":              {},
	} {
		s, _, err := read(out("nvidia\n"+smi, text))
		if got := [2]guard.Gauge{s.Sessions, s.InputAge}; err != nil || got != want {
			t.Errorf("%q: %v, want %v (%v)", text, got, want, err)
		}
	}
}

// A machine may have both programs, and the GPUs of one.
func TestBothPrograms(t *testing.T) {
	rocm := "rocm\n" + `{"card0": {"GPU use (%)": "7"}}` + "\n"
	s, _, err := read(out("nvidia\nNVIDIA-SMI has failed\n", rocm))
	if err != nil || len(s.GPUs) != 1 || s.GPUs[0].Util.V != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, _, err := read(out("nvidia\nNVIDIA-SMI has failed\n", "rocm\nnothing\n")); !errors.Is(err, guard.ErrBadReply) {
		t.Error(err)
	}
	if s, _, err := read(out("nvidia\n"+smi, rocm)); err != nil || len(s.GPUProcesses) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// FuzzRead: whatever a machine prints, there is no reading below nothing.
func FuzzRead(f *testing.F) {
	f.Add(out("nvidia\n"+smi, "pids\n"+initial+"\n41\n", "ttys\n1000\n900\n", "stat\ncpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n"))
	f.Fuzz(func(t *testing.T, text string) {
		s, c, err := read(text)
		if _, whole := parts(text); !whole && err == nil {
			t.Error("an output without an end has no error")
		}
		for _, g := range []guard.Gauge{s.Sessions, s.InputAge, c.CPU, c.Cores} {
			if g.OK && g.V < 0 {
				t.Errorf("below nothing: %+v %+v", s, c)
			}
		}
	})
}
