package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy/spend"
	"guard/store"
)

// late is how old a message may be before it counts as undelivered although no
// try has failed.
const late = 5 * time.Minute

type nothing struct{}

func (s *server) status(ctx context.Context, at guard.Instant, _ *nothing) (wire.Status, error) {
	health := s.Health(at)
	out := wire.Status{Now: s.now(at), Version: s.Version, Deployment: s.Ledger.Deployment(), TimeZone: s.Location().String(), Channels: append([]string{}, s.Channels()...),
		Attention: []string{}, Accounts: []wire.Account{}, Loops: []wire.Loop{}, Burn: []string{}, Pressing: []string{}, Delivery: []wire.Channel{}, Paused: s.paused()}
	if p := out.Paused; p != nil {
		need(&out, fmt.Sprintf("guard acts nowhere since %s, because %s; once that is right: guard resume", p.Since.Format(time.RFC3339), p.Why), "")
	}
	for _, l := range health.Loops {
		l.Last, l.Next = s.inZone(l.Last), s.inZone(l.Next)
		out.Loops = append(out.Loops, l)
	}
	err := s.Ledger.View(ctx, func(v *store.View) error {
		b, err := read(v, "")
		if err != nil {
			return err
		}
		s.counts(b, at, &out)
		if err := s.accounts(v, b, at, &out); err != nil {
			return err
		}
		s.pressing(b, &out)
		s.failing(b, health.Loops, s.deaf(&out), &out)
		return s.messages(v, at, &out)
	})
	if s.Storage != nil {
		st := s.Storage(ctx)
		st.Newest = s.inZone(st.Newest)
		if out.Storage = &st; st.Trouble != "" {
			need(&out, "the ledger's place", st.Trouble)
		}
		if st.Overdue {
			text := "there is no backup in " + st.Folder
			if st.Newest != nil {
				text = fmt.Sprintf("the newest backup in %s is of %s", st.Folder, st.Newest.Format(time.RFC3339))
			}
			need(&out, text+"; guardd backup TO makes one", "")
		}
	}
	for _, l := range health.Loops {
		if l.Stale {
			text := fmt.Sprintf("the loop %s stands still", l.Name)
			if l.Last != nil {
				text += " since " + l.Last.In(s.Location()).Format(time.RFC3339)
			}
			need(&out, text+"; look at guardd's log (journalctl -u guardd)", l.Error)
		}
	}
	return out, err
}

// failing tells of loops whose last run failed, which the ledger may know nothing
// of: on a full disk nothing can be written down. A provider that cannot be read is
// told as the account's trouble, once it lasts; of what said names it is told already.
func (s *server) failing(b *book, loops []wire.Loop, said []string, out *wire.Status) {
	for _, l := range loops {
		account, observes := strings.CutPrefix(l.Name, "observe/")
		if l.Error == "" || l.Stale || slices.Contains(said, l.Name) || observes && !b.accounts[account].Failing.IsZero() {
			continue
		}
		need(out, fmt.Sprintf("the loop %s fails and is tried again", l.Name), l.Error)
	}
}

// need adds what a person has to look at.
func need(out *wire.Status, text, why string) {
	if why != "" {
		text += ": " + why
	}
	out.Attention = append(out.Attention, text)
}

// press adds what a person has to look at that is told nowhere else.
func press(out *wire.Status, text, why string) {
	need(out, text, why)
	out.Pressing = append(out.Pressing, out.Attention[len(out.Attention)-1])
}

func (s *server) counts(b *book, at guard.Instant, out *wire.Status) {
	var segs []guard.Segment
	for _, key := range b.keys {
		o := b.observed[key]
		if !o.Live() {
			continue
		}
		segs = append(segs, spend.Segments(b.metered[key])...)
		if o.Resource.ID.Kind != guard.Instance {
			continue
		}
		out.Counts.Instances++
		if l, ok := b.leases[key]; ok && l.Status.Open() {
			out.Counts.Registered++
		} else {
			out.Counts.Unregistered++
		}
	}
	burn := spend.Burn(segs, at.Wall)
	for _, m := range burn.Known {
		out.Burn = append(out.Burn, readable(m))
	}
	out.Counts.NoPrice = len(burn.Unknown)
	for _, fs := range b.findings {
		out.Counts.Findings += len(fs)
		for _, f := range fs {
			if f.Rule == guard.RuleStoppedBilling {
				out.Stopped = append(out.Stopped, f.Title)
			}
		}
	}
	slices.Sort(out.Stopped)
	out.Counts.Releases = len(b.releases)
}

