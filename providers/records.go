package providers

import (
	"bytes"
	"slices"
)

// Records decodes the entries of a list that are of one shape, each of which has a key. One
// that is not, or has none, is left out and counted as wrong; so are those of one key that do
// not say the same. One that comes again word for word is one thing. What has the key "" is
// told apart by nothing, and kept.
func Records[T any](raw []Field, keyOf func(T) (string, bool)) (out []T, wrong int) {
	out = make([]T, 0, len(raw))
	said, odd := map[string]Field{}, map[string]bool{}
	for _, b := range raw {
		var x T
		key, ok := "", b.Into(&x)
		if ok {
			key, ok = keyOf(x)
		}
		before, again := said[key]
		switch {
		case !ok:
			wrong++
			continue
		case again && bytes.Equal(before, b):
			continue
		case again:
			wrong, odd[key] = wrong+1, true
		case key != "":
			said[key] = b
		}
		out = append(out, x)
	}
	return slices.DeleteFunc(out, func(x T) bool { key, _ := keyOf(x); return odd[key] }), wrong
}
