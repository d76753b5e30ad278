package observe

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/store"
)

// tagsPerRun bounds how many calls a run spends on tags; the rest follow with the
// next polls.
const tagsPerRun = 20

// tag writes guard's tags on what an open lease claims, until the provider has
// them, and never over the mark of another guard. Its own mark goes only on what
// it acts on: a guard that is being tried out must not keep another's hands off.
func (r *round) tag(ctx context.Context) error {
	l := r.l
	if l.account.Tagger == nil {
		return nil
	}
	if l.tagMode != l.account.Mode {
		l.tagMode = l.account.Mode
		maps.Copy(l.untagged, l.leased)
	}
	calls := 0
	for _, key := range slices.Sorted(maps.Keys(l.untagged)) {
		fresh := r.alive[key]
		if fresh == nil || calls == tagsPerRun {
			continue
		}
		// The lease as it is now: an extension may have been written meanwhile.
		var lease guard.Lease
		var lost []guard.LostTag
		if err := r.look(ctx, func() {
			lease, _ = r.lease(key)
			o, _ := get(r, r.src.observed, key)
			lost = o.LostTags
		}); err != nil {
			return err
		}
		if !taggable(lease, *fresh, lost, l.ledger.Deployment()) {
			continue
		}
		tags := wanted(lease)
		if l.account.Mode == guard.Enforce {
			tags[guard.TagDeployment] = l.ledger.Deployment()
		}
		text := written(tags)
		if lease.TagsWritten == text {
			delete(l.untagged, key)
			continue
		}
		calls++
		if err := r.write(ctx, lease, fresh.ID, tags, text); err != nil {
			return err
		}
	}
	return nil
}

// taggable: the very thing that is leased, alive, and not another guard's, not even
// by a mark that was read within the hour and is missing now.
func taggable(lease guard.Lease, fresh guard.Resource, lost []guard.LostTag, deployment string) bool {
	if !fresh.Live() || fresh.State == guard.StateReleasing {
		return false
	}
	if _, status := followed(lease, fresh); status != guard.LeaseActive && status != guard.LeaseStopped {
		return false
	}
	foreign := func(owner string) bool { return owner != "" && owner != deployment }
	return !foreign(fresh.Tags[guard.TagDeployment]) && !slices.ContainsFunc(lost, func(t guard.LostTag) bool {
		return t.Key == guard.TagDeployment && foreign(t.Value)
	})
}

// write puts the tags on one resource and remembers that they are there. A
// failure is told once and tried again with every poll.
func (r *round) write(ctx context.Context, lease guard.Lease, id guard.ResourceID, tags map[string]string, text string) error {
	l := r.l
	failed := l.account.Tagger.Tag(ctx, id, tags)
	if errors.Is(failed, guard.ErrUnsupported) {
		return nil // this account has none, and all limits hold without them
	}
	if failed != nil {
		l.log.Warn("tagging failed", "account", l.account.Name, "id", id.ID, "error", failed)
		if _, wait := guard.RetryAfter(failed); wait {
			r.asked = failed
		}
		if l.tagErrors[lease.ID] == failed.Error() {
			return nil
		}
		l.tagErrors[lease.ID] = failed.Error()
	} else {
		delete(l.tagErrors, lease.ID)
	}
	return wrap("remember the tags of "+id.String(), l.ledger.Update(ctx, func(tx *store.Tx) error {
		e := guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: "tagged", Subject: id.String(), Lease: lease.ID}
		if failed != nil {
			e.Verb = "not_tagged"
			e.Text = "guard could not write its tags: " + clip(failed.Error()) + "; it tries again with every poll, and all limits hold without them"
			return tx.Journal(e)
		}
		now, ok, err := tx.Leases.Get(lease.ID)
		if err != nil || !ok {
			return err
		}
		first := now.TagsWritten == ""
		now.TagsWritten = text
		if err := tx.Leases.Put(now); err != nil || !first {
			return err
		}
		e.Text = "guard wrote its tags: " + strings.Join(slices.Sorted(maps.Keys(tags)), ", ")
		return tx.Journal(e)
	}))
}

// wanted are the tags of a lease.
func wanted(lease guard.Lease) map[string]string {
	tags := map[string]string{guard.TagLease: lease.ID}
	if lease.Purpose != "" {
		tags[guard.TagPurpose] = tagValue(lease.Purpose)
	}
	if !lease.ExpiresAt.IsZero() {
		tags[guard.TagExpires] = lease.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return tags
}

// tagValue cuts a text to what tags hold: 256 characters on EC2.
func tagValue(s string) string {
	const most = 255
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

func written(tags map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		b.WriteString(k + "=" + tags[k] + "\n")
	}
	return b.String()
}
