package simulate_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// each plays every variation alone; without it they are played at once, and alone
// only where that fails.
var each = flag.Bool("each", false, "play every variation of every story alone")

// variation tells a story in a way that must not change its verdict. do is false
// where the story has no room for it.
type variation struct {
	name string
	do   func(tr *tree) bool
}

var variations = []variation{
	{"another seed", func(tr *tree) bool { tr.seed = 4711; return true }},
	{"ids in another order", func(tr *tree) bool { tr.rename(same, backwards("z", 9000)); return true }},
	{"ids of another script", func(tr *tree) bool { tr.rename(same, backwards("проект/eu-west-1a/ß", 100)); return true }},
	{"other accounts", func(tr *tree) bool { tr.rename(otherAccount, sameThing); return true }},
	{"other scopes", otherScopes},
	{"another order", func(tr *tree) bool { tr.reverse(); return true }},
	{"yen", func(tr *tree) bool { tr.exchange("JPY", 100); return true }},
	{"euro", func(tr *tree) bool { tr.exchange("EUR", 1); return true }},
	{"yuan", func(tr *tree) bool { tr.exchange("CNY", 1); return true }},
	{"summer time begins", starts("2026-03-08T01:30:00-08:00", "America/Los_Angeles")},
	{"summer time ends", starts("2026-10-25T02:30:00+02:00", "Europe/Berlin")},
	{"summer time ends in the south", starts("2026-04-05T01:45:00+11:00", "Australia/Lord_Howe")},
	{"a leap day", starts("2028-02-28T23:40:00+05:45", "Asia/Kathmandu")},
	{"the year's end", starts("2026-12-31T23:30:00Z", "Pacific/Kiritimati")},

	{"polled twice as often", func(tr *tree) bool { tr.polls(1, 2); return true }},
	{"polled half as often", func(tr *tree) bool { tr.polls(2, 1); return true }},
	{"an account beside", besides},
	{"boxes beside", quietBoxes},
	{"a crash", crashes},
	{"Slack is down", slackDown},
}

// exempt are the variations that do change what a story expects, and why.
var exempt = map[string]map[string]string{
	"a-key-becomes-a-twin":    {"a crash": "while two accounts are one, no start is allowed"},
	"two-keys-of-one-account": {"another order": "the refusal names them in the order of the file"},
	"a-leak-that-never-ends": {"yen": "the limits stay in dollars, and without a rate they are bytes at what a large cloud asks",
		"euro": "the limits stay in dollars, and without a rate they are bytes at what a large cloud asks",
		"yuan": "the limits stay in dollars, and without a rate they are bytes at what a large cloud asks"},
	"a-click-extends":           told("", ""),
	"a-balance-runs-dry":        told("boxes beside", "what stands beside drains the balance, too"),
	"paid-for-a-month":          {"boxes beside": "what stands beside drains the balance, too"},
	"days-paid-one-by-one":      {"boxes beside": "what stands beside drains the balance, too"},
	"the-platform-deletes-it":   told("", ""),
	"a-night-that-is-quiet":     told("", ""),
	"the-digest-at-nine":        told("", ""),
	"a-price-in-cents":          {"polled half as often": "the new price is seen a minute later, and what was spent until then is told to the cent"},
	"a-reload-drops-an-account": {"an account beside": "its reloads list all accounts, and would drop this one too"},
	"demo":                      {"polled half as often": "two reads that prove the end are a poll apart"},
}

// told exempts a story in which people read an hour of a day of the week from those that
// begin at another, and from one more variation.
func told(name, why string) map[string]string {
	out := map[string]string{}
	for _, begins := range alternatives[2] {
		out[begins] = "people read an hour of a day of the week"
	}
	if name != "" {
		out[name] = why
	}
	return out
}

// TestKinds tells every shipped story in other ways: its kind is what must be
// right, not its words and numbers.
func TestKinds(t *testing.T) {
	files, err := filepath.Glob("../../configs/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		story := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			tellAnew(t, file, story)
		})
	}
	for story, why := range exempt {
		if !slices.Contains(files, "../../configs/scenarios/"+story+".yaml") {
			t.Errorf("exempt: there is no story %s", story)
		}
		for name := range why {
			if !slices.ContainsFunc(variations, func(v variation) bool { return v.name == name }) {
				t.Errorf("exempt: there is no variation %q", name)
			}
		}
	}
}

func tellAnew(t *testing.T, file, story string) {
	if *each {
		for _, v := range variations {
			t.Run(v.name, func(t *testing.T) {
				bad := tell(t, file, story, []variation{v})
				why := exempt[story][v.name]
				switch {
				case bad != "" && why == "":
					t.Error(bad)
				case bad == "" && why != "":
					t.Errorf("it holds, and is said not to: %s", why)
				}
			})
		}
		return
	}
	var of []variation
	for _, v := range variations {
		if exempt[story][v.name] == "" && drawn(story, v.name) {
			of = append(of, v)
		}
	}
	together := tell(t, file, story, of)
	if together == "" {
		return
	}
	alone := false
	for _, v := range of {
		if bad := tell(t, file, story, []variation{v}); bad != "" {
			t.Errorf("%s:\n%s", v.name, bad)
			alone = true
		}
	}
	if !alone {
		t.Errorf("all at once, and none of them alone:\n%s", together)
	}
}

