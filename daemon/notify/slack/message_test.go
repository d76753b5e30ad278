package slack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"guard"
	"guard/daemon/notify/notifytest"
	"guard/policy/say"
)

// team are the people whom the channels of these tests know.
var team = map[string]string{"ana": "U0ANA", "U0ANA": "U0ANA", "李雷": "W0LI"}

// staffed is a channel with people and buttons.
func staffed(t testing.TB, lang guard.Lang) (*Channel, *notifytest.Slack) {
	t.Helper()
	far := notifytest.NewSlack(token, "gpu-cost")
	far.AddMember("U0EVA", "eva@lab.example")
	c, err := New(Config{Token: guard.NewSecret(token), Channel: "#gpu-cost", Transport: far, Users: team, Buttons: true, Lang: lang,
		Zone: time.FixedZone("", 8*3600)})
	if err != nil {
		t.Fatal(err)
	}
	return c, far
}

var (
	entity  = regexp.MustCompile(`&(?:amp|lt|gt);`)
	mention = regexp.MustCompile(`<@(?:U0ANA|W0LI|U0EVA)>`)
)

// clean reports what is wrong with texts as Slack gets them: markup that is not a mention
// of somebody known, an entity or a character that was cut in two, a bare ping.
func clean(texts ...string) string {
	for _, s := range texts {
		rest := mention.ReplaceAllString(entity.ReplaceAllString(s, ""), "")
		switch {
		case !utf8.ValidString(s):
			return "broken characters in " + s
		case strings.ContainsAny(rest, "&<>"):
			return "markup in " + s
		case regexp.MustCompile(`(?i)@(channel|here|everyone)\b`).MatchString(s):
			return "a bare ping in " + s
		}
	}
	return ""
}

// hostileText is text as people and providers write it.
func hostileText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, 300, -1),
		rapid.StringMatching(`[&<>a模🔥@!|*_~\x{202e}\x{200b}\n]{0,200}`),
		rapid.Map(rapid.IntRange(0, 4000), func(n int) string { return strings.Repeat("<模型&", n) }),
		rapid.Map(rapid.IntRange(0, 10_000), func(n int) string { return strings.Repeat("🔥", n) }),
		rapid.SampledFrom([]string{"", " ", "\x00", "\xff\xfe", "\u200b\u200d", "<!channel>", "<@U0EVIL>", "<!subteam^S1|x>", "@here", "ana", "eva@lab.example",
			"nobody@lab.example", "U0ANA", "李雷", "*b* `c` <http://evil|x>", "\u202egnp.exe", "&lt;@U0EVIL&gt;"}))
}

