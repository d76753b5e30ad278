package api

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/policy/presence"
	"guard/policy/spend"
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
	notes       []string
}

func (s *server) register(ctx context.Context, at guard.Instant, in wire.RegisterRequest) (wire.Registered, error) {
	out := wire.Registered{Now: s.now(at), Changes: []wire.Change{}}
	w, err := s.wish(in, at)
	if err != nil {
		return out, err
	}
	fresh, identity, err := s.inspect(ctx, at, "register", w.account, w.id, w.acct)
	if err != nil {
		return out, err
	}
	w.lock = locked(ctx, w.acct, fresh)
	var warnings, defaults []string
	c, e, err := s.decide(ctx, at, w.account, w.id, func(c *scene) (edit, error) {
		if c.inLedger && c.observed.Live() {
			c.observed = renewed(c.observed, fresh, at)
		} else {
			c.observed = spend.First(fresh, identity, at.Wall)
		}
		c.attach()
		var l guard.Lease
		var err error
		if l, defaults, err = s.claim(c, w); err != nil {
			return edit{}, err
		}
		if warnings, err = s.judge(c, w, l); err != nil {
			return edit{}, err
		}
		return s.registration(c, l, &out), nil
	})
	if err != nil {
		return out, err
	}
	l := *e.lease
	s.after(c, l)
	out.Item, out.Limits = s.outcome(c, l)
	if out.Erases, out.Survives = []string{}, []string{}; l.OnLimit != guard.ActAlert && !out.Item.Protected {
		out.Erases, out.Survives = s.losses(c.book, c.observed, c.acct, l.OnLimit)
	}
	out.Notes, out.Warnings, out.Defaults = w.notes, append(warnings, s.soon(l, c.book.plans[l.ID], at)...), defaults
	s.kick("observe/"+w.account, "meter", "decide", "release/"+w.account)
	return out, nil
}

