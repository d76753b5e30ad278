package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/providers"
)

// maxLine bounds a line of the program, in bytes: a thousand machines fit into one.
const maxLine = 16 << 20

// The calls of the protocol.
const (
	callHello    = "hello"
	callIdentity = "identity"
	callList     = "list"
	callGet      = "get"
	callRelease  = "release"
	callStop     = "stop"
	callTag      = "tag"
	callBalance  = "balance"
	callCharges  = "charges"
)

// request is one line to the program.
type request struct {
	V    int    `json:"v"`
	ID   int    `json:"id"`
	Call string `json:"call"`
	Args any    `json:"args"`
}

// reply is one line of the program.
type reply struct {
	V      providers.Field `json:"v"`
	ID     providers.Field `json:"id"`
	Result providers.Field `json:"result"`
	Error  providers.Field `json:"error"`
}

// refusal is what stands in a reply for a call that failed.
type refusal struct {
	Kind       providers.Field `json:"kind"`
	RetryAfter providers.Field `json:"retry_after"`
}

// words are the kinds of a refusal, and what a person can make of each.
var words = map[string]struct {
	kind error
	says string
}{
	"invalid":     {guard.ErrInvalid, "it does not accept the request"},
	"not_found":   {guard.ErrNotFound, "it knows no such thing"},
	"conflict":    {guard.ErrConflict, "another operation or state stands in the way; guard tries again"},
	"refused":     {guard.ErrRefused, "its provider refuses; look at the account's balance and standing"},
	"permission":  {guard.ErrPermission, "its credentials may not do that; check them and their permissions"},
	"protected":   {guard.ErrProtected, "the provider's own protection is on; lift it there if this should go"},
	"throttled":   {guard.ErrThrottled, "too many calls; guard slows down"},
	"unavailable": {guard.ErrUnavailable, "its provider failed; guard tries again"},
	"uncertain":   {guard.ErrUnavailable, "its provider's answer was lost; guard looks before it tries again"},
	"unsupported": {guard.ErrUnsupported, "it cannot do that"},
}

// failure is why a call has no result, in words of ours: nothing that the program said is
// in it.
type failure struct {
	program, call, what string
	kinds               []error
	open                bool // whether it was done is not known
	broken              bool // what it says next cannot be relied on: it is ended
	passing             bool // worth another try at once
	after               time.Duration
}

// Error is "list by fleet.py: unavailable: …".
func (f *failure) Error() string {
	return fmt.Sprintf("%s by %s: %v: %s", f.call, f.program, f.kinds[0], f.what)
}

// Unwrap gives the kinds.
func (f *failure) Unwrap() []error { return f.kinds }

// talk is a program that runs, and the lines to and from it.
type talk struct {
	conn
	lines *bufio.Reader
	last  int // the number of the last request

	once   sync.Once
	how    string
	itself bool
}

func newTalk(c conn) *talk { return &talk{conn: c, lines: bufio.NewReaderSize(c, 64<<10)} }

// end ends the program, once, and tells how it ended, and whether it had by itself.
func (t *talk) end() (how string, itself bool) {
	t.once.Do(func() { t.how, t.itself = t.conn.end() })
	return t.how, t.itself
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// exchange sends a request and gives the result of its reply.
func (t *talk) exchange(ctx context.Context, timeout time.Duration, call string, args any) (providers.Field, *failure) {
	if t.early() {
		f := bad(true, "it printed more than its answer; each request has one reply, in its turn")
		f.open = false
		return nil, f
	}
	t.last++
	line, err := json.Marshal(request{Version, t.last, call, args})
	if err != nil {
		return nil, &failure{what: "the request has no JSON form", kinds: []error{guard.ErrInvalid}}
	}
	if err := t.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, t.ended()
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = t.SetDeadline(past) // of a program that has ended: nothing waits
	})
	defer func() {
		if !stop() {
			<-over // else it might end the next exchange
		}
	}()
	if _, err := t.Write(append(line, '\n')); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, t.late(ctx, timeout, false)
		}
		return nil, t.ended()
	}
	line, err = t.line()
	var f *failure
	switch {
	case err == nil:
		return t.read(line)
	case errors.Is(err, errTooLong):
		f = bad(true, "its answer is longer than %d MiB; it was ended", maxLine>>20)
	case errors.Is(err, os.ErrDeadlineExceeded):
		f = t.late(ctx, timeout, len(line) > 0)
	default:
		f = t.ended()
		if len(line) > 0 {
			f.what = "it ended in the middle of an answer (" + t.how + ")"
		}
	}
	f.open = true
	return nil, f
}

