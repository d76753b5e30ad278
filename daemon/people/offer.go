package people

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// mostID bounds the ID of a message that is looked for, in bytes.
const mostID = 1024

// clicked is what comes of a click on a message's button, or of the form behind it.
func (v *visit) clicked(ctx context.Context) wire.ClickAnswer {
	l, err := v.look(ctx)
	if err != nil {
		v.Log.Error("a click was not looked up", "error", err.Error())
		return v.tell("guard cannot read its ledger now, so nothing was done. Try again in a minute.")
	}
	if len(l.messages) == 0 {
		return v.refuse(ctx, "unknown", "guard no longer has this message, so nothing was done. /guard ls shows how things are.")
	}
	if l.about.IsZero() {
		return v.refuse(ctx, "unknown", "This message is about no single thing that guard could act on. /guard ls shows how things are.")
	}
	v.about, v.lang = l.about.String(), l.messages[0].Lang
	if v.click.Offer == string(guard.ClickWhy) && offers(l.messages, guard.ClickWhy) {
		return v.why(ctx, l.about) // it changes nothing, and tells how things are now
	}
	m, o, ok := offered(l.messages, v.click)
	once, before := l.once(v.click, m.CreatedAt)
	switch {
	case before != nil:
		return v.already(ctx, *before)
	case !ok:
		return v.stale(ctx, "stale")
	case !o.Until.IsZero() && !o.Until.After(v.at.Wall):
		return v.refuse(ctx, "over", "This button counted until %s, so nothing was done. The newest message in the thread has those that count now.", v.stamp(o.Until))
	case !policy.Good(l.facts, o.Click, o.Key):
		return v.stale(ctx, "changed")
	}
	return v.carryOut(ctx, m, o, l, once)
}

// seen is what a click is judged by, all read at one moment.
type seen struct {
	// messages are what the ledger has under the ID of the click's message, the newest
	// first.
	messages []guard.Message
	about    guard.ResourceID // zero where it is about no single thing
	facts    policy.Facts     // as far as policy.Good goes
	done     []guard.Clicked
}

// look reads the ledger. A message of another channel is none.
func (v *visit) look(ctx context.Context) (seen, error) {
	var s seen
	if len(v.click.Message) > mostID {
		return s, nil
	}
	err := v.Ledger.View(ctx, func(view *store.View) error {
		s = seen{facts: policy.Facts{At: v.at.Wall}}
		for _, t := range []store.Table[guard.Message]{view.Outbox, view.SentMessages} {
			m, ok, err := t.Get(v.click.Message)
			if err != nil {
				return err
			}
			if ok && m.Channel == v.click.Channel {
				s.messages = append(s.messages, m)
			}
		}
		if len(s.messages) == 0 {
			return nil
		}
		if _, err := view.Value(guard.ClicksName, &s.done); err != nil {
			return err
		}
		s.about = subject(s.messages[0])
		return s.gather(view)
	})
	return s, err
}

// gather reads what a click could change.
func (s *seen) gather(view *store.View) error {
	if s.about.IsZero() {
		return nil
	}
	key := s.about.Key()
	if o, ok, err := view.Observed.Get(key); err != nil {
		return err
	} else if ok {
		s.facts.Observed = &o
	}
	if l, ok, err := view.LeaseOf(key); err != nil {
		return err
	} else if ok {
		s.facts.Lease = &l
	}
	if r, ok, err := view.Releases.Get(key); err != nil {
		return err
	} else if ok {
		s.facts.Release = &r
	}
	for _, kind := range []guard.MuteKind{guard.Veto, guard.Snooze} {
		for m, err := range view.Mutes.All(string(kind) + "|" + s.about.String() + "|") {
			if err != nil {
				return err
			}
			s.facts.Mutes = append(s.facts.Mutes, m)
		}
	}
	return nil
}

// subject is the one thing that a message is about; zero where it is about none, or many.
func subject(m guard.Message) guard.ResourceID {
	for _, id := range m.About {
		if len(m.About) == 1 || id.Key() == m.Thread {
			return id
		}
	}
	return guard.ResourceID{}
}

// once is the key of a click, by which it is carried out once, and the one that was under
// it before. Two messages that offer the same in the same state have the same key. The
// state may come again, as when a snooze is over: a message that was written after a
// click offers it anew.
func (s *seen) once(c wire.Click, written time.Time) (key string, before *guard.Clicked) {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Offer, s.about.Key(), c.Key}, "\x00")))
	base := hex.EncodeToString(sum[:16]) + "-"
	n := 0
	for i, d := range s.done {
		switch {
		case !strings.HasPrefix(d.Key, base):
		case written.After(d.At):
			n++
		default:
			before = &s.done[i]
		}
	}
	return base + strconv.Itoa(n), before
}

func offers(messages []guard.Message, c guard.Click) bool {
	return slices.ContainsFunc(messages, func(m guard.Message) bool {
		return slices.ContainsFunc(m.Offers, func(o guard.Offer) bool { return o.Click == c })
	})
}

