package fake

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"guard"
)

// periods are what a rate may be per.
var periods = map[string]time.Duration{
	"second": time.Second, "hour": time.Hour, "month": guard.Month, "gb_month": guard.Month,
}

// decimal bounds amounts as guard's own money does.
var decimal = regexp.MustCompile(`^\d{1,15}(\.\d{1,18})?$`)

func (s *Script) defaults() {
	s.Account = cmp.Or(s.Account, "fake")
	if s.Start.IsZero() {
		s.Start = DefaultStart
	}
	s.Start = s.Start.UTC()
	s.Identity = cmp.Or(s.Identity, "acct-"+s.Account)
	s.IdentityKind = cmp.Or(s.IdentityKind, "strong")
	s.Currency = cmp.Or(s.Currency, "USD")
	s.StopEffect = cmp.Or(s.StopEffect, guard.StopSavesCompute)
	s.Billing.Granularity = cmp.Or(max(s.Billing.Granularity, 0), time.Second)
	s.PageSize = cmp.Or(max(s.PageSize, 0), 100)
	switch {
	case s.ReleaseTakes == 0:
		s.ReleaseTakes = 30 * time.Second
	case s.ReleaseTakes < 0:
		s.ReleaseTakes = 0
	}
	if len(s.Scopes) == 0 {
		s.Scopes = []string{"default"}
	}
	if s.Time == nil {
		s.Time = func(at guard.Instant) time.Time { return at.Wall }
	}
}

// fill puts the defaults into a resource.
func (r *Resource) fill(s Script) {
	r.Kind = cmp.Or(r.Kind, guard.Instance)
	r.Scope = cmp.Or(r.Scope, s.Scopes[0])
	r.Identity = cmp.Or(r.Identity, s.Identity)
	r.State = cmp.Or(r.State, stateRunning)
	switch {
	case r.GPUs < 0 || r.Kind != guard.Instance:
		r.GPUs = 0
	case r.GPUs == 0:
		r.GPUs = 1
	}
}

// check finds every mistake in a script whose defaults are in.
func (s *Script) check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: fake account %s: %s", guard.ErrInvalid, s.Account, fmt.Sprintf(format, args...)))
	}
	if _, err := guard.NewMoney("0", s.Currency); err != nil {
		bad("currency: %q is none: write its code, such as USD or CNY", s.Currency)
	}
	if s.IdentityKind != "strong" && s.IdentityKind != "weak" {
		bad("identity_kind: %q must be strong or weak", s.IdentityKind)
	}
	switch s.StopEffect {
	case guard.StopSavesNothing, guard.StopSavesCompute, guard.StopSavesAll, guard.StopUnsupported:
	default:
		bad("stop_effect: %q must be nothing, compute, all or unsupported", s.StopEffect)
	}
	if !slices.Contains([]string{"", TimerKept, TimerIgnored}, s.Timer) {
		bad("timer: %q must be %s or %s", s.Timer, TimerKept, TimerIgnored)
	}
	if err := s.checkWallet(); err != nil {
		bad("%v", err)
	}
	if s.Billing.Minimum < 0 || s.Lag.Appears < 0 || s.Lag.Disappears < 0 || s.Lag.State < 0 {
		bad("billing and lag cannot be negative")
	}
	for key, tr := range map[string]*Traffic{"egress": s.Egress, "ingress": s.Ingress} {
		if err := tr.check(key); err != nil {
			bad("%v", err)
		}
	}
	seen := map[string]bool{}
	ids := map[string]bool{}
	for _, r := range s.Resources {
		r.fill(*s)
		if key := r.Identity + "\x00" + r.ID; seen[key] {
			bad("resource %q stands twice under one identity", r.ID)
		} else {
			seen[key] = true
		}
		errs = append(errs, checkResource(*s, r)...)
		note(ids, r)
	}
	for _, r := range s.Resources {
		for _, id := range r.Attached {
			if !ids[id] {
				bad("resource %q: attached: there is no %q", r.ID, id)
			}
		}
	}
	if err := checkEvents(*s, s.Timeline, func(id string) bool { return ids[id] }); err != nil {
		errs = append(errs, err)
	}
	for i, f := range s.Faults {
		if f.Call != "" && !slices.Contains(calls, f.Call) {
			bad("fault %d: call: %q is not one of %v", i+1, f.Call, calls)
		}
		if f.Scope != "" && !slices.Contains(s.Scopes, f.Scope) {
			bad("fault %d: there is no scope %q", i+1, f.Scope)
		}
	}
	return errors.Join(errs...)
}

var calls = []string{CallAny, CallList, CallGet, CallIdentity, CallStop, CallRelease, CallDelete, CallProtection, CallUnprotect, CallTag, CallSignals, CallArm, CallArmed, CallBalance, CallCharges}

// member is the ID of the n-th of many alike.
func member(id string, n int) string { return fmt.Sprintf("%s-%03d", id, n) }

