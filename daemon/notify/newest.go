package notify

import (
	"context"
	"slices"

	"guard"
	"guard/store"
)

// newest drops what was overtaken while it waited: of a finding, each message that a
// newer one of the same finding makes old news, and both where the newest says that it
// is over and nobody here was ever told that it began. What was tried may have been read,
// and is kept; what is urgent or about a release is never dropped.
func (c *line) newest(ctx context.Context) error {
	if len(c.pending.grown) == 0 {
		return nil
	}
	var stale []guard.Message
	err := c.loop.ledger.View(ctx, func(v *store.View) error {
		stale = nil
		for finding := range c.pending.grown {
			all := c.pending.about(finding)
			old := slices.DeleteFunc(slices.Clone(all), func(m guard.Message) bool {
				return !droppable(m) || !m.CreatedAt.Before(all[len(all)-1].CreatedAt)
			})
			stale = append(stale, old...)
			unheard, err := c.unheard(v, all, len(old))
			if err != nil {
				return err
			}
			if unheard {
				stale = append(stale, all[len(all)-1])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		if err := c.drop(ctx, stale); err != nil {
			return err
		}
	}
	clear(c.pending.grown)
	return nil
}

// droppable reports whether a message may be passed over for a newer one.
func droppable(m guard.Message) bool {
	return m.Finding != "" && m.Release == "" && !m.Urgent && m.Attempts == 0 && !m.Uncertain
}

// unheard reports whether the newest of all messages of a finding says that it is over,
// the others are all dropped, and the first of them is what said that it began: so that
// nobody was told of it, alone or with others.
func (c *line) unheard(v *store.View, all []guard.Message, dropped int) (bool, error) {
	last := all[len(all)-1]
	if last.ID != c.name+"|"+last.Finding+"|over" || !droppable(last) || dropped == 0 || dropped < len(all)-1 {
		return false, nil
	}
	f, ok, err := v.ClosedFindings.Get(last.Finding)
	if err != nil || !ok || !f.Opened.Equal(all[0].CreatedAt) {
		return false, err
	}
	told, err := v.SentMessages.Keys(c.name + "|" + last.Finding + "|")
	return len(told) == 0, err
}

// drop takes messages out of the outbox untold.
func (c *line) drop(ctx context.Context, stale []guard.Message) error {
	s := c.state
	err := c.loop.ledger.UpdateEach(ctx, len(stale), func(tx *store.Tx, i int) error {
		s.Dropped = c.state.Dropped + i + 1
		if err := tx.Outbox.Delete(stale[i].ID); err != nil {
			return err
		}
		return tx.SetValue(stateName(c.name), s)
	})
	if err != nil {
		c.loaded = false // begin from what is durable
		return err
	}
	c.state = s
	for _, m := range stale {
		c.pending.remove(m.ID)
		c.loop.log.Info("message dropped: a newer one took its place", "channel", c.name, "message", m.ID, "title", m.Title, "created", m.CreatedAt)
	}
	return nil
}
