package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/policy"
	"guard/store"
)

// ticks is how often the amounts of a card are brought up to date: once in each turn of its
// subject.
const ticks = anyway - time.Minute

// cardID is the ID of the message that brings the card of a thread up to date.
func cardID(channel, thread string) string { return channel + "|card|" + thread }

// present is how a subject does, as people are shown it beside a text.
type present struct {
	policy.Facts
	card   *guard.Card // nil: it is no resource
	offers []guard.Offer
}

func (l *Loop) present(f policy.Facts, open []guard.Rule) present {
	return present{f, policy.Card(l.Rules, f, open), policy.Offers(l.Rules, f, open)}
}

// after is how a subject does once a change is made.
func (l *Loop) after(f policy.Facts, open []guard.Finding, c change) present {
	var rules []guard.Rule
	for _, rule := range spoken {
		is := func(o guard.Finding) bool { return o.Rule == rule }
		if (slices.ContainsFunc(open, is) || slices.ContainsFunc(c.put, is)) && !slices.ContainsFunc(c.closed, is) {
			rules = append(rules, rule)
		}
	}
	if r := c.release; r != nil {
		if f.Release = nil; r.State.Open() {
			f.Release = r
		}
	}
	if c.lease != nil {
		f.Lease = c.lease
	}
	return l.present(f, rules)
}

// dress adds to a message what people want to know beside its text, and what they may do.
func (l *Loop) dress(m guard.Message, p present, stage string) guard.Message {
	m.Mentions, m.Waits = policy.Mentions(p.Facts, m, stage), policy.Waits(l.Rules, p.Facts, m, stage)
	if p.card != nil && m.Thread != "" {
		m.Card, m.Offers = p.card, policy.OffersAt(stage, p.offers)
	}
	return m
}

// queue tells something to everybody, each in their language.
func (l *Loop) queue(tx *store.Tx, cause, stage string, in func(guard.Lang) guard.Message) error {
	for _, m := range policy.Copies(l.Audience, cause, stage, in) {
		if err := tx.Queue(m); err != nil {
			return err
		}
		if m.Thread == "" {
			continue
		}
		var thread string
		if _, err := tx.Value(store.ThreadName(m.Channel, m.Thread), &thread); err != nil {
			return err
		}
		if thread == "" {
			l.shown.set(m.Thread, m.Channel, shown{}) // it is about to begin
		}
	}
	return nil
}

// Tell queues what is said of a release's target, inside the transaction that causes it. The
// release is as it is from now on.
func (l *Loop) Tell(tx *store.Tx, at guard.Instant, r guard.Release, stage string, in func(guard.Lang) guard.Message) error {
	src := fromTx(tx)
	f, open, err := l.gather(src, moment{now: at.Wall}, &subject{key: r.Target.Key(), account: r.Target.Account}, known{})
	if err != nil {
		return fmt.Errorf("tell of %s: %w", r.Target, err)
	}
	f.Spend = l.counted(src, f)
	p := l.after(f, open, change{})
	if p.card != nil && r.Receipt != nil {
		p.card.Spent = r.Receipt.Spend
	}
	return l.queue(tx, r.ID, stage, func(lang guard.Lang) guard.Message { return l.dress(in(lang), p, stage) })
}

// counted is what a subject's family has cost, as far as a transaction can read it: the
// members that the meter knows.
func (l *Loop) counted(src source, f policy.Facts) func() policy.Spend {
	var failed error
	p := &purse{l: l, get: src.metered, failed: &failed, at: f.At, metered: f.Metered, lease: f.Lease, family: slices.Clone(f.Plan.Family)}
	return func() policy.Spend {
		sum := p.sum()
		sum.AtLeast = sum.AtLeast || failed != nil
		return sum
	}
}

// shown is what the first post of a thread shows; not posted, the thread is about to begin.
type shown struct {
	posted bool
	card   guard.Card
	offers string // their keys
}

// shows is what a message shows; one without a card shows none.
func shows(m guard.Message) shown {
	s := shown{posted: true, offers: keys(m.Offers)}
	if m.Card != nil {
		s.card = *m.Card
	}
	return s
}

func keys(offers []guard.Offer) string {
	var b strings.Builder
	for _, o := range offers {
		b.WriteString(string(o.Click) + o.Key)
	}
	return b.String()
}

// adopt reads what the threads of a subject show, where that is not known: each was begun by
// a message that is kept with the card that it has now.
func (l *Loop) adopt(v *store.View, s *subject, now time.Time) error {
	known := l.shown.of(s.key)
	if !s.resource() || known == nil && now.Sub(s.threadless).Abs() < ticks {
		return nil
	}
	s.threadless = now // as nearly all are
	for _, a := range l.Audience {
		if known[a.Channel].posted {
			continue
		}
		var first string
		if _, err := v.Value(store.FirstName(a.Channel, s.key), &first); err != nil {
			return fmt.Errorf("look for the thread of %s: %w", s.key, err)
		}
		if first == "" {
			continue
		}
		m, ok, err := v.SentMessages.Get(first)
		if err != nil {
			return fmt.Errorf("read how the thread of %s began: %w", s.key, err)
		}
		if ok && (m.Card == nil || m.Card.State != guard.StateGone) { // that is the last word
			l.shown.set(s.key, a.Channel, shows(m))
		}
	}
	return nil
}

// edits brings the cards of a subject's threads up to date: where they show another state
// than there is, and once in a while for the amounts of what is not gone. They change
// nothing that anybody was told.
func (l *Loop) edits(s *subject, now time.Time, is func() present) []guard.Message {
	known := l.shown.of(s.key)
	maps.DeleteFunc(known, func(_ string, was shown) bool { return !was.posted })
	if len(known) == 0 {
		return nil
	}
	p := is()
	if p.card == nil {
		return nil
	}
	var out []guard.Message
	for _, a := range l.Audience {
		if was, ok := known[a.Channel]; ok && outdated(was, p) {
			out = append(out, guard.Message{ID: cardID(a.Channel, s.key), Channel: a.Channel, Lang: a.Lang, Thread: s.key,
				About: []guard.ResourceID{p.Resource()}, CreatedAt: now, Card: p.card, Offers: p.offers, Edit: true})
		}
	}
	return out
}

// outdated reports whether people are to see p in the place of what they were shown.
func outdated(was shown, p present) bool {
	switch {
	case policy.Differs(was.card, *p.card), was.offers != keys(p.offers):
		return true
	case p.card.State == guard.StateGone, p.card.AsOf.Sub(was.card.AsOf) < ticks:
		return false
	}
	return policy.Ticked(was.card, *p.card)
}

// cards are what first posts show, as far as this process knows it, by thread and channel.
// They are written by the runs of this loop and, as they tell something, of those that
// release.
type cards struct {
	mu sync.Mutex
	by map[string]map[string]shown
}

// of is what is known of a thread, by channel.
func (c *cards) of(thread string) map[string]shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by[thread])
}

// set keeps what a thread shows from now on.
func (c *cards) set(thread, channel string, s shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[thread] == nil {
		if c.by == nil {
			c.by = map[string]map[string]shown{}
		}
		c.by[thread] = map[string]shown{}
	}
	c.by[thread][channel] = s
}

// forget drops the threads of what the ledger has no more.
func (c *cards) forget(has func(thread string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.by, func(thread string, _ map[string]shown) bool { return !has(thread) })
}
