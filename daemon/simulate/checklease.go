package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
)

// moment is when an expectation about a lease looks: at, or the end.
func (r *runner) moment(e *expectation) time.Duration {
	if e.window.exact {
		return e.window.to
	}
	return r.story.length
}

// lease judges a lease as the ledger had it at a moment.
func (r *runner) lease(e *expectation) verdict {
	at := r.moment(e)
	l, ok := r.ledger.leases[string(e.Lease)].last(at)
	if !ok {
		return badf("at %s there is no such lease", offsetText(at))
	}
	var wrong []string
	want := func(name string, ok bool, is any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is %v", name, is))
		}
	}
	text := func(name string, w *word, is string) {
		if w != nil {
			want(name, string(*w) == is, fmt.Sprintf("%q", is))
		}
	}
	h := e.Has
	text("purpose", h.Purpose, l.Purpose)
	text("owner", h.Owner, l.Owner)
	text("on_limit", h.OnLimit, string(l.OnLimit))
	text("ended_how", h.EndedHow, string(l.EndedHow))
	if len(h.Status) > 0 {
		want("status", slices.Contains(h.Status, string(l.Status)), l.Status)
	}
	if h.ExpiresAt != nil {
		is := l.ExpiresAt.Sub(r.story.start)
		want("expires_at", is == h.ExpiresAt.from(r.story.start), offsetText(is))
	}
	if h.Budget != nil {
		want("budget", l.Budget.IsSet() && l.Budget.Equal(h.Budget.Money), l.Budget)
	}
	if h.Grace != nil {
		want("grace", l.Grace == h.Grace.Duration, offsetText(l.Grace))
	}
	if h.Protected != nil {
		want("protected", l.Protected == *h.Protected, l.Protected)
	}
	if h.Estimated != nil {
		want("estimated", l.Estimated == *h.Estimated, l.Estimated)
	}
	for k, v := range h.Tags {
		want("tag "+k, l.Tags[k] == string(v), fmt.Sprintf("%q", l.Tags[k]))
	}
	if len(wrong) == 0 {
		return ""
	}
	slices.Sort(wrong)
	return badf("at %s its %s", offsetText(at), strings.Join(wrong, "; its "))
}

// deadline judges when guard means to act, as it saw it at a moment.
func (r *runner) deadline(e *expectation) verdict {
	at := r.moment(e)
	l, ok := r.ledger.leases[string(e.Deadline)].last(at)
	if !ok {
		return badf("at %s there is no such lease", offsetText(at))
	}
	p, _ := r.ledger.plans[l.ID].last(at)
	ds := slices.DeleteFunc(slices.Clone(p.Deadlines), func(d guard.Deadline) bool { return d.Reason == guard.DeadlineExpiry })
	if !l.ExpiresAt.IsZero() {
		ds = append(ds, guard.Deadline{Reason: guard.DeadlineExpiry, Limit: l.ExpiresAt, Due: l.ExpiresAt})
	}
	// A guess has a deadline from its notice on.
	if x, ok := r.ledger.releases[string(e.Deadline)].last(at); ok && x.State.Open() && x.Cause.Stops() {
		ds = append(ds, guard.Deadline{Reason: guard.DeadlineReason(x.Cause), Limit: x.Due, Due: x.Due})
	}
	var d guard.Deadline
	if e.Reason != "" {
		d, ok = (guard.Plan{Deadlines: ds}).Deadline(guard.DeadlineReason(e.Reason))
	} else {
		d, ok = (guard.Plan{Deadlines: ds}).Next()
	}
	var said []string
	for _, d := range ds {
		said = append(said, fmt.Sprintf("%s at %s", d.Reason, offsetText(d.Due.Sub(r.story.start))))
	}
	slices.Sort(said)
	if !ok {
		return badf("at %s there is no such deadline; there are %s", offsetText(at), orNone(said))
	}
	due := d.Due.Sub(r.story.start)
	if e.expires != nil && (due < *e.expires || due > e.wantTime.Sub(r.story.start)) {
		return badf("at %s there are %s", offsetText(at), orNone(said))
	}
	return ""
}

// egress judges how much guard says that a resource has sent, as it was at a moment.
func (r *runner) egress(e *expectation) verdict {
	at := r.moment(e)
	x, ok := r.ledger.egress[string(e.Egress)].last(at)
	switch {
	case !ok && e.Unknown:
		return ""
	case !ok:
		return badf("at %s nothing is known of it", offsetText(at))
	case e.Unknown:
		return badf("at %s it is known: %d bytes, as of %s", offsetText(at), x.Sent, offsetText(x.At.Sub(r.story.start)))
	case x.Sent < e.least || x.Sent > e.most:
		return badf("at %s it is %d bytes, as of %s", offsetText(at), x.Sent, offsetText(x.At.Sub(r.story.start)))
	}
	return ""
}

func orNone(parts []string) string {
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
