package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"guard"
)

// ListScope is the List of an account that has one scope. read gives what there is of a kind,
// or what was read of it and the error, guard.ErrUnsupported for a kind that the provider does
// not have. After an error that ends all (EndsAll) it is not called any more.
func ListScope(ctx context.Context, q Query, account, scope string, read func(context.Context, guard.Kind) ([]guard.Resource, error)) Inventory {
	var inv Inventory
	if len(q.Scopes) > 0 && !slices.Contains(q.Scopes, scope) {
		return inv // there is no other
	}
	var clock ServerTime
	var stop error
	ctx = CollectServerTime(Read(ctx), &clock)
	for _, kind := range q.Kinds {
		res := ScopeResult{Scope: scope, Kind: kind, Err: stop}
		if stop == nil {
			res.Resources, res.Err = read(ctx, kind)
		}
		if EndsAll(res.Err) {
			stop = res.Err
		}
		if res.Err != nil {
			res.Err = fmt.Errorf("list the %s of %s: %w", kind.Plural(), account, res.Err)
		}
		inv.Results = append(inv.Results, res)
	}
	inv.ServerTime = clock.Time()
	return inv
}

// GetMany is GetEach for a provider that lists things with fewer calls than it reads them by
// ID: of more than most different IDs that is holds for, the list is read first, and by ID what
// it has not. list gives what there is, or what was read of it and the error. After one that is
// no list of the API's (guard.ErrBadReply, guard.ErrNotFound) the reads by ID still tell; after
// any other as many of them would fail, too, and nothing more is asked.
func GetMany(ids []guard.ResourceID, most int, is func(guard.ResourceID) bool, list func() ([]guard.Resource, error), read func(guard.ResourceID) (guard.Resource, error)) []guard.Lookup {
	if CountIDs(ids, is) <= most {
		return GetEach(ids, nil, nil, read)
	}
	listed, stop := list()
	if !EndsAll(stop) && (errors.Is(stop, guard.ErrBadReply) || errors.Is(stop, guard.ErrNotFound)) {
		stop = nil
	}
	return GetEach(ids, listed, stop, read)
}

// GetEach answers a Get with one read after another: of each thing once, however often it is
// asked for, and of none that a listing has. read gives guard.ErrNotFound for what is not
// there. After stop, or an error that ends all (EndsAll), it is not called any more: what is
// left is unknown, by that error, whatever it said of another thing.
func GetEach(ids []guard.ResourceID, listed []guard.Resource, stop error, read func(guard.ResourceID) (guard.Resource, error)) []guard.Lookup {
	done := map[string]guard.Lookup{} // by the key of the ID
	for _, r := range listed {
		done[r.ID.Key()] = guard.Lookup{Verdict: guard.VerdictFound, Resource: r}
	}
	out := make([]guard.Lookup, len(ids))
	for i, id := range ids {
		look, known := done[id.Key()]
		if !known {
			look, stop = getOne(id, stop, read)
			done[id.Key()] = look
		}
		look.ID = id
		out[i] = look
	}
	return out
}

// getOne reads one thing where nothing stops that, and gives what stops the next.
func getOne(id guard.ResourceID, stop error, read func(guard.ResourceID) (guard.Resource, error)) (guard.Lookup, error) {
	if stop != nil {
		return guard.Lookup{Verdict: guard.VerdictUnknown, Err: Says("read", id, stop)}, stop
	}
	r, err := read(id)
	if EndsAll(err) {
		stop = err
	}
	switch {
	case err == nil:
		return guard.Lookup{Verdict: guard.VerdictFound, Resource: r}, stop
	case errors.Is(err, guard.ErrNotFound):
		return guard.Lookup{Verdict: guard.VerdictAbsent}, stop
	}
	return guard.Lookup{Verdict: guard.VerdictUnknown, Err: Says("read", id, err)}, stop
}

// CheckAnswer sees that an answer is about the thing that was asked for: got is the ID in it,
// ok whether it has one. Else it is guard.ErrBadReply, and proves nothing.
func CheckAnswer(got string, ok bool, want string) error {
	switch {
	case !ok:
		return fmt.Errorf("%w: the answer names nothing, neither there nor absent", guard.ErrBadReply)
	case got != want:
		return fmt.Errorf("%w: the answer is about another thing", guard.ErrBadReply)
	}
	return nil
}

// CountIDs is how many different IDs there are of those that is holds for.
func CountIDs(ids []guard.ResourceID, is func(guard.ResourceID) bool) int {
	seen := map[string]bool{}
	for _, id := range ids {
		if is(id) {
			seen[id.Key()] = true
		}
	}
	return len(seen)
}

// IsInstance reports whether an ID is an instance's.
func IsInstance(id guard.ResourceID) bool { return id.Kind == guard.Instance }

// Memo is a list that one call to an adapter reads once: all of it, or what was read and the
// error. The zero Memo has not been read.
type Memo[T any] struct {
	done  bool
	items []T
	err   error
}

// Read gives the list, by f where it has not been read.
func (m *Memo[T]) Read(f func() ([]T, error)) ([]T, error) {
	if !m.done {
		m.items, m.err = f()
		m.done = true
	}
	return m.items, m.err
}
