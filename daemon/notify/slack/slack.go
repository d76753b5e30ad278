// Package slack posts messages to one Slack channel as a bot (chat:write), one
// thread an instance, and finds its own posts again in the channel's history
// (channels:history or groups:history; channels:read or groups:read where the
// channel is configured by name). Below a message stand how its instance does and what a
// click can do about it; the first message of a thread is edited as that changes.
//
// Everything in a message is text from outside. It is posted as plain text,
// escaped once more, so that no name can mention people, ping a channel, format
// or link. The only markup is guard's own: mentions of people by their IDs, who are
// configured, or found by an e-mail address where the token may (users:read.email).
package slack

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	api "github.com/slack-go/slack"

	"guard"
)

const (
	// pace is a little more than the second that Slack wants between two posts to
	// one channel (docs.slack.dev/apis/web-api/rate-limits: 1 a second).
	pace = 1200 * time.Millisecond
	// eventType marks guard's posts in their metadata; payloadID is its ID there.
	eventType = "guard_message"
	payloadID = "id"
	// timeout bounds one HTTP exchange.
	timeout = 15 * time.Second
	// pages and pageSize bound a look-up in the history.
	pages    = 10
	pageSize = 200
	// margin is how far the look-up goes back before the message was written: the
	// clock here and Slack's need not agree.
	margin = 24 * time.Hour
)

// Config is what a Slack channel needs.
type Config struct {
	Token   guard.Secret // a bot token, xoxb-…
	Channel string       // "#name" or an ID
	// Users are the member IDs of people, by the names that messages mention.
	Users map[string]string
	// Buttons: clicks are answered. Without, a message tells what to type only.
	Buttons bool
	Lang    guard.Lang
	// Zone is how people read times; nil is UTC.
	Zone *time.Location
	// Endpoint is the API's base URL; "" is Slack itself.
	Endpoint string
	// Transport carries the requests; nil is a fresh one with time-outs.
	Transport http.RoundTripper
}

// Channel is one Slack channel.
type Channel struct {
	client  *api.Client
	target  string // as configured: "#name" or an ID
	lang    guard.Lang
	zone    *time.Location
	buttons bool
	people  directory

	mu sync.Mutex
	id string // the channel's ID, once known
}

// New checks the configuration and makes the channel. It calls nobody.
func New(c Config) (*Channel, error) {
	if !c.Token.IsSet() {
		return nil, fmt.Errorf("%w: slack: no token; give the bot's token under notify.slack.token", guard.ErrInvalid)
	}
	target := strings.TrimSpace(c.Channel)
	if name := strings.TrimPrefix(target, "#"); name == "" || strings.ContainsAny(name, "#@ \t\r\n|/<>&") {
		return nil, fmt.Errorf("%w: slack: channel %q; give #name or an ID such as C0123456789", guard.ErrInvalid, c.Channel)
	} else if strings.ToUpper(name) != name { // IDs have no lower case, names no upper case
		target = "#" + name
	}
	for name, id := range c.Users {
		if !memberID.MatchString(id) {
			return nil, fmt.Errorf("%w: slack: %q of %q is no member ID; give one such as U0123ABCD", guard.ErrInvalid, id, name)
		}
	}
	endpoint := api.APIURL
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("%w: slack: endpoint is not an http(s) URL without user and query", guard.ErrInvalid)
		}
		endpoint = strings.TrimSuffix(u.String(), "/") + "/"
	}
	return &Channel{
		client: api.New(c.Token.Reveal(), api.OptionHTTPClient(newRim(c.Transport)), api.OptionAPIURL(endpoint)),
		target: target, lang: c.Lang, zone: c.Zone, buttons: c.Buttons, people: directory{users: maps.Clone(c.Users)},
	}, nil
}

// Name is "slack".
func (c *Channel) Name() string { return "slack" }

// Lang is what the channel's readers read.
func (c *Channel) Lang() guard.Lang { return c.lang }

// Pace is how far posts must be apart.
func (c *Channel) Pace() time.Duration { return pace }

// Fits reports whether m is posted uncut.
func (c *Channel) Fits(m guard.Message) bool { return view{}.render(m).whole }

