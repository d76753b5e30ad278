package daemon

import (
	"context"
	"time"

	"guard"
	"guard/daemon/doctor"
	"guard/daemon/notify"
	"guard/daemon/wire"
	"guard/store"
)

// Delivery is how the channels take their messages: those named, and every other one
// that a message waits for. quiet is until when what can wait is held back at a moment;
// zero: it is not.
func Delivery(v *store.View, at time.Time, quiet func(time.Time) time.Time, channels ...string) ([]wire.Channel, error) {
	all, err := notify.Health(v, at, quiet, channels...)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Channel, len(all))
	for i, h := range all {
		out[i] = wire.Channel{Name: h.Channel, Undelivered: h.Undelivered, Urgent: h.Urgent, Title: h.Title, Error: h.Error,
			Oldest: known(h.Oldest), LastTaken: known(h.LastAck), NextTry: known(h.NextTry), Failing: known(h.Since),
			Held: h.Held, HeldUntil: known(h.HeldUntil), Edits: h.Edits, Dropped: h.Dropped, StandIn: h.StandIn, StandInSince: known(h.StandInAt)}
	}
	return out, nil
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// examine looks at everything that this daemon stands on.
func (d *Daemon) examine(ctx context.Context, at guard.Instant, s wire.Status) wire.Diagnosis {
	g := d.gen.Load()
	p := doctor.Patient{Accounts: g.accounts, Status: &s}
	for _, c := range g.channels {
		p.Channels = append(p.Channels, c)
	}
	if g.clicks != nil {
		p.Channels = append(p.Channels, g.clicks)
	}
	var err error
	if p.Leased, err = doctor.Leased(ctx, d.o.Ledger); err != nil {
		d.o.Log.Warn("leases not read for the doctor", "error", err.Error())
	}
	return doctor.Examine(ctx, at, p)
}
