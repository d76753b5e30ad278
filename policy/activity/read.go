package activity

import (
	"fmt"
	"slices"
	"time"

	"guard"
)

// kind is what beside a GPU may work, in the order that people are told of it.
type kind int

const (
	incoming kind = iota
	outgoing
	cpu
	disk
	person
	job
	kinds
	rates = disk + 1 // those before are rates, which count where they go on
)

// The signals whose silence is told from never having been told.
const (
	cpuSignal = iota
	netSignal
	diskSignal
	processSignal
	memorySignal
	powerSignal
	signals
)

var signalNames = [signals]string{"cpu", "net", "disk", "processes", "memory", "power"}

// forget is after how long a signal that is told no more counts as one that nobody tells
// there. Until then samples without it are not known to be quiet: a box that compiles for
// hours looks empty where its monitor has lost nothing but the CPU. Another boot and
// another source begin anew, so that one which was replaced need not be waited for.
const forget = 24 * time.Hour

// How young a person's input and a job's heartbeat must be to count as work.
const (
	inputFor = 30 * time.Minute
	heartFor = 10 * time.Minute
)

// reading is what one sample tells, judged.
type reading struct {
	guard.Sample
	start  time.Time
	gpus   []look
	doubts []string
	// works: some GPU does; no: each is known not to.
	works tri
	why   look // of the GPU that does most
	// suspect: some GPU may well work.
	suspect bool
	pinned  tri
	// other is what else works, in words, and "" where nothing does; goes: something
	// does, although perhaps not just now.
	other string
	goes  bool
	// silent: a signal that was told in this boot is not; see forget.
	silent bool
	// recalled: its source did not answer then, and tells it only now.
	recalled bool
	alive    guard.Gauge // GPU processes
	dead     int
}

// read judges a sample. It takes in what the signals say (when told, the minutes of
// what must go on, the energy counters), and nothing else.
func (s *State) read(b Busy, box Box, x guard.Sample) reading {
	x, said := clean(x)
	r := reading{Sample: x, start: later(x.At.Add(-x.Interval), s.BootAt), works: no, pinned: no}
	if box.Created.Before(x.At) {
		r.start = later(r.start, box.Created.UTC().Round(0)) // no interval begins before the box
	}
	s.readGPUs(b, box, &r, said)
	s.repeats(&r)
	r.processes()
	told := [signals]bool{x.CPUCores.OK, x.Rx.OK || x.Tx.OK, x.Disk.OK, r.alive.OK}
	told[memorySignal] = !slices.ContainsFunc(r.gpus, func(l look) bool { return !l.mem.OK })
	told[powerSignal] = !slices.ContainsFunc(r.gpus, func(l look) bool { return !l.power.OK })
	for i, is := range told {
		switch {
		case is:
			s.Told[i] = x.At
		case i == memorySignal && r.works == unknown: // a whole GPU is not told
		case i != powerSignal && s.told(i, x.At):
			r.silent = true
			r.doubts = append(r.doubts, fmt.Sprintf("%s is not told any more", signalNames[i]))
		}
	}
	s.readOthers(b, &r)
	return r
}

// repeats takes the rest of a sample for frozen, too, where the energy counter of a GPU
// stands still and nothing else differs from the sample before.
func (s *State) repeats(r *reading) {
	was := s.Was
	s.Was = [4]guard.Gauge{r.CPUCores, r.Rx, r.Tx, r.Disk}
	still := slices.ContainsFunc(r.gpus, func(l look) bool { return l.frozen })
	if still && s.Was == was {
		r.CPUCores, r.Rx, r.Tx, r.Disk = guard.Gauge{}, guard.Gauge{}, guard.Gauge{}, guard.Gauge{}
		r.InputAge, r.HeartbeatAge = guard.Gauge{}, guard.Gauge{}
	}
}

func (s *State) told(signal int, at time.Time) bool {
	return !s.Told[signal].IsZero() && at.Sub(s.Told[signal]) <= forget
}

