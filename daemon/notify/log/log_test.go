package log

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"guard"
	"guard/daemon/notify/notifytest"
)

// buffer may be written and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestLog(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
		var out buffer
		// A level that would swallow everything: people are told all the same.
		c := New(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelError})))
		return c, notifytest.Far{Seen: func() (seen []string) {
			for line := range strings.Lines(out.String()) {
				var r struct {
					Title string
					Lines []string
				}
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Error(err)
				}
				seen = append(seen, strings.Join(append([]string{r.Title}, r.Lines...), "\n"))
			}
			return seen
		}}
	})
}

func TestPretty(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
		var out buffer
		return NewPretty(&out, "slack", nil, false), notifytest.Far{Seen: func() []string {
			if out.String() == "" {
				return nil
			}
			return strings.Split(out.String(), "\n\n")
		}}
	})
}

func TestPrettyLooks(t *testing.T) {
	var out strings.Builder
	p := NewPretty(&out, "slack", time.FixedZone("", 8*3600), false)
	at := guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour}
	m := notifytest.Message("slack", "one")
	root, err := p.Post(guard.WithInstant(t.Context(), at), m, "")
	if err != nil {
		t.Fatal(err)
	}
	m.Urgent, m.Title, m.Lines = true, "lab/i-one: released", []string{"模型训练已经结束。" + strings.Repeat("费用两千三百元，预算两千四百元。", 5), "gone at 18:00:00, proven by two reads"}
	if _, err := p.Post(guard.WithInstant(t.Context(), at), m, root.Thread); err != nil {
		t.Fatal(err)
	}
	const want = `
guard  18:00:00
▌ lab/i-one: one box ends in 1h
▌ lora 70b, of ana
▌ spend 2310.00 CNY of 2400.00 CNY

   guard  18:00:00  ↳ lab/i-one: one box ends in 1h
   ▌ lab/i-one: released
   ▌ 模型训练已经结束。费用两千三百元，预算两千四百元。费用两千三百元，预算两
   ▌   千四百元。费用两千三百元，预算两千四百元。费用两千三百元，预算两千四百元
   ▌   。费用两千三百元，预算两千四百元。
   ▌ gone at 18:00:00, proven by two reads
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d cells wide: %q", n, line)
		}
	}
}

// A log that cannot be written has told nobody.
func TestBrokenWriter(t *testing.T) {
	r, w := io.Pipe()
	_ = r.CloseWithError(errors.New("disk full"))
	for _, c := range []notifytest.Channel{New(slog.New(slog.NewTextHandler(w, nil))), NewPretty(w, "slack", nil, true)} {
		_, err := c.Post(t.Context(), notifytest.Message(c.Name(), "one"), "")
		notifytest.Kind(t, err, guard.ErrUncertain)
	}
}

// TestLinesStandApart: in a text log, too, where one line of a message ends can
// be seen.
func TestLinesStandApart(t *testing.T) {
	var out buffer
	c := New(slog.New(slog.NewTextHandler(&out, nil)))
	if _, err := c.Post(t.Context(), guard.Message{ID: "m", Title: "i-1 ends", Lines: []string{"It bills.", "To keep it: guard extend"}}, ""); err != nil {
		t.Fatal(err)
	}
	if want := `lines="It bills. | To keep it: guard extend"`; !strings.Contains(out.String(), want) {
		t.Errorf("%s says nothing of %s", out.String(), want)
	}
}
