package providers_test

import (
	"encoding/json"
	"slices"
	"testing"

	"guard/providers"
)

func TestRecords(t *testing.T) {
	type record struct {
		ID providers.Field `json:"id"`
	}
	keyOf := func(x record) (string, bool) { return x.ID.Text(9), !x.ID.Null() }
	for list, want := range map[string]struct {
		keys  []string
		wrong int
	}{
		`[]`: {}, `[{"id":"a"},{"id":"b"}]`: {[]string{"a", "b"}, 0},
		`[{"id":"a"},7,null,{},{"id":"b"}]`:           {[]string{"a", "b"}, 3},
		`[{"id":"a"},{"id":"b"},{"id":"a"}]`:          {[]string{"a", "b"}, 0},
		`[{"id":"a"},{"id":"b"},{"id":"a","more":1}]`: {[]string{"b"}, 1},
		`[{"id":""},{"id":"","more":1},{"id":""}]`:    {[]string{"", "", ""}, 0},
	} {
		var raw []providers.Field
		if err := json.Unmarshal([]byte(list), &raw); err != nil {
			t.Fatal(err)
		}
		out, wrong := providers.Records(raw, keyOf)
		var keys []string
		for _, x := range out {
			key, _ := keyOf(x)
			keys = append(keys, key)
		}
		if !slices.Equal(keys, want.keys) || wrong != want.wrong {
			t.Errorf("%s: %q and %d wrong", list, keys, wrong)
		}
	}
}