// glance is how long it is looked for what was printed too early, where the kernel does not
// tell what there is.
const glance = 100 * time.Microsecond

// early reports whether the program has printed what nobody asked for: it would be taken for
// the answer to the next request.
func (t *talk) early() bool {
	if t.unread() {
		return true
	}
	if t.SetDeadline(time.Now().Add(glance)) != nil {
		return false // it has ended, which the write tells
	}
	_, err := t.lines.Peek(1)
	return err == nil
}

// bad is the failure of a call whose reply is none that the protocol has.
func bad(broken bool, format string, args ...any) *failure {
	return &failure{what: fmt.Sprintf(format, args...), kinds: []error{guard.ErrBadReply}, open: true, broken: broken}
}

// late is the failure of a call that took too long, or that nobody waits for any more; begun
// tells that an answer had begun.
func (t *talk) late(ctx context.Context, timeout time.Duration, begun bool) *failure {
	f := &failure{kinds: []error{guard.ErrUnavailable}, broken: true}
	how, itself := t.end()
	switch err := ctx.Err(); {
	case err != nil:
		f.what = "it gave no answer in time; it was ended"
		f.kinds = append(f.kinds, err)
	case itself:
		f.what = "it ended without an answer (" + how + "), and something that it started held its output open"
	case begun:
		f.what = fmt.Sprintf("it began an answer and did not end its line within %s; it was ended", timeout)
	default:
		f.what = fmt.Sprintf("it gave no answer within %s; it was ended", timeout)
	}
	return f
}

// ended is the failure of a call whose program is there no more.
func (t *talk) ended() *failure {
	how, _ := t.end()
	return &failure{what: "it ended without an answer (" + how + ")", kinds: []error{guard.ErrUnavailable}, broken: true, passing: true}
}

var errTooLong = errors.New("too long a line")

// line reads a line of the program, without its end.
func (t *talk) line() ([]byte, error) {
	var line []byte
	for {
		part, err := t.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errTooLong
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// read takes the result out of a reply.
func (t *talk) read(line []byte) (providers.Field, *failure) {
	var r reply
	if json.Unmarshal(line, &r) != nil || r.V == nil && r.ID == nil {
		return nil, bad(true, "it printed a line that is no reply in JSON; only replies, each of one line, may stand on its standard output")
	}
	if v, ok := r.V.Count(1 << 20); !ok || v != Version {
		other := "no version"
		if ok {
			other = fmt.Sprintf("version %d", v)
		}
		return nil, bad(true, "its reply is of %s of the protocol, and guard speaks version %d", other, Version)
	}
	switch id, ok := r.ID.Count(1 << 50); {
	case !ok:
		return nil, bad(true, "its reply has no id that is a number; it has to be that of the request")
	case int(id) != t.last:
		return nil, bad(true, "it answered another request than the one that was made; each has one reply, in its turn")
	}
	switch {
	case r.Error.Null() && r.Result.Null():
		return nil, bad(false, "its reply has neither a result nor an error")
	case r.Error.Null():
		return r.Result, nil
	case !r.Result.Null():
		return nil, bad(false, "its reply has both a result and an error")
	}
	var no refusal
	if !r.Error.Into(&no) {
		return nil, bad(false, "its error is no object with a kind")
	}
	word := no.Kind.Text(maxWord)
	known, ok := words[word]
	if !ok {
		return nil, bad(false, "its error is of no kind that the protocol has")
	}
	f := &failure{what: known.says, kinds: []error{known.kind}, after: wait(no.RetryAfter)}
	if word == "uncertain" {
		f.kinds = append(f.kinds, guard.ErrUncertain)
	}
	f.passing = word == "unavailable" && f.after == 0
	return nil, f
}

// wait is how long a refusal asks to wait, in seconds, an hour at most; 0 where it does not.
func wait(f providers.Field) time.Duration {
	switch s := f.Gauge().Or(0); {
	case s <= 0:
		return 0
	case s >= time.Hour.Seconds():
		return time.Hour
	default:
		return max(time.Duration(s*float64(time.Second)), time.Millisecond)
	}
}

// names are the words of a list, each once.
func names(f providers.Field, most int) []string {
	var list []providers.Field
	f.Into(&list)
	var out []string
	for _, x := range list {
		if s, ok := x.ID(maxID); ok && strings.TrimSpace(s) != "" && !slices.Contains(out, s) && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}
