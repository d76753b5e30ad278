package api

import (
	"context"
	"maps"

	"guard"
)

// permit refuses what the caller's role does not cover.
func permit(ctx context.Context, needs guard.Role, verb string) error {
	c := callerOf(ctx)
	if c.Role.Covers(needs) {
		return nil
	}
	return faultf(guard.ErrPermission, "%s may not %s: that needs the role %s", c.Name, verb, needs)
}

// allowed refuses a change of what is not the caller's to change. An operator may
// change every lease; a viewer what is their own, and may register under their own
// name what nobody has. l is the lease that counts, nil where there is none: an
// order that changes a lease asks for it as it was and as it will be.
func allowed(ctx context.Context, l *guard.Lease, id guard.ResourceID, verb string) error {
	c := callerOf(ctx)
	if err := within(c, id.String(), verb); err != nil {
		return err
	}
	if c.Role.Covers(guard.Operator) {
		return nil
	}
	if err := permit(ctx, guard.Viewer, verb); err != nil {
		return err
	}
	free := l == nil || !l.Status.Open()
	switch {
	case !free && l.Owner == c.Name, free && verb == "register":
		return nil
	case free:
		return faultf(guard.ErrPermission, "%s may not %s %s: nobody has registered it, and that needs the role %s", c.Name, verb, id, guard.Operator).
			hinted("Register it first; what is registered under your own name is yours to change.")
	}
	return faultf(guard.ErrPermission, "%s may not %s %s: it is %s's, and that needs the role %s", c.Name, verb, id, l.Owner, guard.Operator).
		hinted("Ask %s, or somebody whose role is %s.", l.Owner, guard.Operator)
}

// within refuses what lies outside the one resource that a caller's token is for.
func within(c Caller, id, verb string) error {
	if c.Scope == "" || c.Scope == id {
		return nil
	}
	if id == "" {
		return faultf(guard.ErrPermission, "this token is for %s only, and %s is about more than that", c.Scope, verb)
	}
	return faultf(guard.ErrPermission, "this token is for %s only: it may not %s %s", c.Scope, verb, clip(id))
}

// signed puts the caller, and the token that they showed, into an entry of the
// journal.
func signed(ctx context.Context, e guard.JournalEntry) guard.JournalEntry {
	c := callerOf(ctx)
	e.Who = c.Name
	if c.Token != "" {
		e.Data = maps.Clone(e.Data)
		if e.Data == nil {
			e.Data = map[string]string{}
		}
		e.Data["token"] = c.Token
	}
	return e
}
