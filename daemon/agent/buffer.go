package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"guard"
	"guard/daemon/wire"
)

const (
	// mostWaiting is how many samples wait for guardd: a day of minutes.
	mostWaiting = 24 * 60
	// mostBatch and mostBatchBytes bound one request, well below what guardd takes.
	mostBatch, mostBatchBytes = 120, 512 << 10
	// clockMoved is how far the wall clock must have been set for the times of samples
	// that wait to be put right.
	clockMoved = 5 * time.Second
)

// waiting is a sample that guardd has not taken yet.
type waiting struct {
	Stream string        `json:"stream"`
	Seq    uint64        `json:"seq"`
	Boot   string        `json:"boot"`
	Taken  guard.Instant `json:"taken"` // the end of its interval, on both clocks
	Sample guard.Sample  `json:"sample"`
}

// buffer keeps samples in order until guardd has taken them; where too many wait the
// oldest go. It may be used from several goroutines.
type buffer struct {
	mu     sync.Mutex
	most   int
	stream string
	seq    uint64
	queue  []waiting
	lost   int
	// file is where what waits is kept over a restart; "" keeps nothing. kept is the last
	// of the queue that is in it, and lines how many lines it has.
	file  string
	kept  waiting
	lines int
}

// push adds a sample to the end.
func (b *buffer) push(x guard.Sample, boot string, at guard.Instant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	b.queue = append(b.queue, waiting{b.stream, b.seq, boot, at, x})
	if over := len(b.queue) - b.most; over > 0 {
		b.queue = slices.Delete(b.queue, 0, over)
		b.lost += over
	}
}

// batch is what is sent next, most samples of it, and how many wait after it. A wall clock that was set since
// a sample was taken has put that sample's time wrong; within one boot what has elapsed
// since tells it right.
func (b *buffer) batch(boot string, at guard.Instant, most int) (out []wire.AgentSample, rest, lost int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := 0
	for _, w := range b.queue {
		if w.Boot == boot {
			taken := at.Wall.Add(-at.Sub(w.Taken))
			if taken.Sub(w.Taken.Wall).Abs() > clockMoved {
				w.Sample.At = taken
			}
		}
		raw, err := json.Marshal(w.Sample)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("encode a sample: %w", err)
		}
		if size += len(raw) + 100; len(out) > 0 && (size > mostBatchBytes || len(out) == most) {
			break
		}
		out = append(out, wire.AgentSample{Stream: w.Stream, Seq: w.Seq, Sample: raw})
	}
	return out, len(b.queue) - len(out), b.lost, nil
}

// took forgets what was sent, up to and with the last of a batch.
func (b *buffer) took(batch []wire.AgentSample) {
	if len(batch) == 0 {
		return
	}
	last := batch[len(batch)-1]
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.queue, func(w waiting) bool { return w.Stream == last.Stream && w.Seq == last.Seq })
	if i < 0 {
		// So many came meanwhile that it was given up: then so was all before it.
		return
	}
	b.queue = slices.Delete(b.queue, 0, i+1)
}

// lose counts samples that were given up.
func (b *buffer) lose(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost += n
}

func (b *buffer) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// keep brings the file up to what waits: new samples are added to its end, and it is
// written anew where little of it still waits.
func (b *buffer) keep() error {
	if b.file == "" {
		return nil
	}
	b.mu.Lock()
	queue, kept, lines := slices.Clone(b.queue), b.kept, b.lines
	b.mu.Unlock()
	from := slices.IndexFunc(queue, func(w waiting) bool { return w.Stream == kept.Stream && w.Seq == kept.Seq }) + 1
	var text bytes.Buffer
	anew := lines-from > b.most || len(queue) == 0 || from == 0
	if anew {
		from = 0
	}
	enc := json.NewEncoder(&text)
	for _, w := range queue[from:] {
		if err := enc.Encode(w); err != nil {
			return fmt.Errorf("encode a sample: %w", err)
		}
	}
	var err error
	switch {
	case len(queue) == 0 && lines == 0:
		return nil
	case anew:
		err = replace(b.file, text.Bytes())
		lines = 0
	case from < len(queue):
		err = extend(b.file, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("keep the samples that wait: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = lines + len(queue) - from
	b.kept = waiting{}
	if len(queue) > 0 {
		b.kept = queue[len(queue)-1]
	}
	return nil
}

func extend(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// mostLine bounds one line of the file.
const mostLine = 1 << 20

// load reads what an earlier run left. A line that was cut off, or is none, is skipped.
func (b *buffer) load() error {
	if b.file == "" {
		return nil
	}
	f, err := os.Open(b.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the samples that wait: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	b.mu.Lock()
	defer b.mu.Unlock()
	for lines.Scan() {
		var w waiting
		if json.Unmarshal(lines.Bytes(), &w) == nil && w.Stream != "" && w.Seq > 0 {
			b.queue = append(b.queue, w)
		}
		b.lines++
	}
	if over := len(b.queue) - b.most; over > 0 {
		b.queue = slices.Delete(b.queue, 0, over)
	}
	return nil // what lies behind a line that is too long is lost
}
