package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/notify/notifytest"
	"guard/providers/fake"
	"guard/store"
	"guard/store/memory"
	"guard/store/samples"
)

// booted is how long the machine had been up when a story begins.
const booted = time.Hour

// mostSteps is how often loops may run at one moment before a story is given up.
const mostSteps = 20_000

// Command is one command line of a story, to be run inside this process.
type Command struct {
	Args      []string // the program first: guard or guardd
	Out, Err  io.Writer
	Transport http.RoundTripper // the way to the story's daemon
}

// Options are what a story is played with.
type Options struct {
	// Run runs the command lines of people and returns their exit status.
	Run func(ctx context.Context, c Command) int
	// Seed fixes what is random: the ledger's deployment ID.
	Seed int64
	// Log is what the daemon logs; nil: nothing.
	Log *slog.Logger
	// Stage is where people watch the story; nil: it is played as fast as it goes.
	Stage *Stage
}

// Failure is an expectation that does not hold, or what went wrong besides.
type Failure struct {
	Line int // in the file; 0: the story as a whole
	Text string
}

// Result is what came of a story.
type Result struct {
	Events   []Event
	Failures []Failure
	Passed   int // expectations that hold, commands that were checked included
	History  *History
}

// runner plays one story.
type runner struct {
	story     *Story
	o         Options
	log       *slog.Logger
	book      *book
	ledger    ledgerBook
	rehearsal configs.Rehearsal // in force
	backend   *memory.Backend
	samples   *samples.Store // as the ledger, it is there after a crash
	clouds    map[string]*cloud
	order     []string // names of clouds
	slack     *notifytest.Slack
	socket    *notifytest.Socket // before it

	now    time.Duration // the story's: the cloud's
	clock  time.Duration // how far guard's wall clock is off
	asleep time.Duration // until when the machine sleeps
	life   *life         // nil: down
	agenda []action
	fired  map[int]bool // crash points that were met, by index
	back   *time.Duration

	mu       sync.Mutex
	calls    []call
	posts    []posting
	ran      []Ran
	down     []Stretch
	failures []Failure
	passed   int
}

type cloud struct {
	*fake.Cloud
	scopes  []string
	drained int
}

// The order of what happens at one moment; the cloud moves before all of it.
const (
	bySaying = iota
	byDaemon
	byPeople
	byReader
)

// action is something that happens at a moment of the story.
type action struct {
	at    time.Duration
	phase int
	do    func(ctx context.Context)
}

// Run plays the story. The error is one of the machinery; what does not hold is in
// the Result.
func (s *Story) Run(ctx context.Context, o Options) (*Result, error) {
	r := &runner{story: s, o: o, log: o.Log, book: &book{start: s.start, zone: s.zone}, ledger: newLedgerBook(),
		rehearsal: s.rehearsal, backend: memory.New(), samples: samples.Memory(), clouds: map[string]*cloud{}, fired: map[int]bool{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if err := r.found(ctx); err != nil {
		return nil, err
	}
	for _, a := range s.accounts {
		script := a.script
		script.Time = func(at guard.Instant) time.Time { return s.start.Add(at.Elapsed - booted) }
		c, err := fake.NewCloud(script)
		if err != nil {
			return nil, err
		}
		scopes := script.Scopes
		if len(scopes) == 0 {
			scopes = []string{"default"}
		}
		r.clouds[a.name] = &cloud{Cloud: c, scopes: scopes}
		r.order = append(r.order, a.name)
	}
	r.slackFaults()
	r.plan()
	if err := r.play(ctx, s.length); err != nil {
		return nil, err
	}
	result := r.result()
	if st := o.Stage; st != nil && st.Ended(result) {
		// It ends when whoever watches has seen enough.
		if err := r.play(ctx, forever); !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if r.life != nil {
		r.life.kill()
		r.life.cancel()
	}
	return result, nil
}

// found writes the ledger's first record, so that its random ID is the seed's.
func (r *runner) found(ctx context.Context) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "deployment %d", r.o.Seed))
	meta, err := json.Marshal(map[string]any{"schema": store.Schema(), "deployment": hex.EncodeToString(sum[:16]), "created": r.story.start.UTC()})
	if err != nil {
		return err
	}
	return r.backend.Update(ctx, func(w store.Writer) error { return w.Put("meta", "schema", meta) })
}

func (r *runner) slackFaults() {
	r.slack = notifytest.NewSlack(slackToken, slackChannel)
	r.socket = notifytest.NewSocket(r.slack, slackAppToken)
	start := r.story.start
	for _, f := range r.story.raw.Channels.Slack.Faults {
		out := notifytest.Fault{Times: f.Times.n, Stored: f.Reply.stored, TimesOut: f.Reply.timesOut, Refused: f.Reply.refused,
			Error: string(f.Reply.Error), Status: f.Reply.Status.n, RetryAfter: time.Duration(f.Reply.RetryAfter.n) * time.Second, Body: string(f.Reply.Body)}
		if f.From.set {
			out.From = start.Add(f.From.from(start))
		}
		if f.For.set {
			out.Until = start.Add(f.From.from(start) + f.For.Duration)
		}
		r.slack.Inject(out)
	}
}

// offset is the present moment of the story.
func (r *runner) offset() time.Duration { return r.now }

// instant is what guard's machine tells now.
func (r *runner) instant() guard.Instant {
	return guard.Instant{Wall: r.story.start.Add(r.now + r.clock).UTC(), Elapsed: booted + r.now}
}

