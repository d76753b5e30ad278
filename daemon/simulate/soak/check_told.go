package soak

import (
	"context"
	"slices"
	"time"

	"guard"
	"guard/daemon/simulate"
	"guard/store"
)

// waits reports whether quiet hours hold a message back.
func waits(m guard.Message) bool { return m.Waits && !m.Urgent }

// hushed reports whether a moment lies in quiet hours, and a minute before it too: not
// sooner than guard's clock can be told from it.
func (j *judge) hushed(at time.Duration) bool {
	return j.week.hushed(j.zero.Add(at)) && j.week.hushed(j.zero.Add(at-time.Minute)) && j.week.hushed(j.zero.Add(at+j.slack()))
}

// hushed reports whether the clock on the wall shows quiet hours.
func (w Week) hushed(at time.Time) bool {
	q := w.Quiet
	if q == nil {
		return false
	}
	hour, minute, second := at.UTC().Clock()
	now := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	if q.From < q.Until {
		return now >= q.From && now < q.Until
	}
	return now >= q.From || now < q.Until
}

// nights holds quiet hours: nothing that can wait is posted in them for the first time.
func (j *judge) nights() {
	for _, p := range j.h.Posts {
		at := j.offset(p.At)
		if p.ID == "" || !j.hushed(at) {
			continue
		}
		for _, m := range j.book.sent {
			if (m.ID == p.ID || m.Batch == p.ID) && waits(m) && m.Attempts <= 1 {
				j.wrong(9, "quiet hours", at, aboutText(m), "%q is told in quiet hours, and could wait", m.Title)
			}
		}
	}
}

// untold holds that what was said of a finding that is open is in the ledger, sent or
// waiting, in Slack: whatever was dropped, the newest of it is there.
func (j *judge) untold() {
	for _, f := range j.book.findings {
		if !f.Closed.IsZero() || len(f.Said) == 0 {
			continue
		}
		told := j.told(func(m guard.Message) bool {
			return m.Channel == "slack" && !m.Edit && (m.Finding == f.ID || m.Rule == f.Rule && !f.Resource.IsZero() && slices.Contains(m.About, f.Resource))
		})
		if len(told) == 0 {
			j.wrong(9, "message lost", j.latest(f.Opened), f.Subject, "%q is open since %s, and Slack has and gets no message of it: %v was said", f.Title, f.Opened, f.Said)
		}
	}
}

// delays are how long after it was found each thing was told in Slack, but for what quiet
// hours held back; none where the ledger cannot be read, which the check tells of.
func (w Week) delays(h *simulate.History) (out []time.Duration) {
	ctx := context.Background()
	ledger, err := store.Open(ctx, h.Ledger, guard.Instant{Wall: w.Start.Add(h.Length)})
	if err != nil {
		return nil
	}
	err = ledger.View(ctx, func(v *store.View) error {
		out = nil
		return rows(v.SentMessages, func(m guard.Message) {
			if m.Channel == "slack" && (!waits(m) || w.Quiet == nil) {
				out = append(out, m.Acked.Sub(m.CreatedAt))
			}
		})
	})
	if err != nil {
		return nil
	}
	return out
}
