package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/providers"
)

// wish is a registration as it was asked for, read and checked for itself.
type wish struct {
	wire.RegisterRequest
	account, id string
	acct        *providers.Account
	expires     time.Time // zero: not given
	budget      guard.Money
	price       guard.Rate
	grace       time.Duration
	onLimit     guard.Action
	lock        providers.Protection // the provider's own
	within      time.Duration        // how long it is expected for
	asked       time.Time            // when it was typed
	notes       []string
}

// wish reads the request and tells everything that is wrong with it at once.
func (s *server) wish(in wire.RegisterRequest, at guard.Instant) (*wish, error) {
	w := &wish{RegisterRequest: in, asked: at.Wall}
	var err error
	if in.Expect != nil && !strings.Contains(in.ID, "/") {
		w.account = strings.TrimSpace(in.ID)
	} else if w.account, w.id, err = s.resource(in.ID); err != nil {
		return nil, err
	}
	var ok bool
	if w.acct, ok = s.Account(w.account); !ok {
		return nil, s.noAccount(w.account)
	}
	var wrong []error
	try := func(given bool, read func() error) {
		if !given {
			return
		}
		if err := read(); err != nil {
			wrong = append(wrong, err)
		}
	}
	try(in.AskedAt != nil || in.Key != "", func() error { return s.kept(w, at) })
	try(in.Expect != nil, func() (err error) {
		if w.Expect.Name, err = line("name", in.Expect.Name, 255); err == nil && in.Expect.Within != "" {
			w.within, err = duration("within", in.Expect.Within)
		}
		return err
	})
	try(in.TTL != "" && in.Until != "", func() error {
		return faultf(guard.ErrInvalid, "ttl and until contradict each other: give one of them")
	})
	try(in.TTL != "", func() error {
		d, err := duration("ttl", in.TTL)
		if err != nil {
			return err
		}
		w.expires, err = s.ahead(d, w.asked, at)
		return err
	})
	try(in.Until != "", func() error {
		t, note, err := moment(in.Until, at.Wall, s.Location())
		w.expires = t
		if note != "" {
			w.notes = append(w.notes, note)
		}
		return err
	})
	try(in.Budget != "", func() (err error) {
		if w.budget, err = guard.ParseMoney(in.Budget); err != nil {
			return fmt.Errorf("budget: %w", err)
		}
		if !w.budget.IsPositive() {
			return faultf(guard.ErrInvalid, "budget: %s is nothing to spend: it must be above zero; leave it out where there is no cap", w.budget)
		}
		return nil
	})
	try(in.Price != "", func() (err error) {
		w.price, err = guard.ParseRate(in.Price)
		return err
	})
	try(in.Grace != "", func() (err error) {
		w.grace, err = duration("grace", in.Grace)
		return err
	})
	try(in.OnLimit != "", func() error {
		w.onLimit = guard.Action(in.OnLimit)
		if !slices.Contains([]guard.Action{guard.ActRelease, guard.ActStop, guard.ActAlert}, w.onLimit) {
			return faultf(guard.ErrInvalid, "on_limit: %q is none of release, stop, alert", clip(in.OnLimit))
		}
		return nil
	})
	try(true, func() (err error) { w.Purpose, err = line("purpose", in.Purpose, 300); return err })
	try(true, func() (err error) { w.Owner, err = line("owner", in.Owner, 100); return err })
	for _, k := range slices.Sorted(maps.Keys(in.Tags)) {
		try(true, func() error { return tag(k, in.Tags[k]) })
	}
	return w, together(in.ID, wrong)
}

// tag checks one tag of a lease.
func tag(k, v string) error {
	if strings.TrimSpace(k) == "" || strings.HasPrefix(k, "guard:") {
		return faultf(guard.ErrInvalid, "tag %q: tags need a name, and those that begin with guard: are guard's own", clip(k)).
			hinted("To keep guard from touching it, use guard protect.")
	}
	if _, err := line("tag "+clip(k), k, 128); err != nil {
		return err
	}
	_, err := line("tag "+clip(k), v, 256)
	return err
}

// together makes one error of several.
func together(id string, wrong []error) error {
	switch len(wrong) {
	case 0:
		return nil
	case 1:
		return wrong[0]
	}
	f := faultf(guard.ErrInvalid, "%d things are wrong with this registration of %s, and nothing was registered", len(wrong), clip(id))
	for _, err := range wrong {
		f.details = append(f.details, newProblem(err).Message)
	}
	return f
}

// apply puts what was asked for into a lease and leaves the rest.
func (s *server) apply(l *guard.Lease, w *wish) {
	if w.Purpose != "" {
		l.Purpose = w.Purpose
	}
	if !w.expires.IsZero() {
		l.ExpiresAt = w.expires
	}
	if w.budget.IsSet() {
		l.Budget = w.budget
	}
	if w.price.Known() {
		l.Price = w.price
	}
	if w.grace > 0 {
		l.Grace = w.grace
	}
	if w.onLimit != "" {
		l.OnLimit = w.onLimit
	}
	if len(w.Tags) > 0 {
		tags := maps.Clone(l.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		maps.Copy(tags, w.Tags)
		l.Tags = tags
	}
	if w.Expect != nil {
		within := w.within
		if within == 0 {
			within = expectFor
		}
		e := guard.Expect{Name: w.Expect.Name, From: w.asked, Until: w.asked.Add(within)}
		if l.Expect != nil {
			e.From = l.Expect.From
			if e.Name == "" {
				e.Name = l.Expect.Name
			}
		}
		l.Expect = &e
	}
	l.NoGPUOK = l.NoGPUOK || w.NoGPUOK
	l.AllowUnprotect = l.AllowUnprotect || w.AllowUnprotect
}

func tagText(tags map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, k+"="+tags[k])
	}
	return strings.Join(out, ", ")
}
