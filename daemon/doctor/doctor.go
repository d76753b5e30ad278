// Package doctor says what is wrong with what guard stands on and what to do about
// it, in words for somebody who has never seen it: the accounts and what their
// credentials allow, the clock, the loops, the ledger's file and its backups, the
// channels, what waits for a person. It changes nothing anywhere.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers"
	"guard/store"
)

// Channel is one place where people read.
type Channel interface{ Name() string }

// Checker is a channel that can tell without a post whether it would take one, and in
// words what it is.
type Checker interface {
	Check(ctx context.Context) (string, error)
}

// Patient is what is looked at. What is not there is left out.
type Patient struct {
	Accounts []*providers.Account
	// Leased are instances that open leases claim: on those a dry run says most.
	Leased   []guard.ResourceID
	Channels []Channel
	// Status is what the ledger and the loops say; nil where neither can be asked.
	Status *wire.Status
	// Stopped tells that no daemon runs: there are no loops, and what Status has is
	// as old as the last one.
	Stopped bool
}

// patience bounds all questions to one account or channel.
const patience = 45 * time.Second

// Examine looks at everything, accounts and channels at the same time. Each part is
// there, with at least one point.
func Examine(ctx context.Context, at guard.Instant, p Patient) wire.Diagnosis {
	ctx, cancel := context.WithTimeout(guard.WithInstant(ctx, at), patience)
	defer cancel()
	accounts := make([]wire.Section, len(p.Accounts))
	channels := make([][]wire.Point, len(p.Channels))
	var wg sync.WaitGroup
	for i, a := range p.Accounts {
		wg.Go(func() { accounts[i] = account(ctx, a, p) })
	}
	for i, c := range p.Channels {
		wg.Go(func() { channels[i] = channel(ctx, c) })
	}
	wg.Wait()
	out := wire.Diagnosis{Now: at.Wall, Sections: accounts}
	if s := p.Status; s != nil {
		out.Now = s.Now
		out.Sections = append(out.Sections, removed(*s)...)
		if !p.Stopped {
			out.Sections = append(out.Sections, loops(*s))
		}
		out.Sections = append(out.Sections, waiting(*s))
		if s.Storage != nil {
			out.Sections = append(out.Sections, storage(*s.Storage))
		}
	}
	return wire.Diagnosis{Now: out.Now, Sections: append(out.Sections, people(channels, p.Status))}
}

// Of makes a point.
func Of(state, do, format string, args ...any) wire.Point {
	return wire.Point{State: state, Text: fmt.Sprintf(format, args...), Do: do}
}

// account is what one account's credentials allow, and how guard sees it.
func account(ctx context.Context, a *providers.Account, p Patient) wire.Section {
	out := wire.Section{Name: "account " + a.Name}
	if a.Prober == nil {
		out.Points = append(out.Points, Of(wire.PointNote, "", "what its credentials allow cannot be tried at this provider (%s)", a.Kind))
	} else {
		var on []guard.ResourceID
		for _, id := range p.Leased {
			if id.Account == a.Name {
				on = append(on, id)
			}
		}
		out.Points = append(out.Points, probed(a.Prober.Probe(ctx, on...), a.Mode)...)
	}
	if p.Status == nil {
		return out
	}
	for _, s := range p.Status.Accounts {
		if s.Name == a.Name {
			out.Points = append(out.Points, seen(s)...)
		}
	}
	return out
}

// probed are the checks of a probe; what is allowed is one line together.
func probed(checks []providers.Check, mode guard.Mode) []wire.Point {
	var out []wire.Point
	var allowed []string
	for _, c := range checks {
		text := c.Name
		if c.Text != "" {
			text += ": " + c.Text
		}
		switch c.Outcome {
		case providers.CheckOK:
			allowed = append(allowed, c.Name)
		case providers.CheckRefused:
			state := wire.PointFail
			if c.Acts && mode != guard.Enforce {
				state, text = wire.PointWarn, text+" (needed once the account is in enforce)"
			}
			out = append(out, wire.Point{State: state, Text: text, Do: c.Do})
		case providers.CheckUntried:
			out = append(out, wire.Point{State: wire.PointNote, Text: text, Do: c.Do})
		default:
			out = append(out, wire.Point{State: wire.PointWarn, Text: text, Do: c.Do})
		}
	}
	if len(allowed) > 0 {
		out = append([]wire.Point{{State: wire.PointOK, Text: strings.Join(allowed, ", ")}}, out...)
	}
	return out
}