// at plans an action behind those of the same moment and phase.
func (r *runner) at(at time.Duration, phase int, do func(ctx context.Context)) {
	a := action{at, phase, do}
	i, _ := slices.BinarySearchFunc(r.agenda, a, func(x, y action) int {
		if c := cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.phase, y.phase)); c != 0 {
			return c
		}
		return -1
	})
	r.agenda = slices.Insert(r.agenda, i, a)
}

// play lets the time of the story pass, up to and with its end.
func (r *runner) play(ctx context.Context, end time.Duration) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := r.next(end)
		if next > end {
			break
		}
		if r.o.Stage != nil && !r.o.Stage.wait(ctx, r, next) {
			continue // somebody came, and may have changed what is next
		}
		r.reach(next)
		for len(r.agenda) > 0 && r.agenda[0].at <= r.now && r.agenda[0].phase <= byDaemon {
			r.perform(ctx)
		}
		r.settle()
		for len(r.agenda) > 0 && r.agenda[0].at <= r.now && r.agenda[0].phase > byDaemon {
			r.perform(ctx)
			r.settle()
		}
	}
	return nil
}

// reach moves the clouds, and with them the story, to a moment.
func (r *runner) reach(at time.Duration) {
	r.now = max(r.now, at)
	for _, c := range r.clouds {
		c.Advance(r.story.start.Add(r.now))
	}
}

func (r *runner) perform(ctx context.Context) {
	a := r.agenda[0]
	r.agenda = r.agenda[1:]
	a.do(ctx)
	r.bury()
}

// next is when something happens next; after the end where nothing does.
func (r *runner) next(end time.Duration) time.Duration {
	next := end + 1
	if len(r.agenda) > 0 {
		next = min(next, r.agenda[0].at)
	}
	if r.life != nil {
		if at, ok := r.life.daemon.Scheduler().Next(); ok {
			next = min(next, max(at.Elapsed-booted, r.asleep, r.now))
		}
	}
	return next
}

// settle lets the daemon do all that is due now.
func (r *runner) settle() {
	for steps := 0; r.life != nil && r.now >= r.asleep; steps++ {
		if steps > mostSteps {
			r.fail(0, "at %s the daemon does not come to rest", offsetText(r.now))
			r.life.kill()
			r.bury()
			return
		}
		ran := r.life.daemon.Scheduler().RunDue(r.life.ctx, r.instant())
		r.drain()
		r.bury()
		if !ran {
			return
		}
	}
}

// bury ends a life that a crash point has killed.
func (r *runner) bury() {
	if r.life == nil || !r.life.dead() {
		return
	}
	r.life.cancel()
	r.life = nil
	r.crashed()
}

// crashed notes a crash, and plans the next start where the story has one.
func (r *runner) crashed() {
	r.book.add(r.now, Event{Event: evDaemonCrashed})
	r.down = append(r.down, Stretch{r.now, r.story.length})
	back := r.back
	r.back = nil
	if back != nil {
		r.at(r.now+*back, byDaemon, r.restart)
	}
}

func (r *runner) restart(ctx context.Context) {
	if r.life != nil {
		return
	}
	if err := r.boot(ctx); err != nil {
		r.fail(0, "the daemon does not start at %s: %v", offsetText(r.now), err)
	}
}

// crashAt kills a life that has met a crash point. The caller holds l.commit.
func (r *runner) crashAt(l *life, state, id string) {
	for i, e := range r.story.raw.Daemon {
		if r.fired[i] || string(e.CrashAt) != state || e.ID != "" && string(e.ID) != id || e.At.set && r.now < e.at {
			continue
		}
		r.fired[i] = true
		r.planBack(e)
		l.kill()
		return
	}
}

func (r *runner) planBack(e daemonEvent) {
	if e.BackAfter.set {
		r.back = &e.back
	}
}

func (r *runner) fail(line int, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, Failure{line, fmt.Sprintf(format, args...)})
}

func (r *runner) pass() { r.passed++ }

// call is one request to a cloud.
type call struct {
	at      time.Duration
	account string
	fake.Call
}

// drain takes new calls over from the clouds' own records.
func (r *runner) drain() {
	for _, name := range r.order {
		c := r.clouds[name]
		for _, x := range c.CallsSince(c.drained) {
			c.drained++
			at := x.At.Sub(r.story.start)
			r.calls = append(r.calls, call{at, name, x})
			e := Event{Event: evProviderCall, Account: name, Call: x.Call, Kind: string(x.Kind), Text: x.Outcome}
			if len(x.IDs) == 1 {
				e.ID = name + "/" + x.IDs[0]
			} else if len(x.IDs) > 1 {
				e.Text += fmt.Sprintf(" (%d things)", len(x.IDs))
			}
			if x.Status >= 400 {
				e.Text = strings.TrimSpace(fmt.Sprintf("%d %s", x.Status, e.Text))
			}
			r.book.add(at, e)
		}
	}
}

// posting is one request to post, and what came of it.
type posting struct {
	at       time.Duration
	channel  string
	message  guard.Message
	text     string // all that people can read, as it was sent and as they read it
	sent     string // as it was sent, escapes included
	requests int
	stored   bool
}

// posted notes what a channel was given. Channels post at the same time.
func (r *runner) posted(channel string, m guard.Message, text string, requests int, stored, acked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	read := m.Title + "\n" + strings.Join(m.Lines, "\n")
	sent := cmp.Or(text, read)
	r.posts = append(r.posts, posting{r.now, channel, m, text + "\n" + read, sent, requests, stored})
	if !stored {
		return
	}
	e := messageEvent(evMessageSent, m)
	if !acked {
		e.Reason = "not acknowledged"
	}
	r.book.add(r.now, e)
}
