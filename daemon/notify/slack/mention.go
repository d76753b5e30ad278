package slack

import (
	"context"
	"errors"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/policy/say"
)

const (
	// maxMentioned is how many people one message pings.
	maxMentioned = 15
	// lookupTimeout bounds the one look-up that a post makes at most.
	lookupTimeout = 3 * time.Second
	// foundFor and lostFor are how long it is remembered whom an e-mail address is of,
	// and that it is nobody's or may not be asked; brokenFor how long nobody is looked
	// up after a look-up that had no answer.
	foundFor  = 24 * time.Hour
	lostFor   = time.Hour
	brokenFor = time.Minute
	// maxKnown bounds what is remembered; more than a team's addresses are a flood.
	maxKnown = 2000
)

// memberID is how Slack names members (docs.slack.dev: U…, of other workspaces W…).
var memberID = regexp.MustCompile(`^[UW][A-Z0-9]{1,20}$`)

// mentions are the two ways in which people are named that a message wants: those whom
// Slack knows by their IDs, as Slack's own markup, and the others in plain text.
func (v view) mentions(m guard.Message) (known, others string) {
	var ids, names []string
	for _, n := range m.Mentions {
		id := v.ids[n]
		switch {
		case id != "" && len(ids) < maxMentioned:
			if id = "<@" + id + ">"; !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		case id == "" && len(names) < maxMentioned:
			if n = name(n); n != "" && !slices.Contains(names, n) && (m.Card == nil || n != name(m.Card.Owner)) {
				names = append(names, n)
			}
		}
	}
	if len(names) > 0 {
		others, _ = escape(say.In(m.Lang, "For %s", say.List(m.Lang, names, maxMentioned)), maxMentions/3)
	}
	return strings.Join(ids, " "), others
}

// directory knows people's IDs: those of the configuration, and those of the e-mail
// addresses that were looked up.
type directory struct {
	users map[string]string // by name

	mu     sync.Mutex
	emails map[string]known
	off    guard.Instant // nobody is looked up before
}

// known is what a look-up told: an ID, or that there is none.
type known struct {
	id    string
	until guard.Instant
}

// remembered is the ID of a name. Ask: it is an e-mail address that may be looked up.
func (d *directory) remembered(n string, at guard.Instant) (id string, ask bool) {
	if id = d.users[n]; id != "" {
		return id, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := d.emails[n]; ok && at.Before(k.until) {
		return k.id, false
	}
	return "", !at.Before(d.off) && isEmail(n)
}

// learn keeps what a look-up told; lookups begin again at off.
func (d *directory) learn(n, id string, until, off guard.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = off
	if until.IsZero() {
		return
	}
	if d.emails == nil || len(d.emails) >= maxKnown {
		d.emails = map[string]known{}
	}
	d.emails[n] = known{id, until}
}

// isEmail reports whether a name is an e-mail address and nothing else.
func isEmail(s string) bool {
	if len(s) > 254 || plain(s) != s {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s
}

// identify finds the IDs of those whom m mentions. It makes one look-up at most: whoever
// is not known by then stays text.
func (c *Channel) identify(ctx context.Context, m guard.Message) map[string]string {
	at, _ := guard.InstantFrom(ctx)
	ids := map[string]string{}
	asked := false
	for _, n := range m.Mentions[:min(len(m.Mentions), 2*maxMentioned)] {
		id, ask := c.people.remembered(n, at)
		if ask && !asked {
			asked = true
			id = c.lookUp(ctx, n, at)
		}
		if id != "" {
			ids[n] = id
		}
	}
	return ids
}

// lookUp asks Slack whose an e-mail address is (users:read.email). That it cannot be told
// is no failure: the name stays text.
func (c *Channel) lookUp(ctx context.Context, email string, at guard.Instant) string {
	call, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	user, err := c.client.GetUserByEmailContext(call, email)
	switch {
	case err == nil && memberID.MatchString(user.ID) && !user.Deleted:
		c.people.learn(email, user.ID, at.Add(foundFor), guard.Instant{})
		return user.ID
	case err == nil || code(err) == "users_not_found":
		c.people.learn(email, "", at.Add(lostFor), guard.Instant{})
		return ""
	}
	err = explain("look up a member of", c.target, err)
	wait := brokenFor
	if errors.Is(err, guard.ErrPermission) || errors.Is(err, guard.ErrInvalid) {
		wait = lostFor
	}
	if after, ok := guard.RetryAfter(err); ok {
		wait = max(wait, after)
	}
	c.people.learn(email, "", guard.Instant{}, at.Add(wait))
	return ""
}