// anyMessage is a message of whatever text, with or without a card and offers.
func anyMessage(t *rapid.T) guard.Message {
	text := hostileText()
	moment := func(name string) time.Time {
		return rapid.OneOf(rapid.Just(time.Time{}), rapid.Map(rapid.Int64Range(-1<<33, 1<<36), func(s int64) time.Time { return notifytest.Start.Add(time.Duration(s) * time.Microsecond) }),
			rapid.Map(rapid.Int64Range(-1<<36, 1<<37), func(s int64) time.Time { return time.Unix(s, 0) })).Draw(t, name)
	}
	money := func(name string) guard.Money {
		return rapid.SampledFrom([]guard.Money{{}, guard.MustMoney("0 USD"), guard.MustMoney("12.345 USD"), guard.MustMoney("999999999999.99 CNY")}).Draw(t, name)
	}
	m := guard.Message{ID: "slack|" + text.Draw(t, "id"), Channel: "slack", Lang: rapid.SampledFrom([]guard.Lang{"", guard.English, guard.Chinese, "xx"}).Draw(t, "lang"),
		Title: text.Draw(t, "title"), Lines: rapid.SliceOfN(text, 0, 60).Draw(t, "lines"), Short: rapid.Bool().Draw(t, "short"), Urgent: rapid.Bool().Draw(t, "urgent"),
		Mentions: rapid.SliceOfN(text, 0, 50).Draw(t, "mentions"), CreatedAt: moment("created")}
	for range rapid.IntRange(0, 2).Draw(t, "about") {
		m.About = append(m.About, guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: text.Draw(t, "resource")})
	}
	if rapid.Bool().Draw(t, "card") {
		m.Card = &guard.Card{Name: text.Draw(t, "name"), Purpose: text.Draw(t, "purpose"), Owner: text.Draw(t, "owner"), Team: text.Draw(t, "team"),
			State: guard.State(text.Draw(t, "state")), GPUs: rapid.Int().Draw(t, "gpus"), Model: text.Draw(t, "model"), Type: text.Draw(t, "type"),
			Spot: rapid.Bool().Draw(t, "spot"), Budget: money("budget"), Hourly: money("hourly"), Ends: moment("ends"), Held: moment("held"), Snoozed: moment("snoozed"),
			Does: rapid.SampledFrom([]guard.Action{"", guard.ActAlert, guard.ActStop, guard.ActRelease}).Draw(t, "does"), By: guard.Cause(text.Draw(t, "by")),
			Release: rapid.SampledFrom([]guard.ReleaseState{"", guard.ReleaseNoticed, guard.ReleaseIssued, guard.ReleaseBlocked}).Draw(t, "release"), AsOf: moment("as of")}
		for range rapid.IntRange(0, 3).Draw(t, "currencies") {
			m.Card.Spent = append(m.Card.Spent, money("spent"))
		}
		for range rapid.IntRange(0, 60).Draw(t, "open") {
			m.Card.Open = append(m.Card.Open, guard.Rule(text.Draw(t, "rule")))
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "offers") {
		m.Offers = append(m.Offers, guard.Offer{Click: rapid.SampledFrom(append(clicks, "", "destroy")).Draw(t, "click"), Key: text.Draw(t, "key"),
			For: time.Duration(rapid.Int64().Draw(t, "for")), Until: moment("until")})
	}
	return m
}

// whatever: whatever the message is, Slack takes it as it is posted and as it edits
// another, nobody is mentioned but people who are configured or were found by their
// address, no cut falls inside an entity, and a button says what was offered.
func whatever(t *rapid.T, tb testing.TB) {
	m := anyMessage(t)
	c, far := staffed(tb, m.Lang)
	ctx := guard.WithInstant(tb.Context(), guard.Instant{Wall: notifytest.Start, Elapsed: time.Hour})
	posted, err := c.Post(ctx, m, "")
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	if err := c.Edit(ctx, posted.Receipt, m); err != nil {
		t.Fatalf("edit: %v", err)
	}
	if n := far.EmailLookups(); n > 2 {
		t.Fatalf("a post and an edit look up %d addresses", n)
	}
	for _, p := range slices.Concat(far.Posts(), far.Edits()) {
		if bad := clean(append(formTexts(t, p.Form), p.Text)...); bad != "" {
			t.Fatal(bad)
		}
		for _, id := range p.Pings {
			if id != "U0ANA" && id != "W0LI" && id != "U0EVA" {
				t.Fatalf("pings %q", id)
			}
		}
		if all := size(p.Text) + size(p.Blocks); all > 13_000 {
			t.Fatalf("%d characters in all", all)
		}
		for _, b := range p.Buttons {
			v, err := decodeValue(b.Value)
			if err != nil || !slices.ContainsFunc(m.Offers, func(o guard.Offer) bool { return string(o.Click) == v.Click && o.Key == v.Key }) || m.ID != v.Message {
				t.Fatalf("a button means %+v, %v", v, err)
			}
			if !ours(b.Action) || (v.Click == string(guard.ClickRelease)) != (b.Style == "danger") {
				t.Fatalf("a button %+v", b)
			}
		}
		if (view{}).render(m).whole && !m.Short {
			for _, line := range m.Lines {
				if l, _ := escape(plain(line), 1<<20); !strings.Contains(p.Blocks, l) {
					t.Fatalf("said to be whole, and lacks %q", l)
				}
			}
		}
	}
}

