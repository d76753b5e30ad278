package simulate

import (
	"context"
	"io"

	"guard"
	"guard/daemon"
	"guard/store"
	"guard/store/memory"
)

// restore puts the ledger back to what it was, as guardd restore does: the daemon is
// stopped, and started over the copy.
func (r *runner) restore(ctx context.Context, e daemonEvent, backup io.Reader) {
	if l := r.life; l != nil {
		l.kill()
		l.cancel()
		r.life = nil
		r.book.add(r.now, Event{Event: evDaemonStopped, Reason: "restore"})
		r.down = append(r.down, Stretch{r.now, r.story.length})
	}
	from := "the backup of " + offsetText(e.from)
	b, err := memory.Restore(backup)
	if err == nil {
		r.backend = b
		err = r.reread(ctx, from)
	}
	if err != nil {
		r.fail(e.node.Line(), "not restored: %v", err)
		return
	}
	r.book.add(r.now, Event{Event: evRestored, Text: "the ledger is that of " + offsetText(e.from)})
	r.restart(ctx)
}

// reread marks the ledger as restored and makes what it holds the story's latest word.
func (r *runner) reread(ctx context.Context, from string) error {
	l, err := store.Open(ctx, r.backend, r.instant())
	if err != nil {
		return err
	}
	if err := daemon.MarkRestored(ctx, l, r.instant(), from); err != nil {
		return err
	}
	return l.View(ctx, func(v *store.View) error {
		for x, err := range v.Leases.All("") {
			if err != nil {
				return err
			}
			id := x.Resource.String()
			r.ledger.leases[id] = append(r.ledger.leases[id], version[guard.Lease]{r.now, x})
		}
		for x, err := range v.Plans.All("") {
			if err != nil {
				return err
			}
			r.ledger.plans[x.Lease] = append(r.ledger.plans[x.Lease], version[guard.Plan]{r.now, x})
		}
		for x, err := range v.Releases.All("") {
			if err != nil {
				return err
			}
			id := x.Target.String()
			r.ledger.releases[id] = append(r.ledger.releases[id], version[guard.Release]{r.now, x})
		}
		return nil
	})
}
