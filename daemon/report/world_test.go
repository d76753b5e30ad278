package report_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"guard"
	"guard/configs"
	"guard/daemon/report"
	"guard/providers"
	"guard/store"
	"guard/store/memory"
)

// world is a ledger, and what a daemon tells of itself.
type world struct {
	t        *testing.T
	at       guard.Instant
	backend  *memory.Backend
	ledger   *store.Ledger
	accounts []*providers.Account
	zone     *time.Location
	runs     []report.Run
}

func newWorld(t *testing.T, zone, start string) *world {
	t.Helper()
	w := &world{t: t, backend: memory.New(), accounts: []*providers.Account{{Name: "lab", Poll: time.Minute, Mode: guard.Enforce}}}
	var err error
	if w.zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	w.at = guard.Instant{Wall: w.when(start), Elapsed: time.Hour}
	w.restart()
	return w
}

// restart opens the ledger anew, as a process that starts does.
func (w *world) restart() {
	w.t.Helper()
	var err error
	if w.ledger, err = store.Open(w.t.Context(), w.backend, w.at); err != nil {
		w.t.Fatal(err)
	}
}

// when is a time on the zone's clocks: 2026-03-06 18:00.
func (w *world) when(s string) time.Time {
	w.t.Helper()
	t, err := time.ParseInLocation("2006-01-02 15:04", s, w.zone)
	if err != nil {
		w.t.Fatal(err)
	}
	return t.UTC()
}

func (w *world) config() report.Config {
	return report.Config{Ledger: w.ledger, Accounts: w.accounts, Zone: w.zone, Loops: func() []report.Run { return w.runs },
		Audience: []guard.Audience{{Channel: "team"}, {Channel: "zh", Lang: guard.Chinese}}}
}

// schedule is what a configuration says of the digest.
func (w *world) schedule(spec string) configs.Schedule {
	w.t.Helper()
	text := fmt.Sprintf("time_zone: %s\naccounts: [{name: lab, provider: fake}]\nnotify: {digest: %q}\n", w.zone, spec)
	c, err := configs.Load([]byte(text), "guard.yaml", &configs.Decoders{Providers: map[string]configs.SectionDecoder{"fake": configs.SectionOf(struct{}{})}}, os.LookupEnv)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Notify.Digest
}

func (w *world) put(fn func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.ledger.Update(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// told are the messages that were queued, in the order of their IDs.
func (w *world) told() []guard.Message {
	w.t.Helper()
	var out []guard.Message
	err := w.ledger.View(w.t.Context(), func(v *store.View) error {
		for m, err := range v.Outbox.All("") {
			if err != nil {
				return err
			}
			out = append(out, m)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// deliver takes all messages out of the outbox, and returns those of a channel.
func (w *world) deliver(channel string) []guard.Message {
	w.t.Helper()
	var out []guard.Message
	for _, m := range w.told() {
		w.put(func(tx *store.Tx) error { m.Acked = w.at.Wall; return tx.Sent(m) })
		if m.Channel == channel {
			out = append(out, m)
		}
	}
	return out
}

// loop is a loop of the daemon.
type loop interface {
	Once(ctx context.Context, at guard.Instant) (guard.Instant, error)
}

// once runs a loop now.
func (w *world) once(l loop) {
	w.t.Helper()
	if _, err := l.Once(guard.WithInstant(w.t.Context(), w.at), w.at); err != nil {
		w.t.Fatal(err)
	}
}

// until runs a loop as a scheduler does, to a moment.
func (w *world) until(l loop, end time.Time) {
	w.t.Helper()
	for {
		next, err := l.Once(guard.WithInstant(w.t.Context(), w.at), w.at)
		if err != nil {
			w.t.Fatal(err)
		}
		if !w.at.Before(next) {
			w.t.Fatal(errors.New("it comes back at once"))
		}
		if next.Wall.After(end) {
			w.at = w.at.Reach(end)
			return
		}
		w.at = next
	}
}

func id(s string) guard.ResourceID {
	return guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: s}
}
