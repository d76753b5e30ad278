package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"guard"
	"guard/store"
)

const keep = 400 * 24 * time.Hour

// failing is a backend that takes some updates and fails from then on.
type failing struct {
	rows
	left int
}

var errCut = errors.New("cut off")

func (f *failing) Update(ctx context.Context, fn func(store.Writer) error) error {
	if f.left--; f.left < 0 {
		return errCut
	}
	return f.rows.Update(ctx, fn)
}

// past is a ledger with a past: what is open and what ended, at all ages.
type past struct {
	t     *rapid.T
	at    guard.Instant
	boxes []guard.ResourceID
}

// ago is a moment of the last three years, or just before or after Keep ago.
func (p *past) ago(what string) time.Time {
	if rapid.IntRange(0, 3).Draw(p.t, what+" at the edge") == 0 {
		return p.at.Wall.Add(-keep + time.Duration(rapid.IntRange(-1, 1).Draw(p.t, what))*time.Second)
	}
	return p.at.Wall.Add(-time.Duration(rapid.IntRange(0, 1100).Draw(p.t, what+" days ago")) * 24 * time.Hour)
}

func (p *past) yes(what string) bool { return rapid.Bool().Draw(p.t, what) }

// lease draws the ID of a lease that may be there, or none.
func (p *past) lease() string { return rapid.SampledFrom(append(leaseIDs, "")).Draw(p.t, "lease") }

func (p *past) box() guard.ResourceID { return rapid.SampledFrom(p.boxes).Draw(p.t, "box") }

var leaseIDs = []string{"l0", "l1", "l2"}

func (p *past) write(tx *store.Tx) error {
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	for i, id := range p.boxes {
		o := guard.Observed{Resource: guard.Resource{ID: id}}
		if p.yes("hung") {
			o.Instance = p.box()
		}
		if rapid.IntRange(0, 3).Draw(p.t, "lives") > 0 {
			gone := p.ago("gone")
			o.Gone = &guard.Gone{At: gone, ProvenAt: gone}
		}
		m := guard.Metered{Resource: id}
		for range max(0, rapid.IntRange(-3, 2).Draw(p.t, "segments")) {
			m.Lease = p.lease()
			m.Segments = append(m.Segments, guard.Segment{Resource: id, Lease: m.Lease})
		}
		for range max(0, rapid.IntRange(-3, 2).Draw(p.t, "quantities")) {
			m.Traffic = append(m.Traffic, guard.Quantity{Lease: p.lease()})
		}
		do(errors.Join(tx.Observed.Put(o), tx.Metered.Put(m), tx.Egress.Put(guard.Egress{Resource: id}), tx.Bills.Put(guard.Bill{Resource: id}), tx.SetValue(store.ThreadName("slack", id.Key()), i)))
		if rapid.IntRange(0, 2).Draw(p.t, "found") == 0 {
			p.found(tx, i, id, do)
		}
	}
	for _, id := range leaseIDs[:rapid.IntRange(0, 3).Draw(p.t, "leases")] {
		l := guard.Lease{ID: id, Resource: p.box(), Status: guard.LeaseActive, UpdatedAt: p.ago("updated")}
		if rapid.IntRange(0, 3).Draw(p.t, "claimed") > 0 {
			l.Status, l.EndedAt = guard.LeaseReleased, p.ago("ended")
		}
		do(tx.Leases.Put(l))
		if plan := (guard.Plan{Lease: id}); p.yes("planned") {
			if p.yes("family") {
				plan.Family = []string{p.box().Key()}
			}
			do(tx.Plans.Put(plan))
		}
	}
	return errors.Join(errs...)
}

// found writes what was found and done about a resource, and what was said of it.
func (p *past) found(tx *store.Tx, i int, id guard.ResourceID, do func(error)) {
	said := func(cause string, m guard.Message) {
		m.ID, m.Acked = "slack|"+cause+"|due", p.ago("said")
		do(tx.Queue(m))
		do(tx.Sent(m))
	}
	f := guard.Finding{Rule: guard.RuleExpired, Subject: id.String(), Resource: id, Lease: rapid.SampledFrom(leaseIDs).Draw(p.t, "lease found")}
	f.ID = f.Key() + "|1"
	if said(f.ID, guard.Message{Finding: f.ID}); p.yes("finding is over") {
		f.Closed = p.ago("closed")
		do(tx.CloseFinding(f))
	} else {
		do(tx.Findings.Put(f))
	}
	r := guard.Release{ID: id.Key() + "|expiry|1", Lease: p.lease(), Target: id, Action: guard.ActRelease, State: guard.ReleaseIssued}
	// A message may name its cause in its ID only.
	if said(r.ID, guard.Message{}); p.yes("release is over") {
		r.State, r.EndedAt = guard.ReleaseWithdrawn, p.ago("released")
		do(tx.EndRelease(r))
	} else {
		do(tx.Releases.Put(r))
	}
	do(tx.Mutes.Put(guard.Mute{Subject: id.String(), Kind: guard.Snooze, Until: p.ago("mute")}))
	do(tx.Tokens.Put(guard.Token{ID: fmt.Sprint("t", i), RevokedAt: p.ago("revoked")}))
}

