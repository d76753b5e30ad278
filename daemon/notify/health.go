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
	Since    time.Time `json:"since,omitzero"` // the first failure since it took something
	Dropped  int       `json:"dropped,omitzero"`
	Error    string    `json:"error,omitzero"`
	ErrorAt  time.Time `json:"error_at,omitzero"`
}

func stateName(channel string) string { return "notify/" + channel }

// ChannelHealth is how one channel is doing. All times are UTC.
type ChannelHealth struct {
	Channel string `json:"channel"`
	// Undelivered counts all messages that no channel has acknowledged yet, Urgent
	// those of them that are urgent, Uncertain those that may have arrived.
	Undelivered int `json:"undelivered"`
	Urgent      int `json:"urgent"`
	Uncertain   int `json:"uncertain"`
	// Held counts those of them that quiet hours hold back until HeldUntil.
	Held      int       `json:"held"`
	HeldUntil time.Time `json:"held_until,omitzero"`
	// Edits counts the posts that are to be brought up to date, Dropped the messages that
	// were never told here because a newer one took their place, since the ledger began.
	Edits   int       `json:"edits"`
	Dropped int       `json:"dropped"`
	Oldest  time.Time `json:"oldest,omitzero"` // when the oldest undelivered one was queued that is not held
	Title   string    `json:"title,omitzero"`  // of that one
	LastAck time.Time `json:"last_ack,omitzero"`
	// Error is the last failure since the last acknowledgement; "" while all is well.
	Error   string    `json:"error,omitzero"`
	ErrorAt time.Time `json:"error_at,omitzero"`
	NextTry time.Time `json:"next_try,omitzero"` // nothing that has failed is posted before
	Since   time.Time `json:"since,omitzero"`    // the first failure since the last acknowledgement
	// StandIn is the channel that is told what is urgent in its place since StandInAt; "log"
	// where no channel is well, "" where none has to be.
	StandIn   string    `json:"stand_in,omitzero"`
	StandInAt time.Time `json:"stand_in_at,omitzero"`
}

// Health reads how the channels are doing: those named, and every other one that
// a message waits for, in the order of their names. A channel that is not named
// while others are is one that the configuration does not have. quiet is the Config's.
func Health(v *store.View, at time.Time, quiet func(time.Time) time.Time, configured ...string) ([]ChannelHealth, error) {
	var held time.Time
	if quiet != nil {
		held = quiet(at)
	}
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
		if m.Edit {
			h.Edits++
			continue
		}
		h.Undelivered++
		if m.Urgent {
			h.Urgent++
		}
		if m.Uncertain {
			h.Uncertain++
		}
		if !held.IsZero() && holds(m) {
			h.Held++
			h.HeldUntil = held
			continue
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
		var stands standIn
		if _, err := v.Value(standInName(name), &stands); err != nil {
			return nil, err
		}
		h.LastAck, h.Error, h.ErrorAt, h.NextTry, h.Since, h.Dropped = s.LastAck, s.Error, s.ErrorAt, s.Until, s.Since, s.Dropped
		h.StandIn, h.StandInAt = stands.Channel, stands.At
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
