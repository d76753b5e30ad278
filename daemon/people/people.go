// Package people carries out what people do in a channel: clicks on the buttons of guard's
// messages, the forms behind them, and what is typed after /guard there.
//
// Nothing that comes with a click is believed but who clicked. What it means is read from
// the ledger: the message that offers it, and the present state of what that is about. It
// is carried out through the API as that person, whose rights, ceilings, journal and
// once-only keys are the API's own.
package people

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy/say"
	"guard/store"
)

// Person is who a user of a channel is.
type Person struct {
	// Name is what leases call them; the user's ID where the configuration gives no name.
	Name string
	Role guard.Role
}

// Verbs is the API as one caller has it.
type Verbs interface {
	Register(ctx context.Context, r wire.RegisterRequest) (wire.Registered, error)
	Extend(ctx context.Context, r wire.ExtendRequest) (wire.Changed, error)
	Hold(ctx context.Context, r wire.HoldRequest) (wire.Changed, error)
	Veto(ctx context.Context, r wire.MuteRequest) (wire.Changed, error)
	Snooze(ctx context.Context, r wire.MuteRequest) (wire.Changed, error)
	Ack(ctx context.Context, r wire.MuteRequest) (wire.Changed, error)
	Release(ctx context.Context, r wire.ReleaseRequest) (wire.ReleaseAnswer, error)
	Why(ctx context.Context, id string) (wire.Why, error)
	Report(ctx context.Context, lang guard.Lang) (wire.Report, error)
	// Live is everything that lives.
	Live(ctx context.Context) (wire.List, error)
}

// Config is what People work with. Functions are asked anew at each click.
type Config struct {
	Ledger *store.Ledger
	// Who is the person that a channel's user is; false for everybody who is not
	// configured.
	Who func(channel, user string) (Person, bool)
	// Lang is what a channel's people read.
	Lang func(channel string) guard.Lang
	Zone func() *time.Location
	// As is the API as that person has it; once is the key of a change that is made once.
	As  func(p Person, channel, user, once string) Verbs
	Log *slog.Logger
}

// People carries out what people do in channels. It is safe for concurrent use.
type People struct {
	Config
	refused *tally
}

// New makes a People.
func New(c Config) *People { return &People{c, newTally()} }

// Handle carries out one click at the time that guard goes by. It always has an answer:
// what cannot be done changes nothing, says why, and stands in the journal.
func (p *People) Handle(ctx context.Context, at guard.Instant, c wire.Click) (out wire.ClickAnswer) {
	v := &visit{People: p, at: at, click: bounded(c), lang: p.Lang(c.Channel)}
	defer func() {
		if r := recover(); r != nil {
			p.Log.Error("a click panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			out = v.tell("guard failed at this in a way it should not; its log has the details. The command line works too: guard help")
		}
	}()
	ctx = guard.WithInstant(ctx, at)
	var known bool
	if v.who, known = p.Who(v.click.Channel, v.click.User); !known {
		return v.refuse(ctx, "stranger", "guard does not know you here, so nothing was done. An admin can add your member ID, %s, under notify.%s.users.", v.click.User, v.click.Channel)
	}
	switch {
	case v.click.Message != "":
		return v.clicked(ctx)
	case v.click.Form != nil && v.click.Offer == string(guard.ClickRegister):
		return v.registered(ctx, v.click.Key, guard.ResourceID{}, "")
	}
	return v.command(ctx)
}

// visit is one click on its way.
type visit struct {
	*People
	at    guard.Instant
	click wire.Click
	who   Person
	lang  guard.Lang
	about string // ACCOUNT/ID, once it is known
}

// mostText bounds each text of a click, in bytes; a form's field has room for 3,000
// characters.
const mostText = 12_000

// bounded is a click of which no text is longer than anything that could count.
func bounded(c wire.Click) wire.Click {
	for _, s := range []*string{&c.User, &c.Message, &c.Offer, &c.Key, &c.State, &c.Command} {
		if len(*s) > mostText {
			*s = "too long"
		}
	}
	c.User = guard.Plain(c.User)
	return c
}

// say puts words into the language of whoever clicked.
func (v *visit) say(format string, args ...any) string { return say.In(v.lang, format, args...) }

// tell is an answer that nothing was changed for.
func (v *visit) tell(format string, args ...any) wire.ClickAnswer {
	return wire.ClickAnswer{Text: say.In(v.lang, format, args...)}
}

// refuse is an answer to what must not be done; kind tells refusals apart for the journal.
func (v *visit) refuse(ctx context.Context, kind, format string, args ...any) wire.ClickAnswer {
	v.note(ctx, kind, fmt.Sprintf(format, args...))
	return wire.ClickAnswer{Text: say.In(v.lang, format, args...)}
}

// note writes a refusal into the journal, unless there are too many.
func (v *visit) note(ctx context.Context, kind, why string) {
	missed, ok := v.refused.count(v.click.Channel+"|"+v.click.User, v.at)
	if !ok {
		return
	}
	e := guard.JournalEntry{At: v.at.Wall, Who: v.click.User, Verb: "click refused", Subject: v.about, Text: v.what() + ": " + why,
		Data: map[string]string{v.click.Channel + "_user": v.click.User, "kind": kind}}
	if v.who.Name != "" {
		e.Who = v.who.Name
	}
	if missed > 0 {
		e.Data["before"] = fmt.Sprintf("%d more refusals were not written down one by one", missed)
	}
	if err := v.Ledger.Update(ctx, func(tx *store.Tx) error { return tx.Journal(e) }); err != nil {
		v.Log.Error("a refused click is not in the journal", "user", v.click.User, "kind", kind, "error", err.Error())
	}
}

// what was clicked or typed, for the journal.
func (v *visit) what() string {
	const most = 80
	text := "/guard " + v.click.Command
	if v.click.Offer != "" {
		text = v.click.Offer
	}
	if r := []rune(guard.Plain(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return guard.Plain(text)
}
