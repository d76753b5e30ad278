package digitalocean

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/providers"
	"guard/providers/digitalocean/digitaloceantest"
)

func TestWords(t *testing.T) {
	for w, want := range map[string]string{
		"web": "web|", "env:prod": "env|prod", "env:": "env|", "a:b:c": "a|b:c", ":x": "|x",
		"guard:lease:L-1": "guard:lease|L-1", "guard:keep": "guard:keep|", "guard:keep:true": "guard:keep|true",
		"guard:expires:2026-03-06T11:00:00Z": "guard:expires|2026-03-06T11:00:00Z", "guard": "guard|",
	} {
		if key, value := split(w); key+"|"+value != want {
			t.Errorf("%q is %q = %q, want %q", w, key, value, want)
		}
	}
	for _, x := range []struct{ key, value, want string }{
		{guard.TagLease, "L-1", "guard:lease:L-1"}, {guard.TagExpires, "2026-03-06T11:00:00Z", "guard:expires:2026-03-06T11:00:00Z"},
		{guard.TagPurpose, "fine tune, 微调", "guard:purpose:fine-tune----"}, {"env", "", "env"}, {"env", "prod:a", "env:prod:a"},
		{guard.TagPurpose, strings.Repeat("x", 999), "guard:purpose:" + strings.Repeat("x", maxTag-len("guard:purpose:"))},
		{"a:b", "c", ""}, {"", "x", ""}, {"with space", "x", ""}, {strings.Repeat("k", 300), "", ""}, {"guard:a:b", "", ""},
	} {
		if got, ok := word(x.key, x.value); ok != (x.want != "") || ok && got != x.want {
			t.Errorf("%q = %q is %q, %t, want %q", x.key, x.value, got, ok, x.want)
		}
	}
}

func TestTagsOf(t *testing.T) {
	for text, want := range map[string]string{
		`["web","env:prod"]`:               "map[env:prod web:] false",
		`["env:prod","env:dev","env:dev"]`: "map[env:prod env:dev:] false",
		`[]`:                               "map[] false",
		`null`:                             "map[] true",
		``:                                 "map[] true",
		`"x"`:                              "map[] true",
		`["web",7]`:                        "map[web:] true",
		`["web","` + strings.Repeat("x", maxTag+1) + `"]`: "map[web:] true",
	} {
		tags, untold := tagsOf(providers.Field(text))
		if got := fmt.Sprint(tags, untold); got != want {
			t.Errorf("%.40s: %s, want %s", text, got, want)
		}
	}
}

// TestTag: new words are made, a replaced value comes off, and all others stay.
func TestTag(t *testing.T) {
	box := thing(1)
	box.Tags = map[string]string{"team": "nlp", "web": ""}
	c := cloud(box)
	p := on(t, c)
	id := p.id(guard.Instance, box.ID)
	tag := func(tags map[string]string) []string {
		t.Helper()
		before := len(c.Calls())
		if err := p.Tag(at(t), id, tags); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(c.Calls()[before:], func(call string) bool { return strings.HasPrefix(call, "GET") })
	}
	is := func(want string) {
		t.Helper()
		if got := fmt.Sprint(p.Get(at(t), id)[0].Resource.Tags); got != want {
			t.Errorf("its tags are %s, want %s", got, want)
		}
	}
	if calls := tag(map[string]string{guard.TagLease: "L-1", guard.TagExpires: "2026-03-10T14:00:00Z"}); len(calls) != 6 {
		t.Errorf("two new words: %v", calls)
	}
	is("map[guard:expires:2026-03-10T14:00:00Z guard:lease:L-1 team:nlp web:]")
	if calls := tag(map[string]string{guard.TagLease: "L-1"}); len(calls) != 0 {
		t.Errorf("what is there already: %v", calls)
	}
	if calls := tag(map[string]string{guard.TagExpires: "2026-03-10T16:00:00Z"}); len(calls) != 4 || !strings.HasPrefix(calls[3], "DELETE /v2/tags/guard:expires:2026-03-10T14:00:00Z/resources") {
		t.Errorf("another value: %v", calls)
	}
	is("map[guard:expires:2026-03-10T16:00:00Z guard:lease:L-1 team:nlp web:]")

	c.Special[box.ID] = digitaloceantest.Special{Set: map[string]any{"tags": nil}}
	for what, x := range map[string]struct {
		id   guard.ResourceID
		tags map[string]string
		want error
	}{
		"where tags cannot be read": {id, map[string]string{"a": "b"}, guard.ErrBadReply},
		"a droplet that is gone":    {p.id(guard.Instance, dropletID(9)), map[string]string{"a": "b"}, guard.ErrNotFound},
		"no droplet":                {p.id(guard.Instance, "x"), map[string]string{"a": "b"}, guard.ErrInvalid},
		"a volume":                  {p.id(guard.Volume, leftoverID(guard.Volume, 1)), map[string]string{"a": "b"}, guard.ErrUnsupported},
	} {
		if err := p.Tag(at(t), x.id, x.tags); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", what, err, x.want)
		}
	}
	delete(c.Special, box.ID)
	if err := p.Tag(at(t), id, map[string]string{"with space": "x"}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a key that is none: %v", err)
	}
}
