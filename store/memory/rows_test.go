package memory

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Every version of a table stays what it was while later ones are made of it,
// also where chunks are cut in two and vanish.
func TestRowsNeverChange(t *testing.T) {
	type version struct {
		rows  rows
		model map[string]string
	}
	rapid.Check(t, func(t *rapid.T) {
		versions := []version{{nil, map[string]string{}}}
		steps := rapid.IntRange(1, 4*chunkMost).Draw(t, "steps")
		for i := range steps {
			// Mostly the newest, sometimes an older one, so that two share chunks.
			from := versions[len(versions)-1]
			if rapid.IntRange(0, 9).Draw(t, "old") == 0 {
				from = rapid.SampledFrom(versions).Draw(t, "from")
			}
			key := strconv.Itoa(rapid.IntRange(0, 2*chunkMost).Draw(t, "key"))
			next := version{model: maps.Clone(from.model)}
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				next.rows = from.rows.without(key)
				delete(next.model, key)
			} else {
				value := strconv.Itoa(i)
				next.rows = from.rows.with(key, []byte(value))
				next.model[key] = value
			}
			versions = append(versions, next)
		}
		for i, v := range versions {
			got := map[string]string{}
			var keys []string
			v.rows.from("", func(w row) bool {
				got[w.key] = string(w.value)
				keys = append(keys, w.key)
				return true
			})
			if !maps.Equal(got, v.model) || !slices.IsSorted(keys) || len(keys) != len(got) {
				t.Fatalf("version %d of %d: got %v, want %v", i, len(versions), got, v.model)
			}
		}
	})
}
