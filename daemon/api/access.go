package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"guard"
	"guard/daemon/wire"
)

// admit refuses a request that is not the caller's to make, whatever it is about: a
// role that is too low, or a token for one resource where the request names
// another one, or none. in points to the request and out to an empty answer.
func admit(ctx context.Context, needs guard.Role, verb string, in, out any) error {
	if err := permit(ctx, needs, verb); err != nil {
		return err
	}
	c := callerOf(ctx)
	if c.Scope == "" {
		return nil
	}
	if l, ok := in.(*logIn); ok && l.ID == "" {
		l.ID = c.Scope
	}
	names := named(in)
	if len(names) == 0 && narrow(c.Scope, out) {
		return nil
	}
	if len(names) == 0 {
		names = []string{""}
	}
	for _, id := range names {
		if err := within(c, id, verb); err != nil {
			return err
		}
	}
	return nil
}

// named are the resources that a request is about, by its fields ID and IDs. One
// that has neither is about more than one resource.
func named(in any) []string {
	v := reflect.Indirect(reflect.ValueOf(in))
	var names []string
	if id := v.FieldByName("ID"); id.IsValid() && id.Kind() == reflect.String {
		names = append(names, id.String())
	}
	if ids := v.FieldByName("IDs"); ids.IsValid() {
		list, _ := ids.Interface().([]string)
		names = append(names, list...)
	}
	return names
}

// narrow leaves of an answer what one resource has in it; false where an answer is
// none that can be narrowed.
func narrow(scope string, out any) bool {
	switch o := out.(type) {
	case *wire.List:
		o.Items = slices.DeleteFunc(o.Items, func(i wire.Item) bool { return i.Account+"/"+i.ID != scope })
	case *wire.EgressList:
		o.Items = slices.DeleteFunc(o.Items, func(i wire.Egress) bool { return i.ID != scope })
	case *wire.Findings:
		o.Findings = slices.DeleteFunc(o.Findings, func(f wire.Finding) bool { return f.Subject != scope })
	default:
		return false
	}
	return true
}

// reticent takes from a refusal what it tells of other resources.
func reticent(ctx context.Context, err error) error {
	if f := (*fault)(nil); callerOf(ctx).Scope != "" && errors.As(err, &f) && errors.Is(f, guard.ErrNotFound) {
		return faultf(f.kind, "%s", f.text)
	}
	return err
}

// permit refuses what the caller's role does not cover.
func permit(ctx context.Context, needs guard.Role, verb string) error {
	c := callerOf(ctx)
	if c.Role.Covers(needs) {
		return nil
	}
	return faultf(guard.ErrPermission, "%s may not %s: that needs the role %s", c.Name, verb, needs)
}

// allowed refuses a change of what is not the caller's to change. An operator may
// change every lease; a viewer what is registered as their own, but what nobody has
// they cannot make their own: that would let them end it. l is the lease that counts, nil where there is none: an
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
	switch {
	case l == nil || !l.Status.Open():
		return faultf(guard.ErrPermission, "%s may not %s %s: nobody has registered it, and that needs the role %s", c.Name, verb, id, guard.Operator).
			hinted("Ask somebody with that role to register it with --owner %q; from then on it is yours to change.", c.Name)
	case l.Owner == c.Name:
		return nil
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
	return faultf(guard.ErrPermission, "this token is for %s only: it may not %s %s", c.Scope, cmp.Or(verbs[verb], verb), clip(id))
}

// verbs are what operations are called whose own names are none.
var verbs = map[string]string{
	"agent/samples":   "send samples of",
	"agent/heartbeat": "say that a job runs on",
	"why":             "ask about",
	"log":             "read the journal of",
	"egress/show":     "see the traffic of",
	"egress/estimate": "estimate the traffic of",
}

// signed is an entry of the journal with who calls.
func signed(ctx context.Context, e guard.JournalEntry) guard.JournalEntry {
	return callerOf(ctx).Sign(e)
}

// Sign puts the caller, and what is known of them, into an entry of the journal.
func (c Caller) Sign(e guard.JournalEntry) guard.JournalEntry {
	e.Who = c.Name
	if c.Token == "" && len(c.Data) == 0 {
		return e
	}
	e.Data = maps.Clone(e.Data)
	if e.Data == nil {
		e.Data = map[string]string{}
	}
	maps.Copy(e.Data, c.Data)
	if c.Token != "" {
		e.Data["token"] = c.Token
	}
	return e
}