// offered is the message and the offer that was clicked; zero ones where none has it.
// Whoever clicks may send any value, so it counts only as far as the message has it.
func offered(messages []guard.Message, c wire.Click) (guard.Message, guard.Offer, bool) {
	for _, m := range messages {
		nth := 0
		for _, o := range m.Offers {
			if string(o.Click) != c.Offer || o.Key != c.Key || o.Key == "" {
				continue
			}
			if nth++; nth >= c.Nth {
				return m, o, true
			}
		}
	}
	return guard.Message{}, guard.Offer{}, false
}

func (v *visit) already(ctx context.Context, c guard.Clicked) wire.ClickAnswer {
	return v.refuse(ctx, "twice", "Done already, by %s at %s; nothing was done again.", c.By, v.stamp(c.At))
}

func (v *visit) stale(ctx context.Context, kind string) wire.ClickAnswer {
	return v.refuse(ctx, kind, "Things have changed with %s since this button was shown, so nothing was done. The newest message in the thread has those that count now.", v.about)
}

// carryOut does what was offered, as whoever clicked, or asks what it still needs.
func (v *visit) carryOut(ctx context.Context, m guard.Message, o guard.Offer, l seen, once string) wire.ClickAnswer {
	api := v.As(v.who, v.click.Channel, v.click.User, once)
	name := l.about.String()
	if o.Click == guard.ClickRelease {
		return v.release(ctx, api, name, once)
	}
	if o.Click == guard.ClickRegister {
		return v.registered(ctx, "", l.about, once)
	}
	form := v.formOf(o, name, l.facts.Lease != nil && l.facts.Lease.Budget.IsSet())
	if form != nil && v.click.Form == nil {
		return wire.ClickAnswer{Text: form.About, Ask: form}
	}
	ahead, until, budget := span(o.For), "", ""
	if form != nil {
		var wrong map[string]string
		if ahead, until, budget, wrong = v.length(form); wrong != nil {
			return wire.ClickAnswer{Text: v.say("Nothing was done yet."), Wrong: wrong}
		}
	}
	var out wire.Changed
	var err error
	switch o.Click {
	case guard.ClickExtend:
		out, err = api.Extend(ctx, wire.ExtendRequest{ID: name, By: ahead, Until: until, Budget: budget})
	case guard.ClickHold:
		out, err = api.Hold(ctx, wire.HoldRequest{ID: name, For: ahead, Until: until})
	case guard.ClickVeto:
		out, err = api.Veto(ctx, wire.MuteRequest{ID: name, Rule: vetoed(m), For: ahead, Until: until})
	case guard.ClickSnooze:
		out, err = api.Snooze(ctx, wire.MuteRequest{ID: name, For: ahead, Until: until})
	case guard.ClickAck:
		out, err = api.Ack(ctx, wire.MuteRequest{ID: name, For: ahead, Until: until})
	default:
		return v.refuse(ctx, "unknown", "guard does not know this button, so nothing was done. The command line works too: guard help")
	}
	if err != nil {
		return v.failed(ctx, err, form, once)
	}
	return v.changed(o.Click, out)
}

// changed says what a change came to.
func (v *visit) changed(c guard.Click, out wire.Changed) wire.ClickAnswer {
	answer := wire.ClickAnswer{Done: true, Lines: out.Notes}
	item := out.Item
	if len(out.Changes) == 0 {
		answer.Text = v.say("Nothing was to be changed with %s.", v.about)
		return answer
	}
	last := out.Changes[len(out.Changes)-1].To
	switch c {
	case guard.ClickExtend:
		answer.Text = v.extended(out)
	case guard.ClickHold:
		if item.HeldUntil != nil {
			last = v.stamp(*item.HeldUntil)
		}
		answer.Text = v.say("Done: %s is held until %s; a ceiling does not wait for that.", v.about, last)
	case guard.ClickVeto:
		answer.Text = v.say("Done: what was coming for %s does not come before %s; a ceiling does.", v.about, last)
	case guard.ClickSnooze:
		answer.Text = v.say("Done: until %[2]s only what is urgent is told about %[1]s.", v.about, last)
	case guard.ClickAck:
		answer.Text = v.say("Done: you see to %s; until %s nobody else is called for it.", v.about, last)
	}
	return answer
}

// extended says until when something may be used, and what it may cost, where that is new.
func (v *visit) extended(out wire.Changed) string {
	var said []string
	for _, c := range out.Changes {
		switch {
		case c.Field == "budget":
			said = append(said, v.say("Done: %s may cost %s now.", v.about, c.To))
		case c.Field == "expires_at" && out.Item.ExpiresAt != nil:
			said = append(said, v.say("Done: %s is yours to use until %s now.", v.about, v.stamp(*out.Item.ExpiresAt)))
		}
	}
	return strings.Join(said, v.say(" "))
}

// why is the lines of guard why.
func (v *visit) why(ctx context.Context, id guard.ResourceID) wire.ClickAnswer {
	out, err := v.As(v.who, v.click.Channel, v.click.User, "").Why(guard.WithLang(ctx, v.lang), id.String())
	if err != nil {
		return v.failed(ctx, err, nil, "")
	}
	return wire.ClickAnswer{Done: true, Text: v.say("Why guard does what it does about %s:", v.about), Lines: out.Lines}
}