func (s *State) readGPUs(b Busy, box Box, r *reading, said []string) {
	var doubted [reasons][]int
	whole := len(r.GPUs) == len(s.GPUs)
	pinned, blind := 0, 0
	for i := range s.GPUs {
		l, why := look{}, missing
		if i < len(r.GPUs) {
			k := &s.GPUs[i]
			if !whole {
				// With one missing nobody knows which is which.
				*k = gpu{}
			}
			l, why = k.look(b, box, r.GPUs[i], r, s.Run > 0)
		}
		if why >= 0 {
			doubted[why] = append(doubted[why], i)
		}
		switch {
		case l.works == yes:
			r.works = yes
			if r.why.by == 0 || l.by == byUtil && (r.why.by != byUtil || l.v > r.why.v) {
				r.why = l
			}
		case l.works == unknown && r.works == no:
			r.works = unknown
		}
		r.suspect = r.suspect || l.suspect
		switch l.pinned {
		case yes:
			pinned++
		case unknown:
			blind++
		}
		r.gpus = append(r.gpus, l)
	}
	n := len(r.gpus)
	switch {
	case n == 0:
		r.works, r.pinned = unknown, unknown
		said = append(said, "no GPU is told of")
	case 2*pinned >= n:
		r.pinned = yes
	case 2*(pinned+blind) >= n:
		r.pinned = unknown
	}
	r.doubts = doubts(said, doubted)
}

// processes counts the GPU processes that are alive, and those that only hold memory.
func (r *reading) processes() {
	listed := 0
	for _, p := range r.GPUProcesses {
		if p.Alive == guard.No {
			r.dead++
		} else {
			listed++
		}
	}
	switch {
	case r.Processes.OK:
		r.alive = guard.Known(max(r.Processes.V-float64(r.dead), float64(listed)))
	case len(r.GPUProcesses) > 0:
		r.alive = guard.Known(float64(listed))
	}
}

// readOthers finds what else than a GPU works. Of a person and a job one word is
// enough; network, CPU and disk count where they go on, so that cron does not.
func (s *State) readOthers(b Busy, r *reading) {
	s.rest(r)
	s.Someone = r.Sessions.V > 0 && !r.InputAge.OK
	now := [kinds]bool{
		incoming: r.Rx.OK && r.Rx.V >= b.Net,
		outgoing: r.Tx.OK && r.Tx.V >= b.Net,
		cpu:      r.CPUCores.OK && r.CPUCores.V >= s.Base.Or(0)+b.CPUCores,
		disk:     r.Disk.OK && r.Disk.V >= b.Disk,
		person:   r.InputAge.OK && seconds(r.InputAge) < inputFor,
		job:      r.HeartbeatAge.OK && seconds(r.HeartbeatAge) < heartFor,
	}
	goes := s.goesOn(now, r.At, r.Interval)
	for k := range kinds {
		r.goes = r.goes || goes[k]
		if now[k] && goes[k] {
			r.other += sep(r.other) + r.word(k)
		}
	}
}

func sep(s string) string {
	if s == "" {
		return ""
	}
	return ", "
}

func seconds(g guard.Gauge) time.Duration { return time.Duration(g.V * float64(time.Second)) }

// word says what works, in few words.
func (r *reading) word(k kind) string {
	switch k {
	case cpu:
		return fmt.Sprintf("cpu %.1f cores", r.CPUCores.V)
	case incoming:
		return fmt.Sprintf("%s in", rate(r.Rx.V))
	case outgoing:
		return fmt.Sprintf("%s out", rate(r.Tx.V))
	case disk:
		return fmt.Sprintf("%s disk", rate(r.Disk.V))
	case person:
		return fmt.Sprintf("input %s", ago(seconds(r.InputAge)))
	case job:
		return fmt.Sprintf("heartbeat %s", ago(seconds(r.HeartbeatAge)))
	}
	return ""
}
