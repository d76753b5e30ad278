package simulate_test

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"guard/daemon/simulate"
)

// tree is a scenario file, to be told in another way.
type tree struct {
	root yaml.MapSlice
	rand *rand.Rand
	seed int64            // to play it with
	base *simulate.Result // as it is shipped
}

func readTree(t *testing.T, file string, base *simulate.Result, seed uint64) *tree {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := &tree{rand: rand.New(rand.NewPCG(seed, 1)), seed: 1, base: base}
	if err := yaml.UnmarshalWithOptions(data, &out.root, yaml.UseOrderedMap()); err != nil {
		t.Fatal(err)
	}
	return out
}

// play plays the story as it is told now.
func (tr *tree) play(t *testing.T) (*simulate.Result, string) {
	t.Helper()
	text, err := yaml.Marshal(tr.root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate.Parse(text, "../../configs/scenarios/varied.yaml", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := s.Run(t.Context(), simulate.Options{Run: run, Seed: tr.seed})
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// get is the value of a key; nil where there is none.
func get(m yaml.MapSlice, key string) any {
	for _, i := range m {
		if i.Key == key {
			return i.Value
		}
	}
	return nil
}

func put(m *yaml.MapSlice, key string, value any) {
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Value = value
			return
		}
	}
	*m = append(*m, yaml.MapItem{Key: key, Value: value})
}

func group(v any) yaml.MapSlice { m, _ := v.(yaml.MapSlice); return m }

func list(v any) []any { l, _ := v.([]any); return l }

// days reports whether the story goes on for more than one.
func (tr *tree) days() bool { return offset(get(tr.root, "for").(string)) > 24*time.Hour }

// add appends to a list of the story.
func (tr *tree) add(key string, items ...any) {
	put(&tr.root, key, append(slices.Clone(list(get(tr.root, key))), items...))
}

// accounts calls fn with each account; what fn returns takes its place.
func (tr *tree) accounts(fn func(name string, a yaml.MapSlice) (string, yaml.MapSlice)) {
	old := group(get(tr.root, "accounts"))
	var next yaml.MapSlice
	for _, i := range old {
		name, a := fn(fmt.Sprint(i.Key), group(i.Value))
		next = append(next, yaml.MapItem{Key: name, Value: a})
	}
	put(&tr.root, "accounts", next)
}

// walk gives each scalar the value that fn makes of it. path is where it stands;
// items of a list have their list's path.
func walk(v any, path []string, fn func(path []string, scalar any) any) any {
	switch x := v.(type) {
	case yaml.MapSlice:
		out := make(yaml.MapSlice, len(x))
		for i, item := range x {
			out[i] = yaml.MapItem{Key: item.Key, Value: walk(item.Value, append(slices.Clip(path), fmt.Sprint(item.Key)), fn)}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = walk(item, path, fn)
		}
		return out
	}
	return fn(path, v)
}

// texts gives each text of the story the one that fn makes of it.
func (tr *tree) texts(fn func(path []string, text string) string) {
	tr.root = group(walk(tr.root, nil, func(path []string, scalar any) any {
		if s, ok := scalar.(string); ok {
			return fn(path, s)
		}
		return scalar
	}))
}

// reading are the keys of what people read and type, where names stand in prose.
var reading = []string{"run", "prints", "not_prints", "contains", "fails", "exit", "say"}

// rename gives things and accounts other names, wherever they stand.
func (tr *tree) rename(account func(string) string, thing func(account, id string) string) {
	bare := map[string]map[string]string{} // by account, then ID
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
		bare[name] = map[string]string{}
		note := func(r yaml.MapSlice) {
			id := fmt.Sprint(get(r, "id"))
			bare[name][id] = thing(name, id)
			for _, x := range list(get(group(get(r, "relaunch")), "ids")) {
				bare[name][fmt.Sprint(x)] = thing(name, fmt.Sprint(x))
			}
		}
		for _, r := range list(get(a, "resources")) {
			note(group(r))
		}
		for _, e := range list(get(a, "timeline")) {
			if c := group(get(group(e), "create")); c != nil {
				note(c)
			}
		}
		return name, a
	})
	ids := []string{"id", "self", "attached", "source", "used_by", "parent", "ids", "attach"}
	own := func(name, id string) string {
		if to, ok := bare[name][id]; ok {
			return to
		}
		if m := member.FindStringSubmatch(id); m != nil && bare[name][m[1]] != "" {
			return bare[name][m[1]] + m[2]
		}
		return id
	}
	full := regexp.MustCompile(`[\pL\d._-]+/[\pL\d._/-]*[\pL\d]`)
	tr.texts(func(path []string, s string) string {
		last := path[len(path)-1]
		if path[0] == "accounts" {
			if slices.Contains(ids, last) && !slices.Contains(path, "tags") {
				return own(path[1], s)
			}
			return s
		}
		if _, ok := bare[s]; ok && (last == "id" || last == "name" || last == "about") {
			return account(s)
		}
		prose := slices.Contains(reading, last)
		if !prose && last != "about" && path[0] != "expect" && path[0] != "daemon" {
			return s
		}
		s = full.ReplaceAllStringFunc(s, func(x string) string {
			name, id, _ := strings.Cut(x, "/")
			if _, ok := bare[name]; !ok {
				return x
			}
			return account(name) + "/" + own(name, id)
		})
		if last == "run" {
			return alone.ReplaceAllStringFunc(s, func(x string) string {
				m := alone.FindStringSubmatch(x)
				if _, ok := bare[m[2]]; !ok {
					return x
				}
				return m[1] + account(m[2]) + m[3]
			})
		}
		if !prose || last == "exit" {
			return s
		}
		for _, name := range slices.Sorted(maps.Keys(bare)) {
			if to, ok := bare[name][s]; ok { // an ID alone
				return to
			}
			s = regexp.MustCompile(`(^|[ ,])`+regexp.QuoteMeta(name)+`($|[ ,])`).ReplaceAllString(s, "${1}"+account(name)+"${2}")
		}
		return s
	})
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) { return account(name), a })
}