// seen is how guard sees an account.
func seen(a wire.Account) []wire.Point {
	var out []wire.Point
	switch a.State {
	case "mismatch":
		out = append(out, Of(wire.PointFail, "put the right credentials back, or configure the other account under a name of its own", "%s", a.Error))
	case "unreachable":
		out = append(out, Of(wire.PointFail, "check the network, the credentials and the endpoint; guard tries again by itself", "it cannot be read: %s", a.Error))
	case "new":
		out = append(out, Of(wire.PointNote, "", "it has not been read yet"))
	case "blind":
		out = append(out, Of(wire.PointNote, "", "mode %s, asked at %s", a.Mode, clock(a.Polled)))
	default:
		out = append(out, Of(wire.PointOK, "", "mode %s, read at %s", a.Mode, clock(a.Polled)))
	}
	for i, b := range a.Blind {
		point := Of(wire.PointWarn, "mend that, or leave out of the configuration what guard is not to see; it tries again by itself", "guard cannot list %s", b)
		if i == 0 && a.Error != "" && a.State != "mismatch" && a.State != "unreachable" {
			point.Text += ": " + a.Error
		}
		out = append(out, point)
	}
	if a.BillError != "" {
		out = append(out, Of(wire.PointWarn, "allow the key to read the bill, or live without what it would tell", "its bill cannot be read: %s", a.BillError))
	}
	return out
}

// removed are the accounts that leases need and nobody configures.
func removed(s wire.Status) []wire.Section {
	var out []wire.Section
	for _, a := range s.Accounts {
		if a.State == "removed" {
			out = append(out, wire.Section{Name: "account " + a.Name, Points: []wire.Point{
				Of(wire.PointFail, "configure it again until its leases are released", "it is not configured any more, and open leases need it")}})
		}
	}
	return out
}

// loops tell whether the daemon does its work in time.
func loops(s wire.Status) wire.Section {
	out := wire.Section{Name: "loops"}
	for _, l := range s.Loops {
		switch {
		case l.Stale:
			out.Points = append(out.Points, Of(wire.PointFail, "look at guardd's log (journalctl -u guardd), then restart it", "%s stands still since %s", l.Name, clock(l.Last)))
		case l.Error != "":
			out.Points = append(out.Points, Of(wire.PointWarn, "it is tried again by itself; if it stays, do what it says", "%s fails: %s", l.Name, l.Error))
		}
	}
	if len(out.Points) == 0 {
		out.Points = append(out.Points, Of(wire.PointOK, "", "%d loops run in time", len(s.Loops)))
	}
	return out
}

// waiting is what a person has to end.
func waiting(s wire.Status) wire.Section {
	out := wire.Section{Name: "releases"}
	if p := s.Paused; p != nil {
		out.Points = append(out.Points, Of(wire.PointWarn, "guard resume, once that is right", "guard acts nowhere since %s: %s", clock(&p.Since), p.Why))
	}
	for _, text := range s.Pressing {
		out.Points = append(out.Points, Of(wire.PointFail, "guard why ACCOUNT/ID tells the whole story", "%s", text))
	}
	if len(out.Points) == 0 {
		out.Points = append(out.Points, Of(wire.PointOK, "", "%d open, none blocked", s.Counts.Releases))
	}
	return out
}