// note adds the IDs that a resource may ever have or bring.
func note(ids map[string]bool, r Resource) {
	if r.Count > 1 {
		for i := range r.Count {
			ids[member(r.ID, i+1)] = true
		}
		return
	}
	ids[r.ID] = true
	if r.Relaunch != nil {
		for _, id := range r.Relaunch.IDs {
			ids[id] = true
		}
	}
}

func checkResource(s Script, r Resource) (errs []error) {
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: fake resource %q: %s", guard.ErrInvalid, r.ID, fmt.Sprintf(format, args...)))
	}
	if r.ID == "" {
		bad("it needs an id")
	}
	switch r.Kind {
	case guard.Instance, guard.Volume, guard.Snapshot, guard.Image, guard.Address, guard.Filesystem, guard.SpotRequest:
	default:
		bad("kind: %q is none of %s", r.Kind, strings.Trim(fmt.Sprint(guard.Kinds), "[]"))
	}
	if !slices.Contains(s.Scopes, r.Scope) {
		bad("scope: there is no %q among %v", r.Scope, s.Scopes)
	}
	if r.Count < 0 || r.Count > 1 && (len(r.Attached) > 0 || r.Relaunch != nil) {
		bad("count: many alike can have nothing attached and no relaunch")
	}
	for _, err := range []error{r.Rate.check("rate"), r.ListRate.check("list_rate"), r.StoppedRate.check("stopped_rate"),
		r.Lump.check(), r.Egress.check("egress"), r.Ingress.check("ingress")} {
		if err != nil {
			bad("%v", err)
		}
	}
	if r.SizeGB < 0 {
		bad("size_gb cannot be negative")
	}
	for _, p := range r.Protected {
		if p != "release" && p != "stop" {
			bad("protected: %q must be release or stop", p)
		}
	}
	if l := r.Relaunch; l != nil && (!slices.Contains([]string{"spot_request", "group", "controller"}, l.By) || l.After < 0 || l.Times < 0) {
		bad("relaunch: by must be spot_request, group or controller; after and times cannot be negative")
	}
	return errs
}

// noAmount refuses what is no number of the currency that stands elsewhere.
func noAmount(text string) error {
	return fmt.Errorf("%q is not a decimal number: write it without its currency, from 0 on, such as \"2.50\"", text)
}

func (r *Rate) check(key string) error {
	if r == nil {
		return nil
	}
	if !decimal.MatchString(r.Amount) {
		return fmt.Errorf("%s: %w", key, noAmount(r.Amount))
	}
	if periods[r.Per] == 0 {
		return fmt.Errorf("%s: per %q must be hour, month, gb_month or second", key, r.Per)
	}
	if r.Currency != "" {
		if _, err := guard.NewMoney("0", r.Currency); err != nil {
			return fmt.Errorf("%s: %q is no currency: write its code, such as USD or CNY", key, r.Currency)
		}
	}
	return nil
}

func checkEvents(s Script, events []Event, known func(id string) bool) error {
	coming := map[string]bool{}
	for _, e := range events {
		if e.Create != nil {
			note(coming, *e.Create)
		}
	}
	var errs []error
	for i, e := range events {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%w: fake account %s: event %d (%q): %s", guard.ErrInvalid, s.Account, i+1, e.ID, fmt.Sprintf(format, args...)))
		}
		var what int
		for _, is := range []bool{e.Reclaim != nil, e.State != "", e.Rate != nil, e.Delete, e.Set != nil, e.Detach, e.Attach != "", e.Create != nil, e.Identity != "", e.TopUp != "", e.Charge != nil,
			e.Signals != nil, e.SignalsFile != nil, e.SampleOffset != nil, e.Pulse != nil, e.Reboot} {
			if is {
				what++
			}
		}
		if what != 1 {
			bad("it must say one thing that happens, not %d", what)
		}
		if e.By != "" && e.By != guard.ByOutside && e.By != guard.ByPlatform {
			bad("by: %q must be outside or platform", e.By)
		}
		if err := e.Rate.check("rate"); err != nil {
			bad("%v", err)
		}
		if err := e.checkWatched(); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				bad("%s", line)
			}
		}
		switch {
		case e.Create != nil:
			r := *e.Create
			r.fill(s)
			errs = append(errs, checkResource(s, r)...)
		case e.Identity != "":
		case e.Charge != nil:
			if err := e.Charge.check(); err != nil {
				bad("%v", err)
			} else if !known(e.Charge.ID) && !coming[e.Charge.ID] {
				bad("charge: there is no %q", e.Charge.ID)
			}
		case e.TopUp != "":
			if more, err := s.inWallet(e.TopUp); err != nil {
				bad("top_up: %v", err)
			} else if more.Sign() < 0 || s.Balance == "" {
				bad("top_up: it is an amount above zero, where the account has a balance")
			}
		case !known(e.ID) && !coming[e.ID] && !(e.watched() && (known(member(e.ID, 1)) || coming[member(e.ID, 1)])):
			bad("there is no such resource")
		case e.Attach != "" && !known(e.Attach) && !coming[e.Attach]:
			bad("attach: there is no %q", e.Attach)
		}
	}
	return errors.Join(errs...)
}
