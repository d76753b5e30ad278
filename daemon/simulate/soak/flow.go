package soak

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// flow is a YAML map on one line, in the order in which it was filled.
type flow struct{ b strings.Builder }

// put adds a key with a value that is YAML already; "" adds nothing.
func (f *flow) put(key, value string) {
	if value == "" {
		return
	}
	if f.b.Len() > 0 {
		f.b.WriteString(", ")
	}
	f.b.WriteString(key + ": " + value)
}

// text adds a text, flag a truth, num a number, span a duration; what is zero is
// left out.
func (f *flow) text(key, value string) {
	if value != "" {
		f.put(key, quoted(value))
	}
}

func (f *flow) flag(key string, value bool) {
	if value {
		f.put(key, "true")
	}
}

func (f *flow) num(key string, n int64) {
	if n != 0 {
		f.put(key, strconv.FormatInt(n, 10))
	}
}

func (f *flow) span(key string, d time.Duration) {
	if d != 0 {
		f.put(key, spanText(d))
	}
}

func (f *flow) list(key string, items []string) {
	if len(items) > 0 {
		f.put(key, yamlValue(items))
	}
}

func (f *flow) tags(key string, tags map[string]string) {
	if len(tags) > 0 {
		f.put(key, yamlValue(tags))
	}
}

// String is the whole map.
func (f *flow) String() string { return "{" + f.b.String() + "}" }

// yamlValue is any value as YAML on one line; the keys of maps are sorted.
func yamlValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []string:
		var out []string
		for _, s := range v {
			out = append(out, quoted(s))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]string:
		f := &flow{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.put(quoted(k), quoted(v[k]))
		}
		return f.String()
	case map[string]any:
		f := &flow{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.put(quoted(k), yamlValue(v[k]))
		}
		return f.String()
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// plainText is what YAML takes for text without quotes; whatever could be taken for
// something else is quoted.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

func quoted(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf":
	default:
		if plainText.MatchString(s) {
			return s
		}
	}
	return strconv.Quote(s)
}

// spanText is a duration as the page writes it: 10h2m, -36h, 3d4h, 0s.
func spanText(d time.Duration) string {
	if d < 0 {
		return "-" + spanText(-d)
	}
	const day = 24 * time.Hour
	var out string
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if u.unit == day && d < 2*day {
			continue // 36h reads better than 1d12h
		}
		if n := d / u.unit; n > 0 {
			out += strconv.FormatInt(int64(n), 10) + u.name
			d -= n * u.unit
		}
	}
	if d > 0 {
		out += strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	return cmp.Or(out, "0s")
}