// alternatives are variations of which a story can have one at a time.
var alternatives = [][]string{
	{"ids in another order", "ids of another script"},
	{"yen", "euro", "yuan"},
	{"summer time begins", "summer time ends", "summer time ends in the south", "a leap day", "the year's end"},
	{"polled twice as often", "polled half as often"},
}

// drawn reports whether a story's turn of some alternatives is this one.
func drawn(story, name string) bool {
	for _, a := range alternatives {
		free := slices.DeleteFunc(slices.Clone(a), func(n string) bool { return exempt[story][n] != "" })
		if i := slices.Index(free, name); i >= 0 {
			return int(hash(story))%len(free) == i
		}
	}
	return true
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32() >> 1
}

// tell plays a story with variations, and returns what does not hold then.
func tell(t *testing.T, file, story string, of []variation) string {
	t.Helper()
	tr := readTree(t, file, shipped(t, file), uint64(hash(story)))
	for _, v := range of {
		if !v.do(tr) {
			return fmt.Sprintf("the story has no room for %s", v.name)
		}
	}
	r, text := tr.play(t)
	if len(r.Failures) == 0 {
		return ""
	}
	var numbered strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&numbered, "%4d %s\n", i+1, line)
	}
	return failures(r) + numbered.String()
}

func same(name string) string { return name }

func sameThing(_, id string) string { return id }

// backwards names things so that the first of the alphabet comes last.
func backwards(prefix string, from int) func(account, id string) string {
	next, given := from, map[string]string{}
	return func(account, id string) string {
		key := account + "/" + id
		if given[key] == "" {
			next--
			given[key] = fmt.Sprintf("%s%d", prefix, next)
		}
		return given[key]
	}
}

func otherAccount(name string) string {
	// Another order of the same letters: what sorted first sorts last.
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'z' - (r - 'a')
		}
		return r
	}, name) + "_Ω.1"
}

func otherScopes(tr *tree) bool {
	tr.texts(func(path []string, s string) string {
		if last := path[len(path)-1]; path[0] == "accounts" && (last == "scope" || last == "scopes") {
			return "zone/" + backwardsWord(s)
		}
		return s
	})
	return true
}

func backwardsWord(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// starts moves the story to another day, in whose zone people live.
func starts(at, zone string) func(tr *tree) bool {
	return func(tr *tree) bool {
		put(&tr.root, "start", at)
		c := slices.Clone(group(get(tr.root, "config")))
		put(&c, "time_zone", zone)
		put(&tr.root, "config", c)
		return true
	}
}

// besides is an account with its own boxes and troubles, which is looked at less often
// in a story of days.
func besides(tr *tree) bool {
	var a yaml.MapSlice
	err := yaml.UnmarshalWithOptions([]byte(`
provider: fake
mode: enforce
currency: KRW
lag: {appears: 30s, disappears: 2m, state: 20s}
resources:
  - {id: n, count: 3, created: -1m, rate: {amount: "2900", per: hour}}
  - {id: v, kind: volume, size_gb: 100, rate: {amount: "100", per: gb_month}, created: -1m, tags: {"guard:keep": "true"}}
faults:
  - {call: list, times: 1, reply: {status: 503}}
  - {call: get, from: 20m, for: 2m, reply: {status: 500}}
  - {call: any, from: 50m, for: 3m, reply: unreachable}
`), &a, yaml.UseOrderedMap())
	if err != nil {
		panic(err)
	}
	if tr.days() {
		put(&a, "poll", "10m")
		put(&a, "sweep", "6h")
	}
	all := slices.Clone(group(get(tr.root, "accounts")))
	all = slices.Insert(all, tr.rand.IntN(len(all)+1), yaml.MapItem{Key: "beside", Value: a})
	put(&tr.root, "accounts", all)
	for i := 1; i <= 3; i++ {
		tr.add("commands", yaml.MapSlice{{Key: "at", Value: "3m"}, {Key: "may_fail", Value: true},
			{Key: "run", Value: fmt.Sprintf("guard register beside/n-%03d --purpose beside --ttl 300d", i)}})
	}
	return true
}

// quietBoxes are another guard's, in each account: many in a short story, a few in one
// that goes on for days.
func quietBoxes(tr *tree) bool {
	many := 25
	if tr.days() {
		many = 5
	}
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
		a = slices.Clone(a)
		put(&a, "resources", append(slices.Clone(list(get(a, "resources"))), yaml.MapSlice{
			{Key: "id", Value: "quiet"}, {Key: "count", Value: many}, {Key: "rate", Value: yaml.MapSlice{{Key: "amount", Value: "3"}, {Key: "per", Value: "hour"}}},
			{Key: "tags", Value: yaml.MapSlice{{Key: "guard:deployment", Value: strings.Repeat("f", 32)}}}}))
		return name, a
	})
	return true
}

