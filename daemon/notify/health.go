package notify

import (
	"maps"
	"slices"
	"time"

	"guard/store"
)

// wait is why a channel gets nothing for now.
type wait string

const (
	waitThrottled wait = "throttled" // it asked for it: nothing at all goes out
	waitFailing   wait = "failing"   // not reachable, or its answers make no sense
	waitRefused   wait = "refused"   // a person must mend it; what was never tried still is, once
)

// state is what the ledger keeps of a channel, so that a restart keeps its waits.
type state struct {
	LastPost time.Time `json:"last_post,omitzero"`
	LastAck  time.Time `json:"last_ack,omitzero"`
	Wait     wait      `json:"wait,omitzero"`
	Until    time.Time `json:"until,omitzero"` // no post before
	Failures int       `json:"failures,omitzero"`
	Error    string    `json:"error,omitzero"`
	ErrorAt  time.Time `json:"error_at,omitzero"`
}

func stateName(channel string) string { return "notify/" + channel }

// ChannelHealth is how one channel is doing. All times are UTC.
type ChannelHealth struct {
	Channel string `json:"channel"`
	// Undelivered counts all messages that no channel has acknowledged yet, Urgent
	// those of them that are urgent, Uncertain those that may have arrived.
	Undelivered int       `json:"undelivered"`
	Urgent      int       `json:"urgent"`
	Uncertain   int       `json:"uncertain"`
	Oldest      time.Time `json:"oldest,omitzero"` // when the oldest undelivered one was queued
	Title       string    `json:"title,omitzero"`  // of that one
	LastAck     time.Time `json:"last_ack,omitzero"`
	// Error is the last failure since the last acknowledgement; "" while all is well.
	Error   string    `json:"error,omitzero"`
	ErrorAt time.Time `json:"error_at,omitzero"`
	NextTry time.Time `json:"next_try,omitzero"` // nothing that has failed is posted before
}

// Health reads how the channels are doing: those named, and every other one that
// a message waits for, in the order of their names. A channel that is not named
// while others are is one that the configuration does not have.
func Health(v *store.View, configured ...string) ([]ChannelHealth, error) {
	found := map[string]*ChannelHealth{}
	for _, name := range configured {
		found[name] = &ChannelHealth{Channel: name}
	}
	refusal := map[string]string{} // the last refusal of one message, where the channel itself is well
	for m, err := range v.Outbox.All("") {
		if err != nil {
			return nil, err
		}
		h := found[m.Channel]
		if h == nil {
			h = &ChannelHealth{Channel: m.Channel}
			found[m.Channel] = h
		}
		h.Undelivered++
		if m.Urgent {
			h.Urgent++
		}
		if m.Uncertain {
			h.Uncertain++
		}
		if h.Oldest.IsZero() || m.CreatedAt.Before(h.Oldest) {
			h.Oldest, h.Title = m.CreatedAt, m.Title
		}
		if m.LastError != "" {
			refusal[m.Channel] = m.LastError
		}
	}
	out := make([]ChannelHealth, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		h := found[name]
		var s state
		if _, err := v.Value(stateName(name), &s); err != nil {
			return nil, err
		}
		h.LastAck, h.Error, h.ErrorAt, h.NextTry = s.LastAck, s.Error, s.ErrorAt, s.Until
		if h.Error == "" {
			h.Error = refusal[name]
		}
		if len(configured) > 0 && !slices.Contains(configured, name) {
			h.Error = "no channel of that name is configured; the messages are kept: configure it under notify"
		}
		out = append(out, *h)
	}
	return out, nil
}
