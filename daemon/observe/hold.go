package observe

import (
	"errors"
	"maps"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// holds are the listings that the provider refused and asked to wait with. One
// scope that is refused holds up neither the others nor a reading by ID.
type holds struct {
	scopes map[guard.Kind][]string  // of the last listing of all scopes
	until  map[string]guard.Instant // by scope key
}

// learn keeps which scopes there are.
func (h *holds) learn(kinds []guard.Kind, results []providers.ScopeResult) {
	for _, kind := range kinds {
		delete(h.scopes, kind)
	}
	for _, res := range results {
		if scopes := h.scopes[res.Kind]; !slices.Contains(scopes, res.Scope) && !errors.Is(res.Err, guard.ErrUnsupported) {
			h.scopes[res.Kind] = append(scopes, res.Scope)
		}
	}
}

// queries ask for what may be listed of some kinds: every scope of a kind, or,
// while some of its scopes are held, the others. A scope that is new meanwhile is
// found when the last hold is over.
func (r *round) queries(kinds []guard.Kind) []providers.Query {
	var out []providers.Query
	var whole []guard.Kind
	for _, kind := range kinds {
		free := slices.DeleteFunc(slices.Clone(r.l.holds.scopes[kind]), func(scope string) bool { return !r.held(kind, scope).IsZero() })
		switch {
		case len(free) == len(r.l.holds.scopes[kind]):
			whole = append(whole, kind)
			continue
		case len(free) > 0:
			out = append(out, providers.Query{Kinds: []guard.Kind{kind}, Scopes: free})
		}
		r.kinds[kind] = false
	}
	if len(whole) > 0 {
		out = append(out, providers.Query{Kinds: whole})
	}
	return out
}

// held is until when a scope is not to be listed; zero: it may be.
func (r *round) held(kind guard.Kind, scope string) guard.Instant {
	until := r.l.holds.until[scopeOf(guard.ResourceID{Account: r.l.account.Name, Kind: kind, Scope: scope})]
	if !r.at.Before(until) {
		return guard.Instant{}
	}
	return until
}

// hold keeps what a scope's listing says of when to come back.
func (r *round) hold(key string, err error) {
	delete(r.l.holds.until, key)
	if wait, ok := guard.RetryAfter(err); ok {
		r.l.holds.until[key] = r.at.Add(wait)
	}
}

// freed is when the first of the held scopes of some kinds may be listed again,
// and whether all of their scopes are held. Zero: none is.
func (r *round) freed(kinds ...guard.Kind) (first guard.Instant, all bool) {
	all = true
	for _, kind := range kinds {
		for _, scope := range r.l.holds.scopes[kind] {
			until := r.held(kind, scope)
			first, all = guard.Earliest(first, until), all && !until.IsZero()
		}
	}
	return first, all && !first.IsZero()
}

// unnamed forgets that scopes fail which nothing was ever listed in, and which the provider
// does not name any more among all that it has: an account may turn out not to have them.
func (r *round) unnamed(named []providers.ScopeResult) {
	for _, key := range slices.Sorted(maps.Keys(r.s.scopes)) {
		st := r.s.scopes[key]
		if st.Failing.IsZero() || !st.Complete.IsZero() {
			continue
		}
		ofKind, itself := false, false
		for _, x := range named {
			ofKind = ofKind || x.Kind == st.Kind
			itself = itself || x.Kind == st.Kind && x.Scope == st.Scope
		}
		if ofKind && !itself {
			st.Failing, st.Error = time.Time{}, ""
			r.scopes = append(r.scopes, st)
		}
	}
}
