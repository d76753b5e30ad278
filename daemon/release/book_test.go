package release

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"guard"
	"guard/store"
	"guard/store/memory"
)

// TestBookFollows: what is brought up to date by what has changed is what reading
// everything gives.
func TestBookFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, err := store.Open(t.Context(), memory.New(), guard.Instant{})
		if err != nil {
			t.Fatal(err)
		}
		id := func(kind guard.Kind, of string) guard.ResourceID {
			return guard.ResourceID{Account: rapid.SampledFrom([]string{"lab", "lab2"}).Draw(t, "account"), Kind: kind, ID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, of)}
		}
		kept := newBook("lab")
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if err := l.Update(t.Context(), func(tx *store.Tx) error {
				o := guard.Observed{Resource: guard.Resource{ID: id(guard.Volume, "volume"), State: guard.StateRunning}}
				if rapid.Bool().Draw(t, "attached") {
					o.Instance = id(guard.Instance, "instance")
				}
				if err := tx.Observed.Put(o); err != nil {
					return err
				}
				r := guard.Release{Target: id(guard.Instance, "target"), State: guard.ReleaseNoticed}
				r.ID = r.Target.Key()
				if rapid.Bool().Draw(t, "over") {
					return tx.Releases.Delete(r.Target.Key())
				}
				return tx.Releases.Put(r)
			}); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "not now") {
				continue
			}
			if err := l.View(t.Context(), func(v *store.View) error {
				fresh := newBook("lab")
				for _, b := range []*book{kept, fresh} {
					if err := b.releases(v); err != nil {
						return err
					}
					if err := b.children(v); err != nil {
						return err
					}
				}
				if !reflect.DeepEqual(kept.open, fresh.open) || !reflect.DeepEqual(kept.host, fresh.host) {
					t.Errorf("kept %v, %v\nfresh %v, %v", kept.open, kept.host, fresh.open, fresh.host)
				}
				for _, k := range []string{"lab/instance/a", "lab/instance/b", "lab2/instance/a"} {
					if got, want := kept.childrenOf(k), fresh.childrenOf(k); !reflect.DeepEqual(got, want) {
						t.Errorf("on %s: %v, want %v", k, got, want)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
