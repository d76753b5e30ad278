package simulate

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"guard"
	"guard/daemon"
	"guard/daemon/api"
	"guard/daemon/client"
)

// admin is who calls where a command names nobody.
const admin = "admin"

// plan puts on the agenda what the file says happens.
func (r *runner) plan() {
	s := r.story
	first, refusal := true, refusal{}
	for _, e := range s.raw.Daemon {
		if e.Start && e.at == 0 && e.At.set {
			refusal = e.Fails
			first = !e.Fails.set
		}
	}
	r.at(0, byDaemon, func(ctx context.Context) { r.first(ctx, first, refusal) })
	for _, e := range s.raw.Daemon {
		switch {
		case e.Crash:
			r.at(e.at, byDaemon, func(context.Context) {
				if r.life != nil {
					r.planBack(e)
					r.life.kill()
				}
			})
		case e.ClockJump.Duration != 0:
			r.at(e.at, byDaemon, func(context.Context) {
				r.clock += e.ClockJump.Duration
				r.book.add(r.now, Event{Event: evClockStepped, Text: "guard's clock is " + offsetText(r.clock) + " off"})
			})
		case e.Suspend.Duration > 0:
			r.at(e.at, byDaemon, func(context.Context) { r.sleep(e.Suspend.Duration) })
		case e.Reload != nil:
			r.at(e.at, byDaemon, func(ctx context.Context) { r.reload(ctx, e) })
		case e.Start && e.at > 0:
			r.at(e.at, byDaemon, r.restart)
		case e.Restore.set:
			var backup bytes.Buffer
			r.at(e.from, byReader, func(ctx context.Context) {
				if err := r.backend.Backup(ctx, &backup); err != nil {
					r.fail(e.node.Line(), "no backup at %s: %v", offsetText(r.now), err)
				}
			})
			r.at(e.at, byDaemon, func(ctx context.Context) { r.restore(ctx, e, &backup) })
		}
	}
	for _, c := range s.raw.Commands {
		if c.Say != "" {
			r.at(c.at, bySaying, func(context.Context) { r.say(string(c.Say)) })
		}
		if c.Run != "" {
			r.at(c.at, byPeople, func(ctx context.Context) { r.command(ctx, c) })
		}
		if c.Slack != nil {
			r.at(c.at, byPeople, func(ctx context.Context) { r.gesture(ctx, c) })
		}
	}
	r.planExpectations()
}

// first is the daemon's start with the story.
func (r *runner) first(ctx context.Context, must bool, want refusal) {
	err := r.boot(ctx)
	switch {
	case err == nil && !must:
		r.fail(0, "the daemon starts, and it should be refused")
	case err != nil && must:
		r.fail(0, "the daemon does not start: %v", err)
	case err != nil && !has(err.Error(), want.text):
		r.fail(0, "the daemon does not start, as it should, but without %q: %v", want.text, err)
	case err != nil:
		r.pass()
	}
}

func (r *runner) sleep(d time.Duration) {
	r.asleep = max(r.asleep, r.now+d)
	r.book.add(r.now, Event{Event: evDaemonSuspended, Text: "the machine sleeps for " + offsetText(d)})
	r.at(r.asleep, byDaemon, func(context.Context) { r.book.add(r.now, Event{Event: evDaemonWoke}) })
}

func (r *runner) reload(ctx context.Context, e daemonEvent) {
	if r.life != nil && r.now < r.asleep {
		// The signal waits for the machine to wake.
		r.at(r.asleep, byDaemon, func(ctx context.Context) { r.reload(ctx, e) })
		return
	}
	before := r.rehearsal
	r.rehearsal = r.story.reloaded(*e.Reload)
	if r.life == nil {
		return // read at the next start
	}
	out, err := r.life.daemon.ReloadBy(ctx, r.life.daemon.Time(), api.Caller{Name: "guard"}, e.Reload.Accept.n)
	if err == nil && !out.Done {
		err = daemon.RefusedReload(out)
	}
	r.drain()
	line, want := e.node.Line(), e.Reload.Fails
	if err != nil {
		r.rehearsal = before
		r.book.add(r.now, Event{Event: evReloaded, State: "refused", Text: err.Error()})
	} else {
		r.book.add(r.now, Event{Event: evReloaded})
	}
	switch {
	case err != nil && !want.set && !e.MayFail:
		r.fail(line, "the reload is refused: %v", err)
	case err == nil && want.set:
		r.fail(line, "the reload is taken, and it should be refused")
	case err != nil && !has(err.Error(), want.text):
		r.fail(line, "the reload is refused, as it should, but without %q: %v", want.text, err)
	case want.set:
		r.pass()
	}
}

