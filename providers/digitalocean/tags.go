package digitalocean

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"guard"
	"guard/providers"
)

// own is the beginning of guard's own keys, which have a colon in them.
const own = "guard:"

// split is what a tag's one word says: a key up to the first colon, of guard's own up to
// the second, and the rest as its value. A word without a colon is a key alone.
func split(word string) (key, value string) {
	prefix := ""
	if strings.HasPrefix(word, own) {
		prefix, word = own, word[len(own):]
	}
	key, value, _ = strings.Cut(word, ":")
	return prefix + key, value
}

// word makes one of a key and a value. Tags hold letters, digits, colons, dashes and
// underscores (description): whatever else a value has becomes a dash, and what is too
// long is cut off. It is false for a key that would not come back as it is.
func word(key, value string) (string, bool) {
	w := key
	if value != "" {
		w += ":" + strings.Map(func(r rune) rune {
			if allowed(r) {
				return r
			}
			return '-'
		}, value)
	}
	w = w[:min(len(w), maxTag)]
	back, _ := split(w)
	return w, key != "" && back == key && !strings.ContainsFunc(key, func(r rune) bool { return !allowed(r) })
}

func allowed(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-:", r)
}

// words are the tags of a record; false where not all can be read. A token that may not
// read tags sees none: they are left out, or null.
func words(f providers.Field) ([]string, bool) {
	var all []providers.Field
	if !f.Into(&all) {
		return nil, false
	}
	var out []string
	for _, x := range all {
		w, ok := x.ID(maxTag)
		if !ok {
			return out, false
		}
		out = append(out, w)
	}
	return out, true
}

// tagsOf are the tags of a record as keys and values. A second value of a key is kept as
// a key of the whole word.
func tagsOf(f providers.Field) (tags map[string]string, untold bool) {
	all, ok := words(f)
	for _, w := range all {
		if tags == nil {
			tags = map[string]string{}
		}
		key, value := split(w)
		if _, twice := tags[key]; twice {
			key, value = w, ""
		}
		tags[key] = value
	}
	return tags, !ok
}

// Tag implements providers.Tagger, for droplets. A pair is the one word KEY:VALUE, so
// `env:prod` is the key env, and `guard:lease:L-1` the key guard:lease; a value has only
// letters, digits, colons, dashes and underscores left. A value that is replaced is taken
// off the droplet, and its word stays in the account's list of tags.
func (p *Provider) Tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	if err := p.tag(ctx, id, tags); err != nil {
		return fmt.Errorf("tag %s: %w", id, err)
	}
	return nil
}

func (p *Provider) tag(ctx context.Context, id guard.ResourceID, tags map[string]string) error {
	if !isDroplet(id) {
		return fmt.Errorf("%w: only droplets are tagged", guard.ErrUnsupported)
	}
	if !shaped(id) {
		return odd(id)
	}
	x, err := get[droplet](providers.Read(ctx), p, "droplet", dropletsPath, id.ID)
	if err != nil {
		return err
	}
	has, ok := words(x.Tags)
	if !ok {
		return fmt.Errorf("%w: its tags cannot be read; the token needs tag:read", guard.ErrBadReply)
	}
	want := map[string]string{} // by key
	for key, value := range tags {
		w, ok := word(key, value)
		if !ok {
			return fmt.Errorf("%w: %q cannot be the key of a tag here", guard.ErrInvalid, key)
		}
		want[key] = w
	}
	on := []godo.Resource{{ID: id.ID, Type: godo.DropletResourceType}}
	ctx = providers.Write(ctx)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(has, want[key]) {
			if err := p.assign(ctx, want[key], on); err != nil {
				return err
			}
		}
	}
	for _, old := range has {
		key, _ := split(old)
		if w, ours := want[key]; ours && w != old {
			_, err := p.api.Tags.UntagResources(ctx, old, &godo.UntagResourcesRequest{Resources: on})
			if err := written(err); err != nil && !isAbsent(err) {
				return err
			}
		}
	}
	return nil
}

// assign puts a tag on things. One that the account does not have is "not found", and is
// made first.
func (p *Provider) assign(ctx context.Context, w string, on []godo.Resource) error {
	put := func() error {
		_, err := p.api.Tags.TagResources(ctx, w, &godo.TagResourcesRequest{Resources: on})
		return written(err)
	}
	err := put()
	if !isAbsent(err) {
		return err
	}
	if _, _, err := p.api.Tags.Create(ctx, &godo.TagCreateRequest{Name: w}); err != nil {
		return written(err)
	}
	return put()
}