// people tells who would be told, and whether they are.
func people(checked [][]wire.Point, s *wire.Status) wire.Section {
	out := wire.Section{Name: "people"}
	for _, points := range checked {
		out.Points = append(out.Points, points...)
	}
	if s == nil {
		return out
	}
	for _, c := range s.Delivery {
		if c.Overdue {
			out.Points = append(out.Points, Of(wire.PointFail, "do what it says; the messages are kept and tried again", "%d messages to %s wait, the oldest since %s: %s", c.Undelivered, c.Name, clock(c.Oldest), c.Error))
		}
	}
	if len(s.Channels) == 1 && s.Channels[0] == "log" {
		out.Points = append(out.Points, Of(wire.PointNote, "set notify.slack in the configuration", "only guardd's log is told"))
	}
	if len(s.Channels) == 0 && len(checked) == 0 {
		out.Points = append(out.Points, Of(wire.PointWarn, "set notify.slack in the configuration", "nobody is told"))
	}
	return out
}

// channel asks a channel whether it would take a message.
func channel(ctx context.Context, c Channel) []wire.Point {
	checker, ok := c.(Checker)
	if !ok {
		return []wire.Point{Of(wire.PointOK, "", "%s", c.Name())}
	}
	text, err := checker.Check(ctx)
	if err != nil {
		return []wire.Point{Of(wire.PointFail, "mend it: guard keeps what it has to say, and acts on budgets all the same", "%s: %v", c.Name(), err)}
	}
	return []wire.Point{Of(wire.PointOK, "", "%s: %s", c.Name(), text)}
}

// storage is the ledger's file and its backups.
func storage(s wire.Storage) wire.Section {
	out := wire.Section{Name: "ledger"}
	if s.Error != "" {
		out.Points = append(out.Points, Of(wire.PointFail, "do what it says", "%s: %s", s.Path, s.Error))
	} else {
		out.Points = append(out.Points, Of(wire.PointOK, "", "%s: schema %d, %s, %s of %s free", s.Path, s.Schema, size(s.Size), size(s.Free), size(s.Disk)))
	}
	if s.Trouble != "" {
		out.Points = append(out.Points, Of(wire.PointWarn, "make room, or move the ledger to a larger disk", "%s", s.Trouble))
	}
	const makeOne = "guardd backup TO makes one while the daemon works; guardd's log says why none was made"
	switch {
	case s.Error != "":
	case s.Folder == "":
		out.Points = append(out.Points, Of(wire.PointNote, "set backup: in the configuration", "guard makes no backups by itself"))
	case s.Newest == nil && s.Overdue:
		out.Points = append(out.Points, Of(wire.PointWarn, makeOne, "there is no backup in %s", s.Folder))
	case s.Newest == nil:
		out.Points = append(out.Points, Of(wire.PointNote, "", "no backup was due yet (%s)", s.Folder))
	case s.Overdue:
		out.Points = append(out.Points, Of(wire.PointWarn, makeOne, "the newest of %d backups in %s is of %s", s.Backups, s.Folder, clock(s.Newest)))
	default:
		out.Points = append(out.Points, Of(wire.PointOK, "", "%d backups in %s, the newest of %s", s.Backups, s.Folder, clock(s.Newest)))
	}
	return out
}

// clock is a time as people read it.
func clock(t *time.Time) string {
	if t == nil {
		return "a time that is not known"
	}
	zone := t.Format("-07:00")
	if zone == "+00:00" {
		zone = "UTC"
	}
	return t.Format("2006-01-02 15:04:05 ") + zone
}

// size is a number of bytes as people read it.
func size(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, name := float64(n)/unit, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if f < unit {
			break
		}
		f, name = f/unit, next
	}
	return fmt.Sprintf("%.1f %s", f, name)
}

// Leased are the instances that open leases claim.
func Leased(ctx context.Context, l *store.Ledger) ([]guard.ResourceID, error) {
	var out []guard.ResourceID
	err := l.View(ctx, func(v *store.View) error {
		out = nil
		for lease, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			if lease.Status.Open() && lease.Resource.ID != "" {
				out = append(out, lease.Resource)
			}
		}
		return nil
	})
	return out, err
}