// form is the message as Slack takes it, with the present moment and people's IDs.
func (c *Channel) form(ctx context.Context, m guard.Message, cardless bool) rendered {
	v := view{at: m.CreatedAt, zone: c.zone, buttons: c.buttons, cardless: cardless, ids: c.identify(ctx, m)}
	if at, ok := guard.InstantFrom(ctx); ok {
		v.at = at.Wall
	}
	return v.render(m)
}

// options say how Slack is to take it: as it is.
func (r rendered) options() []api.MsgOption {
	out := []api.MsgOption{api.MsgOptionText(r.text, false) /* escaped already */, api.MsgOptionParse(false), api.MsgOptionLinkNames(false)}
	if len(r.blocks) > 0 {
		out = append(out, api.MsgOptionBlocks(r.blocks...))
	}
	return out
}

// Post posts the message, as a reply where the thread is one of this very
// channel. An urgent reply is shown in the channel as well. Another one has no card of its
// own: the thread's first post shows the present state, above it.
func (c *Channel) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	if err := ctx.Err(); err != nil {
		return guard.Posted{}, fmt.Errorf("%w: post to slack %s: not begun: %v", guard.ErrUnavailable, c.target, err)
	}
	to := c.target
	id, ts, reply := c.here(thread)
	options := append(c.form(ctx, m, reply && !m.Urgent).options(),
		api.MsgOptionDisableMarkdown(), api.MsgOptionDisableLinkUnfurl(), api.MsgOptionDisableMediaUnfurl(),
		api.MsgOptionMetadata(api.SlackMetadata{EventType: eventType, EventPayload: map[string]any{payloadID: m.ID}}))
	if reply {
		to = id
		options = append(options, api.MsgOptionTS(ts))
		if m.Urgent {
			options = append(options, api.MsgOptionBroadcast())
		}
	}
	id, ts, stored, err := c.client.PostMessageWithResponseContext(ctx, to, options...)
	if err != nil {
		return guard.Posted{}, explain("post to", c.target, err)
	}
	if id == "" || ts == "" {
		return guard.Posted{}, fmt.Errorf("%w: post to slack %s: %w: the answer names no message; guard looks for it in the history and posts it again if it is not there",
			guard.ErrUncertain, c.target, guard.ErrBadReply)
	}
	c.learn(id)
	posted := guard.Posted{Receipt: c.receipt(id, ts)}
	posted.Thread = posted.Receipt
	// Slack posts a reply to a deleted message outside a thread: that begins a new one.
	if root := stored.ThreadTimestamp; root != "" {
		posted.Thread = c.receipt(id, root)
	}
	return posted, nil
}

// Edit replaces what was posted by m, whose buttons carry m.ID. The post keeps the ID that
// it was posted with, for Find. Nobody is pinged again.
func (c *Channel) Edit(ctx context.Context, receipt string, m guard.Message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: edit in slack %s: not begun: %v", guard.ErrUnavailable, c.target, err)
	}
	id, ts, ok := c.here(receipt)
	if !ok {
		return fmt.Errorf("%w: edit in slack %s: the post is not in this channel", guard.ErrNotFound, c.target)
	}
	r := c.form(ctx, m, false)
	options := r.options()
	if len(r.blocks) == 0 {
		options = append(options, api.MsgOptionBlocks()) // Slack keeps the blocks that are not told
	}
	_, edited, _, err := c.client.UpdateMessageContext(ctx, id, ts, options...)
	if err != nil {
		return explainEdit(c.target, err)
	}
	if edited != ts {
		return fmt.Errorf("%w: edit in slack %s: %w: the answer is about another message; guard edits it again", guard.ErrUncertain, c.target, guard.ErrBadReply)
	}
	return nil
}

// receipt names a message: the channel as configured, its ID, the timestamp that
// is the message's ID there.
func (c *Channel) receipt(id, ts string) string { return c.target + "|" + id + "|" + ts }

// here takes a receipt apart that is of the channel configured now; a thread in
// the channel configured before is none.
func (c *Channel) here(receipt string) (id, ts string, ok bool) {
	parts := strings.Split(receipt, "|")
	if len(parts) != 3 || parts[0] != c.target || parts[1] == "" || parts[2] == "" {
		return "", "", false
	}
	return parts[1], parts[2], true
}