// accounts tells how each account stands: the configured ones, and those that
// the ledger still needs. What cannot be read is told with its account at once; it needs a
// person where it lasts, or was never read.
func (s *server) accounts(v *store.View, b *book, at guard.Instant, out *wire.Status) error {
	blind, why, hidden := map[string][]string{}, map[string]string{}, map[string]bool{}
	for sc, err := range v.Scopes.All("") {
		if err != nil {
			return err
		}
		acct, ok := s.Account(sc.Account)
		if st := b.accounts[sc.Account]; !ok || sc.Failing.IsZero() || st.Mismatch != "" || !st.Failing.IsZero() {
			continue // of an account that cannot be seen at all that is what is told
		}
		scope := cmp.Or(sc.Scope, "everywhere")
		blind[sc.Account] = append(blind[sc.Account], scope+" "+sc.Kind.Plural())
		every := acct.Sweep
		if sc.Kind == guard.Instance {
			every = acct.Poll
			if !hidden[sc.Account] { // what was heard last, for these are asked most often
				why[sc.Account], hidden[sc.Account] = sc.Error, true
			}
		}
		why[sc.Account] = cmp.Or(why[sc.Account], sc.Error)
		if at.Wall.Sub(sc.Failing) >= 2*every || sc.Complete.IsZero() {
			need(out, fmt.Sprintf("account %s: %s in %s cannot be listed since %s", sc.Account, sc.Kind.Plural(), scope, sc.Failing.In(s.Location()).Format(time.RFC3339)), sc.Error)
		}
	}
	for _, name := range s.AccountNames() {
		acct, ok := s.Account(name)
		if !ok {
			continue
		}
		st := b.accounts[name]
		a := wire.Account{Name: name, Provider: acct.Kind, Mode: string(acct.Mode), Identity: st.Identity.ID, Self: st.Identity.Self,
			Polled: s.local(st.Polled), State: "ok", Blind: blind[name], Error: why[name], BillError: st.Bill.Error}
		var err error
		if a.Balance, err = s.balance(v, b, name, at.Wall); err != nil {
			return err
		}
		switch {
		case st.Mismatch != "":
			a.State = "mismatch"
			a.Error = fmt.Sprintf("its credentials now belong to %s, not to %s", st.Mismatch, st.Identity.ID)
			if st.Twin != "" {
				a.Error = fmt.Sprintf("its credentials are account %s's too (%s): remove one of the two from the configuration", st.Twin, st.Mismatch)
			}
			need(out, fmt.Sprintf("account %s: guard does nothing there until the right credentials are back", name), a.Error)
		case !st.Failing.IsZero():
			a.State, a.Error = "unreachable", st.Error
			if at.Wall.Sub(st.Failing) >= 2*acct.Poll || st.Polled.IsZero() {
				need(out, fmt.Sprintf("account %s cannot be read since %s", name, st.Failing.In(s.Location()).Format(time.RFC3339)), st.Error)
			}
		case st.Polled.IsZero():
			a.State = "new"
		case hidden[name]:
			a.State = "blind"
		}
		out.Accounts = append(out.Accounts, a)
	}
	return s.removed(b, out)
}

