package release

import (
	"maps"
	"slices"
	"strings"

	"guard"
	"guard/store"
)

// book is what the loop remembers of the ledger between two runs, brought up to
// date with what has changed: most releases only wait for their time.
type book struct {
	prefix   string // of the account's keys
	open     map[string]guard.Release
	released store.Version // as of which open is

	// on is what the ledger saw on each instance, by their keys, and host the other
	// way round.
	on    map[string]map[string]guard.ResourceID
	host  map[string]string
	hosts store.Version // as of which they are
}

func newBook(account string) *book { return &book{prefix: account + "/"} }

// releases brings the open releases up to date.
func (b *book) releases(v *store.View) error {
	return follow(v.Releases, b.prefix, &b.released, v.Version(), func() { b.open = map[string]guard.Release{} },
		func(key string, r guard.Release, there bool) {
			if !there {
				delete(b.open, key)
				return
			}
			b.open[key] = r
		})
}

// children brings what hangs on instances up to date.
func (b *book) children(v *store.View) error {
	return follow(v.Observed, b.prefix, &b.hosts, v.Version(),
		func() { b.on, b.host = map[string]map[string]guard.ResourceID{}, map[string]string{} },
		func(key string, o guard.Observed, there bool) {
			if old := b.host[key]; old != "" {
				delete(b.on[old], key)
				delete(b.host, key)
			}
			if !there || o.Instance.IsZero() {
				return
			}
			host := o.Instance.Key()
			if b.on[host] == nil {
				b.on[host] = map[string]guard.ResourceID{}
			}
			b.on[host][key], b.host[key] = o.Resource.ID, host
		})
}

// childrenOf are what the ledger saw on an instance, in the order of their keys.
func (b *book) childrenOf(instance string) []guard.ResourceID {
	var out []guard.ResourceID
	for _, key := range slices.Sorted(maps.Keys(b.on[instance])) {
		out = append(out, b.on[instance][key])
	}
	return out
}

// follow calls put for the records of a table that changed since a version, or,
// after reset, for all; then it advances the version.
func follow[T any](t store.Table[T], prefix string, since *store.Version, now store.Version, reset func(), put func(key string, v T, there bool)) error {
	keys, known := t.Changed(*since)
	if !known {
		reset()
		var err error
		if keys, err = t.Keys(prefix); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		v, there, err := t.Get(key)
		if err != nil {
			return err
		}
		put(key, v, there)
	}
	*since = now
	return nil
}