// transport is a person's way to the daemon.
func (r *runner) transport(user string) http.RoundTripper {
	return transportFunc(func(req *http.Request) (*http.Response, error) {
		if r.life == nil || r.now < r.asleep {
			return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
		}
		return client.InProcess(api.As(r.caller(user), r.life.daemon.Handler())).RoundTrip(req)
	})
}

// caller is a person with the role that the story gives them; to whom it gives none
// is an admin.
func (r *runner) caller(user string) api.Caller {
	c := api.Caller{Name: user, Role: guard.Admin}
	for _, p := range r.story.raw.People {
		if string(p.Name) == user && p.Role != "" {
			c.Role = guard.Role(p.Role)
		}
	}
	return c
}

type transportFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// run runs a command line as a person.
func (r *runner) run(ctx context.Context, user string, args []string) (status int, out, errOut string) {
	if user == "" {
		user = admin
	}
	if own := r.rehearsal.File; args[0] == "guardd" && len(args) == 2 && args[1] == "check" && own != "" {
		args = append(args[:2:2], "--config", own)
	}
	var stdout, stderr bytes.Buffer
	status = r.o.Run(ctx, Command{Args: args, Out: &stdout, Err: &stderr, Transport: r.transport(user)})
	r.drain()
	return status, stdout.String(), stderr.String()
}

// say tells whoever watches what no event shows.
func (r *runner) say(text string) {
	r.book.add(r.now, Event{Event: evSaid, Text: text})
	if st := r.o.Stage; st != nil {
		st.Said(r.now, text)
	}
}

// command is what a person types, and whether it went as the file says.
func (r *runner) command(ctx context.Context, c command) {
	asked := r.life
	status, out, errOut := r.run(ctx, string(c.User), c.args)
	who := string(c.User)
	if who == "" {
		who = admin
	}
	e := Event{Event: evCommand, Text: who + ": " + string(c.Run)}
	if status != 0 {
		e.State = "failed"
		e.Reason = firstLine(errOut)
	}
	r.book.add(r.now, e)
	if st := r.o.Stage; st != nil {
		st.Ran(string(c.Run), out+errOut)
	}
	said := strings.TrimSpace(out + "\n" + errOut)
	r.ran = append(r.ran, Ran{r.now, string(c.Run), status, said, asked != nil && asked.dead()})
	how := ""
	if status != 0 {
		how = fmt.Sprintf("fails with status %d", status)
	}
	r.judge(c, string(c.Run), how, said, errOut)
}

// judge tells whether what a person did went as the file says: how it failed, "" where it
// worked; said is all that they were told, and why what of it tells why it failed.
func (r *runner) judge(c command, what, how, said, why string) {
	line, ok := c.node.Line(), true
	wrong := func(format string, args ...any) {
		ok = false
		r.fail(line, format, args...)
	}
	switch {
	case c.Fails.set && how == "":
		wrong("%s works, and it should fail", what)
	case c.Fails.set && !has(why, c.Fails.text):
		wrong("%s fails, as it should, but without %q:\n%s", what, c.Fails.text, indent(why))
	case !c.Fails.set && !c.MayFail && how != "":
		wrong("%s %s:\n%s", what, how, indent(why))
	}
	for _, p := range c.Prints {
		if !has(said, p) {
			wrong("%s does not print %q but:\n%s", what, p, indent(said))
		}
	}
	for _, p := range c.NotPrints {
		if has(said, p) {
			wrong("%s prints %q:\n%s", what, p, indent(said))
		}
	}
	if ok && (c.Fails.set || len(c.Prints)+len(c.NotPrints) > 0) {
		r.pass()
	}
}

// has reports whether a text contains another, in any case of letters.
func has(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}