func (p *past) journal(tx *store.Tx) error {
	at := p.ago("first entry")
	var errs []error
	for i := range rapid.IntRange(0, 12).Draw(p.t, "entries") {
		errs = append(errs, tx.Journal(guard.JournalEntry{At: at, Subject: p.box().String(), Lease: p.lease(), Text: fmt.Sprint(i)}))
		at = at.Add(time.Duration(rapid.IntRange(0, 200).Draw(p.t, "days later")) * 24 * time.Hour)
	}
	return errors.Join(errs...)
}

// Whatever the past, and wherever a prune is cut off: the ledger is true, all that
// is open and what it rests on is there, what ended less than Keep ago is there,
// and the next prune ends where one that was not cut off does.
func TestPrune(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { t.Parallel(); rapid.Check(t, pruned) })
	}
}

func pruned(t *rapid.T) {
	ctx := context.Background()
	p := &past{t: t, at: at}
	for i := range rapid.IntRange(1, 8).Draw(t, "boxes") {
		p.boxes = append(p.boxes, guard.ResourceID{Account: "lab", Kind: []guard.Kind{guard.Instance, guard.Volume}[i%2], ID: fmt.Sprint("x-", i/2)})
	}
	b := &failing{rows: rows{}, left: 100}
	l := opened(t, b)
	for _, fn := range []func(*store.Tx) error{p.write, p.journal} {
		if err := l.Update(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	before := maps.Clone(b.rows)

	whole := &failing{rows: maps.Clone(b.rows), left: 1000}
	done, err := opened(t, whole).Prune(ctx, store.PruneOptions{At: at, Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	kept(t, before, whole.rows)
	if n := len(before) - len(whole.rows); done.All() > n {
		t.Fatalf("%d removed of %+v", n, done)
	}

	b.left = rapid.IntRange(0, 20).Draw(t, "updates before the cut")
	if _, err := l.Prune(ctx, store.PruneOptions{At: at, Keep: keep}); err != nil && !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if err := l.Check(ctx); err != nil {
		t.Fatal("cut off:", err)
	}
	b.left = 1000
	l = opened(t, b)
	if _, err := l.Prune(ctx, store.PruneOptions{At: at, Keep: keep}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.rows, b.rows); diff != "" {
		t.Fatal("cut off and gone on with, it ends elsewhere:", diff)
	}
}

func opened(t *rapid.T, b store.Backend) *store.Ledger {
	l, err := store.Open(context.Background(), b, at)
	if err == nil {
		err = l.Check(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// kept checks what a prune may not and what it must remove.
func kept(t *rapid.T, before, after rows) {
	was, is := opened(t, before), opened(t, after)
	look := func(l *store.Ledger, fn func(v *store.View)) {
		if err := l.View(context.Background(), func(v *store.View) error { fn(v); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	old := func(over time.Time) bool { return over.Before(at.Wall.Add(-keep)) }
	look(was, func(w *store.View) {
		look(is, func(v *store.View) {
			same(t, "open findings", all(t, w.Findings, every), v.Findings)
			same(t, "open releases", all(t, w.Releases, every), v.Releases)
			same(t, "closed findings", all(t, w.ClosedFindings, func(f guard.Finding) bool { return !old(f.Closed) }), v.ClosedFindings)
			same(t, "mutes", all(t, w.Mutes, func(m guard.Mute) bool { return !old(m.Until) }), v.Mutes)
			same(t, "tokens", all(t, w.Tokens, func(tk guard.Token) bool { return !old(tk.RevokedAt) }), v.Tokens)
			same(t, "ended releases", all(t, w.EndedReleases, func(r guard.Release) bool { return !old(r.EndedAt) }), v.EndedReleases)
			open := map[string]bool{}
			for _, f := range all(t, w.Findings, every) {
				open["slack|"+f.ID+"|due"] = true
			}
			for _, r := range all(t, w.Releases, every) {
				open["slack|"+r.ID+"|due"] = true
			}
			same(t, "sent messages", all(t, w.SentMessages, func(m guard.Message) bool { return open[m.ID] || !old(m.Acked) }), v.SentMessages)
			claims(t, w, v, old)
			history(t, w, v, old)
		})
	})
}

// claims checks leases, and the resources that they count.
func claims(t *rapid.T, w, v *store.View, old func(time.Time) bool) {
	was, is := byID(all(t, w.Leases, every)), byID(all(t, v.Leases, every))
	for id, l := range was {
		_, planned, _ := w.Plans.Get(id)
		if _, ok, _ := v.Plans.Get(id); ok != (planned && is[id].ID != "") {
			t.Errorf("lease %s: is there %t, its plan %t", id, is[id].ID != "", ok)
		}
		if is[id].ID == "" && (l.Status.Open() || !old(l.EndedAt)) {
			t.Errorf("lease %+v was removed", l)
		}
	}
	lease := func(id, why string) {
		if was[id].ID != "" && is[id].ID == "" {
			t.Errorf("lease %s was removed: %s", id, why)
		}
	}
	leaseOf := func(id guard.ResourceID, why string) {
		l, _, _ := w.LeaseOf(id.Key())
		lease(l.ID, why)
	}
	resource := func(id guard.ResourceID, why string) {
		_, seen, _ := v.Observed.Get(id.Key())
		_, metered, _ := v.Metered.Get(id.Key())
		var n int
		thread, _ := v.Value(store.ThreadName("slack", id.Key()), &n)
		_, sent, _ := v.Egress.Get(id.Key())
		_, billed, _ := v.Bills.Get(id.Key())
		sent = sent || billed
		if !id.IsZero() && (!seen || !metered || !thread || !sent) {
			t.Errorf("%s was removed: %s: it is there %t, metered %t, its thread %t, its traffic %t", id.Key(), why, seen, metered, thread, sent)
		}
	}
	for _, o := range all(t, w.Observed, every) {
		m, _, _ := w.Metered.Get(o.Resource.ID.Key())
		stays := o.Live() || !old(o.Gone.At)
		if stays {
			resource(o.Resource.ID, "it lives, or did not long ago")
			leaseOf(o.Resource.ID, "its resource stays")
			leaseOf(o.Instance, "what hung on its instance stays")
		}
		if _, seen, _ := v.Observed.Get(o.Resource.ID.Key()); !seen {
			if _, sent, _ := v.Egress.Get(o.Resource.ID.Key()); sent {
				t.Errorf("the traffic of %s stays without it", o.Resource.ID)
			}
		}
		var payers []string
		for _, s := range m.Segments {
			payers = append(payers, s.Lease)
		}
		for _, q := range m.Traffic {
			payers = append(payers, q.Lease)
		}
		for _, payer := range payers {
			if is[payer].ID != "" {
				resource(o.Resource.ID, "lease "+payer+" counts it")
			} else if stays {
				lease(payer, "what it pays for stays")
			}
		}
	}
	for _, l := range is {
		resource(l.Resource, "lease "+l.ID+" is of it")
	}
	for _, plan := range all(t, v.Plans, every) {
		for _, o := range all(t, w.Observed, func(o guard.Observed) bool { return slices.Contains(plan.Family, o.Resource.ID.Key()) }) {
			resource(o.Resource.ID, "it is of the family of "+plan.Lease)
		}
	}
	for _, r := range all(t, v.Releases, every) {
		resource(r.Target, "a release of it is open")
		lease(r.Lease, "a release is open")
	}
	for _, f := range all(t, v.Findings, every) {
		resource(f.Resource, "a finding of it is open")
		lease(f.Lease, "a finding is open")
	}
	for _, o := range all(t, v.Observed, every) {
		resource(o.Instance, "what stays hung on it")
	}
}

func byID(leases []guard.Lease) map[string]guard.Lease {
	out := map[string]guard.Lease{}
	for _, l := range leases {
		out[l.ID] = l
	}
	return out
}

// history checks that the journal has lost its old front, and nothing else.
func history(t *rapid.T, w, v *store.View, old func(time.Time) bool) {
	entries, err := w.JournalSince(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for len(entries) > 0 && old(entries[0].At) {
		entries = entries[1:]
	}
	got, err := v.JournalSince(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error("journal:", diff)
	}
	if newest, err := v.JournalOf("", 0); err != nil || len(newest) != len(entries) {
		t.Errorf("the newest of %d entries are %d, %v", len(entries), len(newest), err)
	}
}

func every[T any](T) bool { return true }

func all[T any](t *rapid.T, rows store.Table[T], which func(T) bool) []T {
	var out []T
	for r, err := range rows.All("") {
		if err != nil {
			t.Fatal(err)
		}
		if which(r) {
			out = append(out, r)
		}
	}
	return out
}

func same[T any](t *rapid.T, what string, want []T, rows store.Table[T]) {
	if diff := cmp.Diff(want, all(t, rows, every)); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
