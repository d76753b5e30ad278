package meter

import (
	"maps"
	"slices"
	"time"

	"guard"
	"guard/policy/spend"
	"guard/store"
)

// measured is how long releases took, by account. The archive, which grows for
// ever, is read once; afterwards only of what a release has left the open table.
type measured struct {
	seen    store.Version
	ended   map[string][]guard.Release // as many of them as count
	longest map[string]time.Duration
}

// update reads what has ended since it was last called, and tells of which
// accounts the longest is another one now.
func (m *measured) update(v *store.View) (changed []string, err error) {
	targets, known := v.Releases.Changed(m.seen)
	if !known {
		m.ended, targets = map[string][]guard.Release{}, []string{""}
	}
	was := maps.Clone(m.longest)
	m.seen, m.longest = 0, map[string]time.Duration{} // until all is read
	for _, target := range targets {
		// A release's ID begins with its target's key.
		for r, err := range v.EndedReleases.All(target) {
			if err != nil {
				return nil, err
			}
			m.add(r)
		}
	}
	m.seen = v.Version()
	for account, ended := range m.ended {
		m.longest[account] = spend.Longest(ended)
		if m.longest[account] != was[account] {
			changed = append(changed, account)
		}
	}
	return changed, nil
}

func (m *measured) add(r guard.Release) {
	ended := m.ended[r.Target.Account]
	if slices.ContainsFunc(ended, func(e guard.Release) bool { return e.ID == r.ID }) {
		return
	}
	ended = append(ended, r)
	if len(ended) > 2*spend.LastReleases {
		ended = spend.Latest(ended)
	}
	m.ended[r.Target.Account] = ended
}
