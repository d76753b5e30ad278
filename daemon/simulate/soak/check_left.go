package soak

import (
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// deletions hold law 6 for data, and laws 3, 5 and 11 with it: it is deleted only by its
// own rule, in an account that guard acts in; nothing that is attached, in use,
// protected, another's or not ours; nothing that became free only lately; each after an
// intent and a fresh read.
func (j *judge) deletions() {
	intents := map[string]int{}
	for _, c := range j.h.Calls {
		if c.Call.Call != fake.CallDelete || len(c.IDs) == 0 {
			continue
		}
		id := c.IDs[0]
		name := c.Account + "/" + id
		at := j.offset(c.At)
		a := j.accountOf(c.Account)
		r, _, known := a.of(id)
		rule, enabled := j.week.Leftovers[r.Kind]
		if !known || !enabled {
			j.wrong(6, "wrong release", at, name, "data is deleted: no rule of the story asks for that")
			continue
		}
		if may, _ := j.acts(a, at-time.Second); !may {
			j.wrong(11, "wrong release", at, name, "data is deleted in an account in observe mode")
		}
		if why := j.keeps(a, r, at); why != "" {
			j.wrong(6, "wrong release", at, name, "it is deleted, and %s", why)
		}
		b, freed, free := j.freed(a, r, at-30*time.Second)
		switch {
		case b == nil:
			j.wrong(6, "wrong release", at, name, "it is deleted, and was never on a box")
		case !free:
			j.wrong(6, "wrong release", at, name, "it is deleted, and %s needs it", b.id)
		case at < freed+rule.After+rule.Grace-j.slack()-time.Second:
			j.wrong(6, "wrong release", at, name, "it is deleted %s after it became free, and its rule gives it %s and %s", at-freed, rule.After, rule.Grace)
		case !j.ours(b, freed):
			j.wrong(11, "wrong release", at, name, "it is deleted, and nobody had registered %s", b.id)
		}
		intents[name]++
		j.careful(name, id, at, intents[name])
	}
}

// careful holds a deletion to its intent and its look.
func (j *judge) careful(name, id string, at time.Duration, nth int) {
	before := 0
	for _, e := range j.book.journal {
		if e.Subject == name && e.Verb == string(guard.ReleaseIntended) && e.Data["release"] != "" && j.earliest(e.At) <= at {
			before++
		}
	}
	if before < nth {
		j.wrong(3, "wrong release", at, name, "delete call %d has only %d durable intents before it", nth, before)
	}
	account, _, _ := strings.Cut(name, "/")
	read := slices.ContainsFunc(j.h.Calls, func(c simulateCall) bool {
		t := j.offset(c.At)
		return c.Account == account && c.Call.Call == fake.CallGet && t <= at && t >= at-30*time.Second && slices.Contains(c.IDs, id) && c.Outcome == "ok"
	})
	if !read {
		j.wrong(5, "wrong release", at, name, "it is deleted without a read in the 30 s before")
	}
}

// keeps is what keeps a thing from being deleted by the script's own words.
func (j *judge) keeps(a *Account, r fake.Resource, at time.Duration) string {
	switch mark := r.Tags[guard.TagDeployment]; {
	case r.Tags["guard:keep"] == "true":
		return "its tag protects it"
	case mark != "" && mark != j.own:
		return "another guard keeps it"
	case len(r.Protected) > 0:
		return "the provider protects it"
	case strings.HasPrefix(r.Name, "pvc-"):
		return "a cluster has made it"
	}
	cloud := j.h.Clouds[nameOf(a.Script)]
	for _, id := range r.UsedBy {
		if gone := cloud.Gone(id); gone.IsZero() || j.offset(gone) > at {
			return id + " uses it"
		}
	}
	return ""
}

// freed is the box that a thing was last on or made from, and since when nothing needs
// the thing; false where something does.
func (j *judge) freed(a *Account, r fake.Resource, at time.Duration) (b *life, since time.Duration, free bool) {
	box := func(id string) *life { return j.byID[nameOf(a.Script)+"/"+id] }
	switch r.Kind {
	case guard.Snapshot:
		disk, _, ok := a.of(r.Source)
		if !ok {
			return nil, 0, false
		}
		b, since, free = j.freed(a, disk, at)
		// It counts to the box that its disk was on first.
		if first := j.hung(a, disk.ID); first != nil && first != b {
			b, since = first, max(since, first.gone)
		}
		return b, max(since, b.ended()), free && b.ended() <= at
	case guard.Image:
		for _, c := range a.Script.Resources {
			if slices.Contains(c.UsedBy, r.ID) {
				return j.freed(a, c, at)
			}
		}
		return nil, 0, false
	}
	b = j.hung(a, r.ID)
	hangs := b != nil
	for _, e := range a.Script.Timeline {
		switch {
		case e.ID != r.ID || e.At > at:
		case e.Detach && hangs:
			hangs, since = false, min(e.At, b.gone)
		case e.Attach != "" && box(e.Attach) != nil && box(e.Attach).alive(e.At):
			b, hangs = box(e.Attach), true
		}
	}
	if hangs && b.gone <= at {
		hangs, since = false, b.gone
	}
	return b, since, !hangs
}

// hung is the box that a thing is on from its beginning; nil where it is on none.
func (j *judge) hung(a *Account, id string) (b *life) {
	for _, x := range j.week.instances(*a) {
		if slices.Contains(x.Attached, id) && j.byID[nameOf(a.Script)+"/"+x.ID] != nil {
			b = j.byID[nameOf(a.Script)+"/"+x.ID]
		}
	}
	return b
}

// ended is when a box went; 0 of none.
func (b *life) ended() time.Duration {
	if b == nil {
		return 0
	}
	return b.gone
}

// ours reports that somebody, or guard itself, had registered a box before it went.
func (j *judge) ours(b *life, freed time.Duration) bool {
	return j.week.Adopt != nil || slices.ContainsFunc(b.claims, func(c claim) bool { return c.at <= freed+j.slack() })
}

func (j *judge) accountOf(name string) *Account {
	for i := range j.week.Accounts {
		if nameOf(j.week.Accounts[i].Script) == name {
			return &j.week.Accounts[i]
		}
	}
	return &Account{}
}
