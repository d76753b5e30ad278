package guard

import (
	"context"
	"time"
)

// Lang is a language that people read. The zero value is English.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Langs are all of them.
var Langs = []Lang{English, Chinese}

type langKey struct{}

// WithLang puts the language of whoever asks into the context of what is asked.
func WithLang(ctx context.Context, lang Lang) context.Context {
	return context.WithValue(ctx, langKey{}, lang)
}

// LangFrom returns the language that the context carries; English where it has none.
func LangFrom(ctx context.Context) Lang {
	lang, ok := ctx.Value(langKey{}).(Lang)
	if !ok {
		return English
	}
	return lang
}

// Audience is who reads one channel.
type Audience struct {
	Channel string
	Lang    Lang
}

// Message is one thing people are told, in one channel. It is written in the
// transaction that causes it and kept until a channel has taken it.
type Message struct {
	// ID is derived from cause and state, so that writing it again changes nothing.
	ID      string `json:"id"`
	Channel string `json:"channel"`
	// Lang is what Title and Lines are written in; the channel's own words are too.
	Lang Lang `json:"lang,omitzero"`
	// Thread groups the messages of one instance: its ResourceID.Key, or "".
	Thread  string       `json:"thread,omitzero"`
	About   []ResourceID `json:"about,omitzero"`
	Rule    Rule         `json:"rule,omitzero"`
	Finding string       `json:"finding,omitzero"`
	Release string       `json:"release,omitzero"`
	Urgent  bool         `json:"urgent,omitzero"`
	// Waits: nobody loses money or work where it is told in the morning only. Quiet
	// hours hold it back; what is urgent never waits.
	Waits bool `json:"waits,omitzero"`
	// Title and Lines are plain text, never markup: the channel escapes them.
	Title     string    `json:"title"`
	Lines     []string  `json:"lines,omitzero"`
	CreatedAt time.Time `json:"created_at"`

	// Mentions are the people whose attention it wants, by the names that leases give
	// them. A channel turns those that it knows into its own users; the others stay text.
	Mentions []string `json:"mentions,omitzero"`
	// Card is how the instance does that it is about; nil where it is about none, or several.
	Card *Card `json:"card,omitzero"`
	// Offers are what a reader may do about it by a click, the likeliest first.
	Offers []Offer `json:"offers,omitzero"`
	// Edit: it is the present state of its thread. It is never posted: it takes the place
	// of the card and the offers of the thread's first post, and has one ID a thread, so
	// that a newer state takes the place of one that still waits.
	Edit bool `json:"edit,omitzero"`

	Attempts  int       `json:"attempts,omitzero"`
	NextTry   time.Time `json:"next_try,omitzero"`
	LastError string    `json:"last_error,omitzero"`
	// Uncertain: a post went out and its fate is not known.
	Uncertain bool `json:"uncertain,omitzero"`
	MayRepeat bool `json:"may_repeat,omitzero"`
	// Looks counts the look-ups of an uncertain post that failed in a row.
	Looks int `json:"looks,omitzero"`
	// Batch is the ID of the digest that it was last posted in; "" where alone.
	Batch string `json:"batch,omitzero"`
	// Short: the channel refused the full form; the shortest one is posted next.
	Short   bool      `json:"short,omitzero"`
	Acked   time.Time `json:"acked,omitzero"`
	Receipt string    `json:"receipt,omitzero"` // the channel's own ID of it
}

// Card is how one resource does: what people look for when they ask "whose is it, what does
// it cost, what happens next". Amounts are as of AsOf; a slice has one a currency.
type Card struct {
	Name    string       `json:"name,omitzero"` // the provider's
	Purpose string       `json:"purpose,omitzero"`
	Owner   string       `json:"owner,omitzero"` // of the lease
	Team    string       `json:"team,omitzero"`  // the lease's tag "team"
	State   State        `json:"state"`
	Spot    bool         `json:"spot,omitzero"`
	GPUs    int          `json:"gpus,omitzero"` // 0: none, or not known
	Model   string       `json:"model,omitzero"`
	Type    string       `json:"type,omitzero"`
	Spent   []Money      `json:"spent,omitzero"`    // of a lease: with children and family
	AtLeast bool         `json:"at_least,omitzero"` // a part of Spent has no known price
	Budget  Money        `json:"budget"`
	Hourly  Money        `json:"hourly"` // unset: not known
	Started time.Time    `json:"started,omitzero"`
	Ends    time.Time    `json:"ends,omitzero"` // when guard acts next; zero: nothing is coming
	Does    Action       `json:"does,omitzero"` // what it does then
	By      Cause        `json:"by,omitzero"`   // and by which limit
	Release ReleaseState `json:"release,omitzero"`
	Blocked BlockReason  `json:"blocked,omitzero"`
	Held    time.Time    `json:"held,omitzero"`    // until when a hold puts it off
	Snoozed time.Time    `json:"snoozed,omitzero"` // until when nobody is told
	Open    []Rule       `json:"open,omitzero"`    // findings, in their order
	Ended   How          `json:"ended,omitzero"`
	AsOf    time.Time    `json:"as_of"`
}

// Click is what a person may do by one.
type Click string

// The clicks. ClickAck says that somebody looks after it: escalation ends.
const (
	ClickExtend   Click = "extend"
	ClickRelease  Click = "release"
	ClickHold     Click = "hold"
	ClickVeto     Click = "veto"
	ClickSnooze   Click = "snooze"
	ClickRegister Click = "register"
	ClickWhy      Click = "why"
	ClickAck      Click = "ack"
)

// Offer is one click that a message offers.
type Offer struct {
	Click Click `json:"click"`
	// For is how long: of an extension, a hold, a veto and a snooze; 0: whoever clicks is asked.
	For time.Duration `json:"for,omitzero"`
	// Key makes it good for this state, once: it changes with what the click would change
	// (the lease, its end, the release), so that a click on last week's message, or a
	// second one, finds another key and changes nothing.
	Key string `json:"key"`
	// Until is when it stops counting.
	Until time.Time `json:"until"`
}

// Posted is how a channel acknowledges a message.
type Posted struct {
	// Receipt is the channel's own ID of the message.
	Receipt string
	// Thread is what later messages of the same thread are posted under; ""
	// where the channel has no threads.
	Thread string
}