// formTexts are all texts of blocks.
func formTexts(t *rapid.T, form string) (out []string) {
	if form == "" {
		return nil
	}
	var all any
	if err := json.Unmarshal([]byte(form), &all); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for k, x := range v {
				if s, ok := x.(string); ok && k == "text" {
					out = append(out, s)
				}
				walk(x)
			}
		}
	}
	walk(all)
	return out
}

func TestWhatever(t *testing.T) { rapid.Check(t, func(r *rapid.T) { whatever(r, t) }) }

func FuzzMessage(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) { rapid.MakeFuzz(func(r *rapid.T) { whatever(r, t) })(t, b) })
}

// TestHostile: names and purposes that a person would try.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"markup":     "*bold* _it_ ~no~ `code` <http://evil|click> &amp;",
		"mentions":   "<!channel> <!here> <@U0EVIL> <!subteam^S1> @channel @HERE @Everyone #general",
		"reordering": "safe\u202egnp.exe\u2066x\u2069\u200f",
		"zero width": "\u200b\u200c\u2060\ufeff",
		"long":       strings.Repeat("x", 10_000),
		"long CJK":   strings.Repeat("模型", 5_000),
		"emoji":      ":fire: 🔥 👩‍👩‍👧 " + strings.Repeat("🔥", 200),
		"controls":   "a\x1b[31mred\x00\r\nb\tc",
		"broken":     "\xff\xfe half \xe4\xb8",
	} {
		for _, l := range guard.Langs {
			t.Run(name+" "+string(l), func(t *testing.T) {
				m := notifytest.Message("slack", "one")
				m.Lang, m.Mentions = l, []string{text, "ana"}
				m.Card = &guard.Card{Name: text, Purpose: text, Owner: text, Team: text, Model: text, Type: text, GPUs: 8, State: guard.StateRunning, AsOf: notifytest.Start}
				m.Offers = []guard.Offer{{Click: guard.ClickRelease, Key: "k"}}
				c, far := staffed(t, l)
				if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
					t.Fatal(err)
				}
				p := far.Stored()[0]
				if bad := clean(p.Text, p.Blocks); bad != "" {
					t.Error(bad)
				}
				if !slices.Equal(p.Pings, []string{"U0ANA"}) {
					t.Errorf("pings %q", p.Pings)
				}
				for _, bad := range []string{"\x1b", "\x00", "\u202e", "\u2066", "\r", "\t", "\ufeff"} {
					if strings.Contains(p.Blocks+p.Text, bad) {
						t.Errorf("people get %q", bad)
					}
				}
				for _, want := range []string{m.Title, say.In(l, "running"), say.In(l, "nothing is due")} {
					if !strings.Contains(p.Blocks, want) {
						t.Errorf("%q is lost in %.600q", want, p.Blocks)
					}
				}
			})
		}
	}
}

// TestCut: what is cut says so, and where all of it is.
func TestCut(t *testing.T) {
	m := notifytest.Message("slack", "one")
	m.Lines = slices.Repeat([]string{strings.Repeat("<模型>", 100)}, 20)
	for l, want := range map[guard.Lang]string{guard.English: "… guard show tells all of it", guard.Chinese: "… 完整内容见 guard show"} {
		m.Lang = l
		c, far := staffed(t, l)
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		if got := far.Stored()[0].Blocks; !strings.HasSuffix(got, want) || c.Fits(m) {
			t.Errorf("%s: it ends with %q, and fits: %t", l, got[len(got)-100:], c.Fits(m))
		}
	}
}

