package soak

import (
	"slices"
	"testing"
	"time"

	"guard"
	"guard/providers/fake"
)

// The snapshots of a box's volumes, and the images on those, count to the box, also where
// they come in the week.
func TestCopiesCountToTheBox(t *testing.T) {
	copied := fake.Resource{ID: "s-1", Kind: guard.Snapshot, Source: "v-1", UsedBy: []string{"img-1"}}
	other := fake.Resource{ID: "s-2", Kind: guard.Snapshot, Source: "v-2"}
	for name, s := range map[string]fake.Script{
		"from the start": {Resources: []fake.Resource{copied, other}},
		"later":          {Timeline: []fake.Event{{At: time.Hour, Create: &copied}, {At: time.Hour, Create: &other}}},
	} {
		a := &Account{Script: s}
		if got := a.copies([]string{"v-1"}); !slices.Equal(got, []string{"s-1", "img-1"}) {
			t.Errorf("%s: got %q, want the snapshot and its image", name, got)
		}
	}
}