// wish reads the request and tells everything that is wrong with it at once.
func (s *server) wish(in wire.RegisterRequest, at guard.Instant) (*wish, error) {
	w := &wish{RegisterRequest: in}
	var err error
	if w.account, w.id, err = s.resource(in.ID); err != nil {
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
	try(in.TTL != "" && in.Until != "", func() error {
		return faultf(guard.ErrInvalid, "ttl and until contradict each other: give one of them")
	})
	try(in.TTL != "", func() error {
		d, err := duration("ttl", in.TTL)
		if err != nil {
			return err
		}
		w.expires, err = s.fromNow(d, at)
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

// claim is the lease as it will be: the one that is there with what was asked
// for, or a new one. It also names what the daemon's defaults filled in.
func (s *server) claim(c *scene, w *wish) (guard.Lease, []string, error) {
	if c.lease == nil || !c.lease.Status.Open() {
		return s.fresh(c, w)
	}
	l := *c.lease
	mine := w.Owner == l.Owner || w.Owner == "" && (c.who == l.Owner || c.who == l.UpdatedBy)
	if !mine && !w.Reassign {
		until := "without an expiry"
		if !l.ExpiresAt.IsZero() {
			until = "until " + l.ExpiresAt.In(s.Location()).Format(time.RFC3339)
		}
		return l, nil, faultf(guard.ErrConflict, "%s is registered already: %s has it %s, for %q", l.Resource, l.Owner, until, l.Purpose).
			hinted("Talk to %s. To change it for them, add --owner %q; to take it over, --reassign.", l.Owner, l.Owner)
	}
	if !presence.SameCreation(l.ResourceCreated, c.observed.Resource.Created) {
		return l, nil, faultf(guard.ErrConflict, "%s is leased by %s, but what has that ID now is another machine", l.Resource, l.Owner).
			hinted("Guard is proving the end of the first one, which takes some minutes; try again then.")
	}
	if err := c.inTime("change the registration of"); err != nil {
		return l, nil, err
	}
	if w.Reassign || w.Owner != "" {
		l.Owner = w.Owner
		if l.Owner == "" {
			l.Owner = c.who
		}
	}
	s.apply(&l, w)
	return l, nil, nil
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
	l.NoGPUOK = l.NoGPUOK || w.NoGPUOK
	l.AllowUnprotect = l.AllowUnprotect || w.AllowUnprotect
}

// fresh is a new lease, filled up with the defaults.
func (s *server) fresh(c *scene, w *wish) (guard.Lease, []string, error) {
	r := c.observed.Resource
	l := guard.Lease{
		ID: leaseID(s.Ledger.Deployment(), r.ID, c.at.Wall), Resource: r.ID, ResourceCreated: r.Created, Identity: c.observed.Identity,
		Owner: w.Owner, RegisteredAt: c.at.Wall, Status: guard.LeaseActive,
	}
	if r.State == guard.StateStopped {
		l.Status = guard.LeaseStopped
	}
	if l.Owner == "" {
		l.Owner = c.who
	}
	s.apply(&l, w)
	rules := s.Rules().Defaults
	var defaults []string
	if l.ExpiresAt.IsZero() && rules.TTL > 0 {
		var err error
		if l.ExpiresAt, err = s.fromNow(rules.TTL, c.at); err != nil {
			return l, nil, err
		}
		defaults = append(defaults, "ttl "+span(rules.TTL))
	}
	if l.OnLimit == "" {
		l.OnLimit = rules.OnLimit
		defaults = append(defaults, "on_limit "+string(rules.OnLimit))
	}
	if l.Grace == 0 {
		l.Grace = rules.Grace
		defaults = append(defaults, "grace "+span(rules.Grace))
	}
	return l, defaults, nil
}

// leaseID is unique for a resource and a moment, and the same when a story is
// played again.
func leaseID(deployment string, id guard.ResourceID, at time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", deployment, id.Key(), at.UnixNano()))
	return "l-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// registration is what is written, if anything changed.
func (s *server) registration(c *scene, l guard.Lease, out *wire.Registered) edit {
	e := edit{lease: &l}
	verb, text := "registered", fmt.Sprintf("registered by %s for %s: %s", c.who, l.Owner, orNone(l.Purpose))
	out.Outcome, out.Changes = "created", []wire.Change{}
	if c.lease != nil && c.lease.ID == l.ID {
		out.Changes = s.diff(*c.lease, l, c.at.Wall)
		if out.Outcome = "updated"; len(out.Changes) == 0 {
			out.Outcome = "unchanged"
			return e
		}
		verb, text = "updated", fmt.Sprintf("registration changed by %s", c.who)
	}
	l.UpdatedAt, l.UpdatedBy = c.at.Wall, c.who
	e.entry = c.entry(verb, text, out.Changes)
	e.entry.Lease = l.ID
	if verb == "registered" {
		e.entry.Data = map[string]string{"owner": l.Owner, "on_limit": string(l.OnLimit)}
		if !l.ExpiresAt.IsZero() {
			e.entry.Data["expires_at"] = l.ExpiresAt.Format(time.RFC3339)
		}
		if l.Budget.IsSet() {
			e.entry.Data["budget"] = l.Budget.String()
		}
	}
	if !c.inLedger || !c.book.observed[l.Resource.Key()].Live() {
		o := c.observed
		e.observed = &o
	}
	return e
}

// judge refuses what must not be registered, and warns of what may surprise.
func (s *server) judge(c *scene, w *wish, l guard.Lease) ([]string, error) {
	r := c.observed.Resource
	status := c.book.accounts[w.account]
	var warnings []string
	if policy.Self(r, status) {
		return nil, faultf(guard.ErrRefused, "cannot register %s: guard itself runs on it, and guard never acts on its own machine", r.ID)
	}
	if d := policy.Foreign(r, s.Ledger.Deployment()); d != "" {
		return nil, faultf(guard.ErrRefused, "cannot register %s: it belongs to another guard (tag %s=%s)", r.ID, guard.TagDeployment, clip(d)).
			hinted("Register it there. If that guard is gone for good, remove the tag at the provider.")
	}
	if why, ok := policy.May(c.acct.MayRelease).Allows(r, l.NoGPUOK); !ok {
		f := faultf(guard.ErrRefused, "cannot register %s: %s", r.ID, why)
		if strings.Contains(why, "GPU instances only") {
			return nil, f.hinted("If guard really may release this machine at its limit, say so with --no-gpu-ok.")
		}
		return nil, f.hinted("may_release of account %s in guardd's configuration decides that.", w.account)
	}
	if c.lease == nil || l.OnLimit != c.lease.OnLimit || l.ID != c.lease.ID {
		if err := stoppable(r, c.acct, l.OnLimit); err != nil {
			return nil, err
		}
	}
	if c.lease == nil || l.ID != c.lease.ID || w.budget.IsSet() || w.price.Known() {
		if l.Budget.IsSet() {
			if err := s.affordable(c, l); err != nil {
				return nil, err
			}
		}
	}
	f := s.facts(c.book, c.observed, &l, c.acct, c.at)
	if p := f.Protection(s.Rules()); p.On {
		warnings = append(warnings, "guard will not touch it at its limits: "+p.Why)
	}
	lock := map[guard.Action]guard.Tri{guard.ActRelease: w.lock.Release, guard.ActStop: w.lock.Stop}[l.OnLimit]
	if lock == guard.Yes && !(l.AllowUnprotect && s.Rules().Limits.ForcedUnprotect) {
		warnings = append(warnings, "the provider's own protection is on: at its limit guard is refused and pages. Switch the protection off at the provider before then")
	}
	if !l.Price.Known() && !r.BillingRate().Known() && r.Bills != guard.No {
		warnings = append(warnings, "its price is unknown, so guard cannot count what it costs: state the whole machine's, such as --price 2.50USD/h")
	}
	if reported := r.Rate; w.price.Known() && reported.Known() && !reported.Same(w.price) {
		h, _ := reported.Hourly()
		warnings = append(warnings, fmt.Sprintf("the provider reports %s per hour; the price you state is used instead", readable(h)))
	}
	return warnings, nil
}

// locked is the provider's own lock on a resource. Where a listing hides it, it is
// asked for: people are told now rather than at the limit. No answer is no lock;
// the provider has its word at the limit all the same.
func locked(ctx context.Context, acct *providers.Account, r guard.Resource) providers.Protection {
	p := providers.Protection{Release: r.ReleaseProtected, Stop: r.StopProtected}
	if acct.Protector == nil || p.Release != guard.Unknown && p.Stop != guard.Unknown {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, lockFor)
	defer cancel()
	if asked, err := acct.Protector.Protection(ctx, r.ID); err == nil {
		return asked
	}
	return p
}

// stoppable refuses to stop where that saves nothing.
func stoppable(r guard.Resource, acct *providers.Account, action guard.Action) error {
	if action != guard.ActStop {
		return nil
	}
	effect := r.StopSaves
	if effect == guard.StopUnknown {
		effect = acct.Provider.Truths().Stop
	}
	why := ""
	switch {
	case acct.Stopper == nil || effect == guard.StopUnsupported:
		why = "the provider cannot stop it"
	case effect == guard.StopSavesNothing:
		why = "a stopped machine costs the same there"
	case effect == guard.StopUnknown:
		why = "nobody knows whether a stop saves anything there"
	default:
		return nil
	}
	return faultf(guard.ErrRefused, "cannot register %s with on_limit stop: %s", r.ID, why).hinted("Use --on-limit release or --on-limit alert.")
}

// affordable refuses a cap that guard could not keep, or that is reached already.
func (s *server) affordable(c *scene, l guard.Lease) error {
	id := l.Resource
	family, plan := s.solve(c.book, c.observed, l, c.acct, c.lead, c.at)
	rate := rateOf(c.observed, family[0].metered, &l)
	if !rate.Known() {
		return faultf(guard.ErrRefused, "cannot keep %s under %s: its price is unknown", id, l.Budget).
			hinted("State the whole machine's price, such as --price 2.50USD/h, or leave the budget out.")
	}
	if rate.Currency() != l.Budget.Currency() {
		return faultf(guard.ErrCurrency, "cannot keep %s under %s: it bills in %s (%s), and guard never converts for a cap", id, l.Budget, rate.Currency(), rate.Quote()).
			hinted("Give the budget in %s.", rate.Currency())
	}
	spent := spentBy(family, l.ID, c.at.Wall).In(l.Budget.Currency())
	since := c.observed.Resource.Created
	if since.IsZero() {
		since = c.observed.FirstSeen
	}
	if n, err := spent.Cmp(l.Budget); err != nil || n >= 0 {
		return faultf(guard.ErrRefused, "the budget of %s for %s is already spent: %s since it began at %s", l.Budget, id, readable(spent), since.In(s.Location()).Format(time.RFC3339)).
			hinted("A budget counts from the provider's start. Give one above what is spent, or release the machine: guard release %s", id)
	}
	if d, ok := plan.Deadline(guard.DeadlineBudget); ok && !d.Due.After(c.at.Wall) {
		return faultf(guard.ErrRefused, "the budget of %s for %s is all but spent: %s so far, and a release takes up to %s in which it goes on billing", l.Budget, id, readable(spent), d.Lead).
			hinted("Give a larger budget, or release the machine: guard release %s", id)
	}
	return nil
}

// soon warns of limits that come before people can act on the notice, and of
// what the cap does not count.
func (s *server) soon(l guard.Lease, p guard.Plan, at guard.Instant) []string {
	var out []string
	for _, d := range p.Deadlines {
		if left := d.Due.Sub(at.Wall); left < l.Grace && l.OnLimit != guard.ActAlert {
			out = append(out, fmt.Sprintf("its %s comes in %s, sooner than the notice of %s that people get", d.Reason, span(left), span(l.Grace)))
		}
	}
	for _, part := range p.Unknown {
		out = append(out, "not counted into its budget: "+part)
	}
	return out
}

func tagText(tags map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, k+"="+tags[k])
	}
	return strings.Join(out, ", ")
}