// TestRoom: a message with the most of everything is taken whole below its lines.
func TestRoom(t *testing.T) {
	most := strings.Repeat("🔥<&>", 3000)
	m := notifytest.Message("slack", "one")
	m.Title, m.Lines = most, slices.Repeat([]string{most}, 5)
	m.About[0].ID = most
	m.Mentions = slices.Concat([]string{"ana", "李雷", "eva@lab.example"}, slices.Repeat([]string{most + "."}, 20))
	m.Card = &guard.Card{Name: most, Purpose: most, Owner: most, Team: most, State: guard.StateRunning, GPUs: 8, Model: most, Type: most, Spot: true,
		Spent: slices.Repeat([]guard.Money{guard.MustMoney("123456789012.99 USD")}, 50), AtLeast: true, Budget: guard.MustMoney("123456789012.99 CNY"),
		Ends: notifytest.Start.Add(time.Hour), Does: guard.ActRelease, By: guard.CauseExpiry, Held: notifytest.Start.Add(time.Hour),
		Snoozed: notifytest.Start.Add(time.Hour), Open: slices.Repeat([]guard.Rule{guard.Rule(most)}, 50), AsOf: notifytest.Start.AddDate(1, 0, 0)}
	for range 4 {
		for _, c := range clicks {
			m.Offers = append(m.Offers, guard.Offer{Click: c, For: 1<<63 - 1, Key: "k"})
		}
	}
	for _, l := range guard.Langs {
		m.Lang = l
		c, far := staffed(t, l)
		if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
			t.Fatal(err)
		}
		p := far.Stored()[0]
		if n := size(p.Text + p.Blocks); n > 12_000 || len(p.Buttons) != maxOffers || !slices.Equal(p.Pings, []string{"U0ANA", "W0LI", "U0EVA"}) {
			t.Errorf("%d characters in all, %d buttons, pings %q", n, len(p.Buttons), p.Pings)
		}
	}
}

// TestEveryText: what guard says, as the golden cases of the texts have it, in each
// language, is taken by Slack and read whole.
func TestEveryText(t *testing.T) {
	for pattern, l := range map[string]guard.Lang{"chinese/*.tx*": guard.Chinese, "*.txtar": guard.English, "told/*.txt": guard.Chinese} {
		pattern = "../../../policy/testdata/" + pattern
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no texts at %s: %v", pattern, err)
		}
		texts := 0
		for _, file := range files {
			c, far := staffed(t, l)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range textsOf(string(data)) {
				m.Lang, m.ID = l, fmt.Sprintf("slack|%d", len(far.Posts()))
				m.Card = &guard.Card{Name: "box", Owner: "ana", State: guard.StateRunning, AsOf: notifytest.Start}
				m.Offers = []guard.Offer{{Click: guard.ClickRelease, Key: "k"}, {Click: guard.ClickWhy, Key: "k"}}
				if _, err := c.Post(ctxAt(t, 0), m, ""); err != nil {
					t.Errorf("%s: %q: %v", file, m.Title, err)
				}
				if !c.Fits(m) {
					t.Errorf("%s: %q is cut", file, m.Title)
				}
			}
			texts += len(far.Stored())
		}
		if texts < 10 {
			t.Errorf("%s: only %d texts", pattern, texts)
		}
	}
}

// textsOf are the messages in a golden file: a title, and its lines below it, one tab in;
// or a title after a #, and its lines.
func textsOf(data string) (out []guard.Message) {
	titled := strings.Contains(data, "\n# ")
	for _, line := range strings.Split(data, "\n") {
		title := strings.TrimLeft(line, "\t")
		if _, after, ok := strings.Cut(title, ": "); ok && strings.HasPrefix(title, "stage ") {
			title, line = after, after
		}
		if titled && !strings.HasPrefix(line, "#") {
			line = "\t" + line
		}
		switch {
		case title == "" || strings.HasPrefix(title, "-- "):
		case strings.HasPrefix(line, "\t") && len(out) > 0:
			out[len(out)-1].Lines = append(out[len(out)-1].Lines, title)
		default:
			out = append(out, guard.Message{Title: title, CreatedAt: notifytest.Start})
		}
	}
	return out
}
