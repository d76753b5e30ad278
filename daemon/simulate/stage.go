package simulate

import (
	"context"
	"net/http"
	"time"

	"guard/daemon/notify"
)

// forever is the end of a story that goes on until nobody watches.
const forever = longest

// Stage is where a story is played for people to watch, in step with real time.
// They can reach the story's daemon, too: a Stage is its API's handler.
type Stage struct {
	// Speed is how much faster than real time the story runs.
	Speed int
	// Channel shows the messages, beside Slack.
	Channel notify.Channel
	// Said is given what the story says, Ran each command line that was run with
	// all that it printed.
	Said func(offset time.Duration, text string)
	Ran  func(command, printed string)
	// Ended is given what came of the story. With true it goes on, without events
	// of its own, until the context of Run ends.
	Ended func(*Result) bool

	visits chan visit
	began  time.Time // in real time; zero before the story
}

// visit is a request from outside, to be served in its turn.
type visit struct {
	w    http.ResponseWriter
	req  *http.Request
	done chan struct{}
}

// NewStage makes a stage; its fields are to be set before the story runs.
func NewStage(speed int, channel notify.Channel) *Stage {
	return &Stage{Speed: speed, Channel: channel, visits: make(chan visit)}
}

// ServeHTTP lets the story's daemon answer between two things that happen: a story
// has one goroutine.
func (s *Stage) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	v := visit{w, req, make(chan struct{})}
	select {
	case s.visits <- v:
		<-v.done
	case <-req.Context().Done():
	}
}

// wait waits in real time for a moment of the story. It is false where somebody
// came before, or ctx ended.
func (s *Stage) wait(ctx context.Context, r *runner, until time.Duration) bool {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	speed := time.Duration(s.Speed)
	t := time.NewTimer(time.Until(s.began.Add(until / speed)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case v := <-s.visits:
		defer close(v.done)
		r.reach(min(until, speed*time.Since(s.began)))
		r.settle()
		if r.life == nil || r.now < r.asleep {
			http.Error(v.w, "the story's daemon does not run now", http.StatusServiceUnavailable)
			return false
		}
		r.life.daemon.Handler().ServeHTTP(v.w, v.req)
		r.drain()
		r.settle()
	case <-ctx.Done():
	}
	return false
}