func (c *Channel) learn(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// Find looks for a post of m in the thread and in the channel, newest first, back
// to a day before m was written.
func (c *Channel) Find(ctx context.Context, m guard.Message, thread string) (guard.Posted, bool, error) {
	id, root, ok := c.here(thread)
	if ok {
		ts, err := c.inThread(ctx, id, root, m.ID)
		if err != nil || ts != "" {
			return guard.Posted{Receipt: c.receipt(id, ts), Thread: thread}, err == nil, err
		}
	} else {
		var err error
		if id, err = c.channelID(ctx); err != nil {
			return guard.Posted{}, false, err
		}
	}
	ts, err := c.inChannel(ctx, id, m)
	if err != nil || ts == "" {
		return guard.Posted{}, false, err
	}
	receipt := c.receipt(id, ts)
	return guard.Posted{Receipt: receipt, Thread: receipt}, true, nil
}

func (c *Channel) inChannel(ctx context.Context, id string, m guard.Message) (ts string, err error) {
	p := api.GetConversationHistoryParameters{ChannelID: id, Limit: pageSize, IncludeAllMetadata: true}
	if !m.CreatedAt.IsZero() {
		p.Oldest = strconv.FormatInt(m.CreatedAt.Add(-margin).Unix(), 10)
	}
	for range pages {
		got, err := c.client.GetConversationHistoryContext(ctx, &p)
		if err != nil {
			return "", explain("read the history of", c.target, err)
		}
		if got.Messages == nil { // where there is nothing Slack sends an empty list
			return "", fmt.Errorf("%w: read the history of slack %s: the answer has no list", guard.ErrBadReply, c.target)
		}
		if ts := find(got.Messages, m.ID); ts != "" {
			return ts, nil
		}
		if p.Cursor = got.ResponseMetaData.NextCursor; p.Cursor == "" {
			if got.HasMore {
				return "", fmt.Errorf("%w: read the history of slack %s: there is more, and no way to it", guard.ErrBadReply, c.target)
			}
			return "", nil
		}
	}
	return "", c.tooLong()
}

func (c *Channel) inThread(ctx context.Context, id, root, message string) (ts string, err error) {
	p := api.GetConversationRepliesParameters{ChannelID: id, Timestamp: root, Limit: pageSize, IncludeAllMetadata: true}
	for n := range pages {
		got, more, cursor, err := c.client.GetConversationRepliesContext(ctx, &p)
		if code(err) == "thread_not_found" {
			return "", nil // deleted: no reply of ours is in it
		}
		if err != nil {
			return "", explain("read a thread of", c.target, err)
		}
		if ts := find(got, message); ts != "" {
			return ts, nil
		}
		if n == 0 && len(got) == 0 || more && cursor == "" { // the first page always has the thread's root
			return "", fmt.Errorf("%w: read a thread of slack %s: part of the answer is missing", guard.ErrBadReply, c.target)
		}
		if p.Cursor = cursor; cursor == "" {
			return "", nil
		}
	}
	return "", c.tooLong()
}

func (c *Channel) tooLong() error {
	return fmt.Errorf("%w: read the history of slack %s: too busy to look through; guard posts the message again and says that it may repeat", guard.ErrUnsupported, c.target)
}

func find(ms []api.Message, id string) (ts string) {
	for _, m := range ms {
		if m.Metadata.EventType == eventType && m.Metadata.EventPayload[payloadID] == id {
			return m.Timestamp
		}
	}
	return ""
}

// channelID is what the history wants; a name is looked up once.
func (c *Channel) channelID(ctx context.Context) (string, error) {
	name, named := strings.CutPrefix(c.target, "#")
	if !named {
		return c.target, nil
	}
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	p := api.GetConversationsParameters{Limit: pageSize, ExcludeArchived: true, Types: []string{"public_channel", "private_channel"}}
	for range 5 * pages {
		got, cursor, err := c.client.GetConversationsContext(ctx, &p)
		if err != nil {
			return "", explain("look up", c.target, err)
		}
		for _, ch := range got {
			if ch.Name == name {
				c.learn(ch.ID)
				return ch.ID, nil
			}
		}
		if p.Cursor = cursor; cursor == "" {
			return "", fmt.Errorf("%w: look up slack %s: the bot sees no channel of that name; invite it, or configure the channel's ID", guard.ErrNotFound, c.target)
		}
	}
	return "", c.tooLong()
}