// crashes kills the daemon at a moment when nothing is going on.
func crashes(tr *tree) bool {
	free := tr.free(3*time.Minute, 6*time.Minute, func(e stretch) bool { return true })
	if len(free) == 0 {
		return false
	}
	at := free[tr.rand.IntN(len(free))]
	tr.add("daemon", yaml.MapSlice{{Key: "at", Value: at.String()}, {Key: "crash", Value: true}, {Key: "back_after", Value: "40s"}})
	return true
}

// slackDown cuts the way to Slack for ten minutes, where the story does not say
// when exactly a message must be there; rather at a moment when there are some.
func slackDown(tr *tree) bool {
	const down, late = 10 * time.Minute, 25 * time.Minute
	counts := slices.ContainsFunc(list(get(tr.root, "expect")), func(e any) bool { return get(group(e), "posts") != nil && get(group(e), "at_most") != nil })
	free := tr.free(0, late, func(s stretch) bool { return s.messages })
	var posts []time.Duration // in the order of their time
	for _, e := range tr.base.Events {
		if e.Event == "message_sent" && e.Channel == "slack" {
			posts = append(posts, offset(e.Offset))
		}
	}
	var told []time.Duration
	for _, at := range free {
		if i, _ := slices.BinarySearch(posts, at); i < len(posts) && posts[i] < at+down {
			told = append(told, at)
		}
	}
	if counts { // each request to post counts, tried again or not
		free = slices.DeleteFunc(free, func(at time.Duration) bool { return slices.Contains(told, at) })
		told = nil
	}
	if len(told) > 0 {
		free = told
	}
	if len(free) == 0 {
		return false
	}
	at := free[tr.rand.IntN(len(free))]
	fault := yaml.MapSlice{{Key: "from", Value: at.String()}, {Key: "for", Value: down.String()}, {Key: "reply", Value: "unreachable"}}
	channels := slices.Clone(group(get(tr.root, "channels")))
	slack := slices.Clone(group(get(channels, "slack")))
	put(&slack, "faults", append([]any{fault}, list(get(slack, "faults"))...))
	put(&channels, "slack", slack)
	put(&tr.root, "channels", channels)
	return true
}

// stretch is a part of the story's time that something is about.
type stretch struct {
	from, to time.Duration
	messages bool // of which an expectation speaks
}

// free are the minutes of the story from which on a disturbance of some length can
// come: no stretch that matters begins or ends in it, or is short and near.
func (tr *tree) free(before, length time.Duration, matters func(stretch) bool) []time.Duration {
	var busy []stretch
	for _, e := range list(get(tr.root, "expect")) {
		busy = append(busy, windowOf(group(e)))
	}
	for _, e := range tr.base.Events {
		switch {
		case e.Event == "observed" || e.Event == "provider_call" || strings.HasPrefix(e.Event, "message_") || e.Event == "result":
		default:
			busy = append(busy, stretch{from: offset(e.Offset), to: offset(e.Offset)})
		}
	}
	tr.accounts(func(name string, a yaml.MapSlice) (string, yaml.MapSlice) {
		for _, f := range slices.Concat(list(get(a, "faults")), list(get(a, "timeline"))) {
			from, _ := get(group(f), "from").(string)
			if at, ok := get(group(f), "at").(string); ok {
				from = at
			}
			if from == "" {
				continue
			}
			long, _ := get(group(f), "for").(string)
			busy = append(busy, stretch{from: offset(from), to: offset(from) + offset(long)})
		}
		return name, a
	})
	var out []time.Duration
	for at := time.Minute; at+length < offset(get(tr.root, "for").(string)); at += time.Minute {
		from, to := at-before, at+length
		if !slices.ContainsFunc(busy, func(s stretch) bool {
			inside := func(x time.Duration) bool { return x >= from && x <= to }
			across := s.from < from && s.to > to
			return matters(s) && (inside(s.from) || inside(s.to) || across && s.to-s.from <= 30*time.Minute)
		}) {
			out = append(out, at)
		}
	}
	return out
}

// windowOf is when an expectation looks.
func windowOf(e yaml.MapSlice) stretch {
	const ever = 1000 * 24 * time.Hour
	s := stretch{from: -ever, to: ever, messages: get(e, "message") != nil || get(e, "posts") != nil}
	if at, ok := get(e, "at").(string); ok {
		s.from, s.to = offset(at), offset(at)
	}
	if by, ok := get(e, "by").(string); ok {
		s.to = offset(by)
	}
	if b := list(get(e, "between")); len(b) == 2 && get(e, "spend") == nil && get(e, "egress") == nil && get(e, "deadline") == nil {
		s.from, s.to = offset(b[0].(string)), offset(b[1].(string))
	}
	return s
}
