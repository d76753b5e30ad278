package soak

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/daemon/simulate"
	"guard/store"
)

// The promises that the checker holds guard to, in its own numbers: it shares no
// code with what it judges.
const (
	never         = 100 * 365 * 24 * time.Hour // of things that do not end
	defaultTTL    = 8 * time.Hour
	defaultGrace  = 10 * time.Minute
	defaultHold   = 2 * time.Hour
	defaultPoll   = time.Minute
	defaultSweep  = 5 * time.Minute
	defaultWarn   = time.Hour        // the first warning of an expiry
	verify        = 5 * time.Minute  // an accepted release is asked for again after that
	freshNotice   = 10 * time.Minute // the least after an odd fact or a long absence
	farAway       = time.Hour        // what lies further ahead does not come to now by one odd fact
	callWay       = 10 * time.Second // between a deadline and the provider's accepting
	percentHour   = 25               // law 7
	mostHour      = 10
	reactionTime  = 30 * time.Second // from a due moment in good weather until the call
	retryAtLeast  = 2 * time.Minute  // after bad weather until the next try, at most
	recheckAtMost = 6 * time.Minute  // the same where each look is a call that was refused
)

// Check says which promises were broken in a week that was played. What counts is
// what was scripted, the commands that worked, what the clouds know themselves and
// the requests they got; the ledger is only asked for what it claims about them.
// A check that the week makes undecidable is left out, never widened: each says in
// its comment which weeks those are.
func Check(w Week, h *simulate.History) []Violation {
	j := &judge{week: w, h: h, zero: w.Start.UTC()}
	if err := j.read(); err != nil {
		return []Violation{{Kind: "ledger", At: h.Length, Text: err.Error()}}
	}
	j.story()
	for _, b := range j.boxes {
		j.intents(b)
		j.looks(b)
		j.guessed(b)
		j.reasons(b)
		j.standing(b)
		j.limits(b)
		j.notices(b)
		j.oddities(b)
	}
	j.adoptions()
	j.absences()
	j.priceless()
	j.ends()
	j.surprises()
	j.strangers()
	j.deletions()
	j.overlooked()
	j.traffics()
	j.spendings()
	j.lumps()
	j.renewals()
	j.wallets()
	j.messages()
	j.nights()
	j.untold()
	j.explanations()
	slices.SortStableFunc(j.found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return j.found
}

// judge is one check.
type judge struct {
	week  Week
	h     *simulate.History
	zero  time.Time // the story's start
	own   string    // this ledger's deployment
	book  book
	boxes []*life
	byID  map[string]*life
	dead  []span // guard is down or asleep
	found []Violation
}

// book is what the ledger claims at the end.
type book struct {
	leases   []guard.Lease
	observed map[string]guard.Observed // by ACCOUNT/ID, of instances
	family   map[string][]guard.Observed
	metered  map[string]guard.Metered
	egress   map[string]guard.Egress // by ACCOUNT/ID
	releases []guard.Release         // open and ended
	findings []guard.Finding         // open and closed
	pending  map[string]guard.Message
	sent     map[string]guard.Message
	journal  []guard.JournalEntry
}

// wrong reports a violation.
func (j *judge) wrong(law int, kind string, at time.Duration, id, format string, args ...any) {
	j.found = append(j.found, Violation{Law: law, Kind: kind, At: at, ID: id, Text: fmt.Sprintf(format, args...)})
}

// read opens the ledger's bytes, and holds it to its own invariants.
func (j *judge) read() error {
	ctx := context.Background()
	ledger, err := store.Open(ctx, j.h.Ledger, guard.Instant{Wall: j.zero.Add(j.h.Length)})
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	if err := ledger.Check(ctx); err != nil {
		j.wrong(0, "ledger", j.h.Length, "", "%v", err)
	}
	j.own = ledger.Deployment()
	return ledger.View(ctx, func(v *store.View) error {
		j.book = book{observed: map[string]guard.Observed{}, family: map[string][]guard.Observed{}, metered: map[string]guard.Metered{}, egress: map[string]guard.Egress{},
			pending: map[string]guard.Message{}, sent: map[string]guard.Message{}}
		b := &j.book
		for _, read := range []func() error{
			func() error { return rows(v.Leases, func(l guard.Lease) { b.leases = append(b.leases, l) }) },
			func() error { return rows(v.Observed, j.observed) },
			func() error { return rows(v.Metered, func(m guard.Metered) { b.metered[m.Resource.Key()] = m }) },
			func() error { return rows(v.Egress, func(e guard.Egress) { b.egress[e.Resource.String()] = e }) },
			func() error { return rows(v.Releases, func(r guard.Release) { b.releases = append(b.releases, r) }) },
			func() error {
				return rows(v.EndedReleases, func(r guard.Release) { b.releases = append(b.releases, r) })
			},
			func() error { return rows(v.Findings, func(f guard.Finding) { b.findings = append(b.findings, f) }) },
			func() error {
				return rows(v.ClosedFindings, func(f guard.Finding) { b.findings = append(b.findings, f) })
			},
			func() error { return rows(v.Outbox, func(m guard.Message) { b.pending[m.ID] = m }) },
			func() error { return rows(v.SentMessages, func(m guard.Message) { b.sent[m.ID] = m }) },
		} {
			if err := read(); err != nil {
				return err
			}
		}
		b.journal, err = v.JournalSince(0, 0)
		return err
	})
}

func (j *judge) observed(o guard.Observed) {
	if o.Resource.ID.Kind == guard.Instance {
		j.book.observed[o.Resource.ID.String()] = o
	}
	if !o.Instance.IsZero() {
		j.book.family[o.Instance.String()] = append(j.book.family[o.Instance.String()], o)
	}
}

func rows[T any](t store.Table[T], fn func(T)) error {
	for r, err := range t.All("") {
		if err != nil {
			return err
		}
		fn(r)
	}
	return nil
}

// told are the messages about a resource or an account, whatever became of them.
func (j *judge) told(about func(guard.Message) bool) []guard.Message {
	var out []guard.Message
	for _, set := range []map[string]guard.Message{j.book.pending, j.book.sent} {
		for _, id := range slices.Sorted(maps.Keys(set)) {
			if m := set[id]; about(m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// aboutID reports whether a message is about ACCOUNT/ID.
func aboutID(m guard.Message, id string) bool {
	return slices.ContainsFunc(m.About, func(r guard.ResourceID) bool { return r.String() == id })
}

// releasesOf are the releases of ACCOUNT/ID, oldest first.
func (j *judge) releasesOf(id string) []guard.Release {
	var out []guard.Release
	for _, r := range j.book.releases {
		if r.Target.String() == id {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b guard.Release) int { return a.PlannedAt.Compare(b.PlannedAt) })
	return out
}