// alone is an account that a command is about as a whole.
var alone = regexp.MustCompile(`^(guard [a-z]+ )(\S+)( |$)`)

var member = regexp.MustCompile(`^(.+)(-\d{3,})$`)

// reverse turns lists whose order says nothing: what happens at one moment.
func (tr *tree) reverse() {
	turn := func(m *yaml.MapSlice, key string) {
		if l := list(get(*m, key)); l != nil {
			l = slices.Clone(l)
			slices.Reverse(l)
			put(m, key, l)
		}
	}
	for _, key := range []string{"commands", "daemon", "expect"} {
		turn(&tr.root, key)
	}
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
		a = slices.Clone(a)
		turn(&a, "resources")
		turn(&a, "timeline")
		return name, a
	})
	all := slices.Clone(group(get(tr.root, "accounts")))
	slices.Reverse(all)
	put(&tr.root, "accounts", all)
}

var (
	priced = regexp.MustCompile(`(^|[ "+-])(\d+(?:\.\d+)?)( ?)(USD|CNY)\b`)
	plain  = regexp.MustCompile(`^\d+(\.\d+)?$`)
)

// exchange tells all amounts in another currency, so many times as large.
func (tr *tree) exchange(to string, times int64) {
	const was = "USD"
	scaled := func(s string) string {
		r, ok := new(big.Rat).SetString(s)
		if !ok || times == 1 {
			return s
		}
		out := r.Mul(r, big.NewRat(times, 1)).FloatString(9)
		return strings.TrimSuffix(strings.TrimRight(out, "0"), ".")
	}
	// told has the places after the point that people read: none of a yen.
	told := func(now, before, currency string) string {
		_, places, _ := strings.Cut(before, ".")
		if _, has, _ := strings.Cut(now, "."); len(has) < len(places) && currency != "JPY" {
			r, _ := new(big.Rat).SetString(now)
			return r.FloatString(len(places))
		}
		return now
	}
	currency := func(s string) string {
		switch s {
		case was:
			return to
		case to:
			return was
		}
		return s
	}
	tr.texts(func(path []string, s string) string {
		switch last := path[len(path)-1]; {
		case (last == "amount" || last == "upto") && !priced.MatchString(s):
			return scaled(s)
		case last == "currency":
			return currency(s)
		case slices.Contains(reading, last) && last != "run" && plain.MatchString(s):
			return scaled(s)
		case slices.Contains(reading, last), path[0] == "expect", slices.Contains(path, "ceilings"), last == "amount", last == "balance", last == "top_up":
			return priced.ReplaceAllStringFunc(s, func(x string) string {
				m := priced.FindStringSubmatch(x)
				return m[1] + told(scaled(m[2]), m[2], currency(m[4])) + m[3] + currency(m[4])
			})
		}
		return s
	})
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
		if get(a, "currency") == nil {
			a = slices.Clone(a)
			put(&a, "currency", to)
		}
		return name, a
	})
}

// polls sets all intervals of the story's polls to so many parts of what they are.
func (tr *tree) polls(num, den time.Duration) {
	for key, def := range map[string]string{"poll": "60s", "sweep": "5m"} {
		set := func(m *yaml.MapSlice, def string) {
			at, _ := get(*m, key).(string)
			if at == "" {
				at = def
			}
			if at != "" {
				put(m, key, (offset(at) * num / den).String())
			}
		}
		set(&tr.root, def)
		tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
			a = slices.Clone(a)
			set(&a, "")
			return name, a
		})
	}
}

// offset reads an offset of a story: 2h30m, 3d.
func offset(s string) time.Duration {
	sign := time.Duration(1)
	if strings.HasPrefix(s, "-") {
		sign, s = -1, s[1:]
	}
	var sum time.Duration
	if d, rest, ok := strings.Cut(s, "d"); ok {
		n, _ := strconv.Atoi(d)
		sum, s = time.Duration(n)*24*time.Hour, rest
	}
	if s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			panic("not an offset: " + s)
		}
		sum += d
	}
	return sign * sum
}