// removed tells of accounts that open leases need and nobody configures.
func (s *server) removed(b *book, out *wire.Status) error {
	open := map[string]int{}
	for _, l := range b.leases {
		if _, ok := s.Account(l.Resource.Account); !ok && l.Status.Open() {
			open[l.Resource.Account]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		st := b.accounts[name]
		out.Accounts = append(out.Accounts, wire.Account{Name: name, Provider: st.Provider, Mode: string(st.Mode), Identity: st.Identity.ID,
			Polled: s.local(st.Polled), State: "removed"})
		leases := "1 open lease needs it"
		if n := open[name]; n > 1 {
			leases = fmt.Sprintf("%d open leases need it", n)
		}
		need(out, fmt.Sprintf("account %s is not configured any more, and %s", name, leases), "")
	}
	return nil
}

// urgentRules are the findings that need a person and are not told of otherwise.
var urgentRules = []guard.Rule{guard.RuleReleaseStalled, guard.RuleUnitMismatch, guard.RuleClockJump}

// pressing tells of blocked releases and of findings that only a person can end.
func (s *server) pressing(b *book, out *wire.Status) {
	for _, key := range slices.Sorted(maps.Keys(b.releases)) {
		r := b.releases[key]
		if r.State != guard.ReleaseBlocked {
			continue
		}
		out.Counts.Blocked++
		text := fmt.Sprintf("the release of %s is blocked (%s) since %s, and it goes on billing", r.Target, r.Reason, r.BlockedAt.In(s.Location()).Format(time.RFC3339))
		if r.Reason == guard.BlockSurprise {
			text += "; if it is right: guard release " + r.Target.String()
		}
		press(out, text, told(r))
	}
	for _, key := range slices.Sorted(maps.Keys(b.findings)) {
		for _, f := range b.findings[key] {
			if slices.Contains(urgentRules, f.Rule) && (f.Urgent || f.Rule != guard.RuleClockJump) { // one that was put right needs nobody
				press(out, f.Title, "")
			}
		}
	}
}

// told is the last error of a release without what stands before it anyway:
// "release lab/i-1: terminate lab/i-1: protected …" is about lab/i-1.
func told(r guard.Release) string {
	text := r.LastError
	for {
		verb, rest, ok := strings.Cut(text, " "+r.Target.String()+": ")
		if !ok || strings.ContainsAny(verb, " :") {
			return text
		}
		text = rest
	}
}

// messages tells how each channel takes what it is given.
func (s *server) messages(v *store.View, at guard.Instant, out *wire.Status) error {
	if s.Delivery == nil {
		return nil
	}
	channels, err := s.Delivery(v)
	if err != nil {
		return err
	}
	for _, c := range channels {
		out.Counts.Pending += c.Undelivered
		due := c.Undelivered - c.Held
		c.Overdue = due > 0 && (c.Error != "" || c.Oldest != nil && at.Wall.Sub(*c.Oldest) >= late)
		c.Oldest, c.LastTaken, c.NextTry = s.inZone(c.Oldest), s.inZone(c.LastTaken), s.inZone(c.NextTry)
		c.HeldUntil, c.Failing, c.StandInSince = s.inZone(c.HeldUntil), s.inZone(c.Failing), s.inZone(c.StandInSince)
		out.Delivery = append(out.Delivery, c)
		if c.StandIn != "" && c.Failing != nil {
			instead := c.StandIn + " is told what is urgent in its place"
			if c.StandIn == "log" {
				instead = "no other channel is well, so only guardd's log is told"
			}
			need(out, fmt.Sprintf("%s takes nothing since %s; %s", c.Name, c.Failing.Format(time.RFC3339), instead), "")
		}
		if !c.Overdue {
			continue
		}
		many := fmt.Sprintf("1 message to %s is not delivered,", c.Name)
		if due > 1 {
			many = fmt.Sprintf("%d messages to %s are not delivered, the oldest", due, c.Name)
		}
		if c.Oldest != nil {
			many += " since " + c.Oldest.Format(time.RFC3339)
		}
		need(out, many+" ("+c.Title+")", c.Error)
	}
	return nil
}

// backup copies the ledger while work goes on.
func (s *server) backup(ctx context.Context, at guard.Instant, in wire.BackupRequest) (wire.BackupAnswer, error) {
	out := wire.BackupAnswer{Now: s.now(at), Path: in.To}
	if s.Backup == nil {
		return out, faultf(guard.ErrUnsupported, "this guardd has no ledger file to copy")
	}
	if !filepath.IsAbs(in.To) || filepath.Clean(in.To) != in.To {
		return out, faultf(guard.ErrInvalid, "to: %q is not an absolute path; guardd writes the file on its own machine", clip(in.To))
	}
	if err := s.Backup(ctx, in.To); err != nil {
		return out, err
	}
	err := s.Ledger.Update(ctx, func(tx *store.Tx) error {
		return tx.Journal(signed(ctx, guard.JournalEntry{At: at.Wall, Verb: "backed up", Text: "the ledger was copied to " + in.To}))
	})
	return out, err
}

// doctor looks at everything that guard stands on, now.
func (s *server) doctor(ctx context.Context, at guard.Instant, _ *nothing) (wire.Diagnosis, error) {
	if s.Examine == nil {
		return wire.Diagnosis{Now: s.now(at), Sections: []wire.Section{}}, faultf(guard.ErrUnsupported, "this guardd has nothing to examine")
	}
	st, err := s.status(ctx, at, nil)
	if err != nil {
		return wire.Diagnosis{Now: s.now(at), Sections: []wire.Section{}}, err
	}
	return s.Examine(ctx, at, st), nil
}

type healthOut struct {
	Status int
	Body   wire.Health
}

// health answers 503 while a loop stands still, for what watches by status.
func (s *server) health(at guard.Instant) *healthOut {
	h := s.Health(at)
	h.Version = s.Version
	out := &healthOut{Status: http.StatusOK, Body: h}
	if !h.OK {
		out.Status = http.StatusServiceUnavailable
	}
	return out
}
