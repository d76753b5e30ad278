package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"guard"
	"guard/policy/say"
)

// Digest is what the daily digest is told from: how the last calendar day went, and how
// things stand. Its lists are in no order.
type Digest struct {
	At   time.Time
	Zone *time.Location // nil: UTC
	// From and To are the day that Spent and Ended are of.
	From, To time.Time
	Exchange guard.Exchange
	// Spent is the day's money by team and purpose; Total is all of it, an amount a
	// currency. Unpriced is what billed at a price that nobody knows, so that Total is
	// less than the truth.
	Spent    []DigestSpend
	Total    []guard.Money
	Unpriced []Thing
	Open     []DigestFinding
	// Ends is what has a limit between At and the end of At's day.
	Ends  []DigestEnd
	Ended []DigestEnded
	// Alive is nil but in the first digest of a week.
	Alive *DigestAlive
}

// DigestSpend is what one purpose of one team cost in the day.
type DigestSpend struct {
	Team    string // of the lease; "": it names none
	Purpose string
	// Unregistered: nobody's lease. Team and Purpose are empty then.
	Unregistered bool
	Amounts      []guard.Money // one a currency
}

// DigestFinding is one open finding.
type DigestFinding struct {
	Rule   guard.Rule
	About  Thing
	Owner  string
	Since  time.Time
	Wastes guard.Money // per hour; unset: not known, or no money
}

// DigestEnd is a limit that comes today.
type DigestEnd struct {
	About Thing
	Owner string
	At    time.Time
	By    guard.DeadlineReason
	// Does is what guard does then: it may be to tell only.
	Does guard.Action
}

// DigestEnded is what guard has released or stopped in the day.
type DigestEnded struct {
	About  Thing
	Cause  guard.Cause
	Action guard.Action
	At     time.Time
	// Less is what it bills less per hour since then, one amount a currency; empty where
	// that is not known.
	Less []guard.Money
}

// DigestAlive is that guard lives, and how the week was.
type DigestAlive struct {
	Version string
	// Started is when this guardd was, and Polls how many times it has asked accounts since.
	Started  time.Time
	Polls    uint64
	Accounts []DigestAccount
	// Releases and Messages are those of the last seven days.
	Releases, Messages int
}

// DigestAccount is when an account was last read completely; zero: never.
type DigestAccount struct {
	Name     string
	Complete time.Time
}

const (
	// digestMost is how many lines of one sort a digest has at most, and digestRunes how
	// long it is in all: a channel cuts what is much longer.
	digestMost  = 8
	digestRunes = 4000
	digestName  = 60 // runes of one name
)

// Message is the digest in a language, not yet for any channel. It is one line where there
// is nothing to say.
func (d Digest) Message(lang guard.Lang) guard.Message {
	m := guard.Message{Waits: true, CreatedAt: d.At}
	for most := digestMost; most > 0; most-- {
		w := digestWriter{Digest: d, lang: lang, most: most}
		m.Title, m.Lines = w.title(), w.lines()
		if utf8.RuneCountInString(strings.Join(m.Lines, "\n")) <= digestRunes {
			break
		}
	}
	return m
}

// digestWriter writes a digest with at most so many lines of one sort.
type digestWriter struct {
	Digest
	lang guard.Lang
	most int
}

func (w digestWriter) say(format string, args ...any) string { return say.In(w.lang, format, args...) }

func (w digestWriter) zone() *time.Location {
	if w.Zone == nil {
		return time.UTC
	}
	return w.Zone
}

// Day is a calendar day as people read it: Sun 29 Nov.
func Day(lang guard.Lang, t time.Time) string {
	return say.In(lang, "%s %d %s", say.In(lang, t.Format("Mon")), t.Day(), say.In(lang, t.Format("Jan")))
}

// clock is a time of day, with its day where that is not today.
func (w digestWriter) clock(t time.Time) string {
	t = t.In(w.zone())
	if y, m, d := t.Date(); time.Date(y, m, d, 0, 0, 0, 0, w.zone()).Equal(w.To) {
		return t.Format("15:04")
	}
	return Day(w.lang, t) + t.Format(" 15:04")
}

func (w digestWriter) title() string {
	day := Day(w.lang, w.From.In(w.zone()))
	spent := w.spent()
	if len(w.Open)+len(w.Ends)+len(w.Ended) == 0 && w.nothing() {
		return w.say("Yesterday, %s: nothing was spent. Nothing is open, and nothing ends today.", day)
	}
	return w.say("Yesterday, %s: %s", day, spent)
}

func (w digestWriter) nothing() bool { return len(positive(w.Total))+len(w.Unpriced) == 0 }

// spent is the day's money in words.
func (w digestWriter) spent() string {
	known := positive(w.Total)
	switch {
	case w.nothing():
		return w.say("nothing was spent")
	case len(known) == 0:
		return w.say("what was spent is not known")
	}
	text := say.Amounts(known)
	if all, ok := w.together(known); ok {
		text = w.say("%s (together %s)", text, all.Round())
	}
	if len(w.Unpriced) > 0 {
		return w.say("at least %s", text)
	}
	return text
}

// together is the sum in the base currency, where there is more than one and each has a
// rate.
func (w digestWriter) together(ms []guard.Money) (sum guard.Money, ok bool) {
	if len(ms) < 2 {
		return guard.Money{}, false
	}
	for _, m := range ms {
		in, ok := w.Exchange.To(m, w.Exchange.Base)
		if !ok {
			return guard.Money{}, false
		}
		if both, err := sum.Add(in); err == nil {
			in = both
		}
		sum = in
	}
	return sum, true
}

func positive(ms []guard.Money) []guard.Money {
	return slices.DeleteFunc(slices.Clone(ms), func(m guard.Money) bool { return !m.IsPositive() })
}

func (w digestWriter) lines() []string {
	return slices.Concat(w.teams(), w.open(), w.ends(), w.ended(), w.ask(), w.alive())
}

// teams is the day's money, a line a team with its dearest purposes.
func (w digestWriter) teams() []string {
	var gs []group
	for _, s := range w.Spent {
		sums := positive(s.Amounts)
		if len(sums) == 0 {
			continue
		}
		team := name(s.Team)
		switch {
		case s.Unregistered:
			team = w.say("Registered by nobody")
		case team == "":
			team = w.say("Of no team")
		}
		var g, p *group
		gs, g = under(gs, team)
		g.add(sums...)
		if !s.Unregistered {
			g.parts, p = under(g.parts, name(s.Purpose))
			p.add(sums...)
		}
	}
	w.dearest(gs)
	var out []string
	for _, g := range gs {
		line := w.say("%s: %s", g.name, say.Amounts(g.sums))
		if len(g.parts) > 0 {
			w.dearest(g.parts)
			var parts []string
			for _, p := range g.parts {
				if len(g.parts) > 1 {
					p.name += " " + say.Amounts(p.sums)
				}
				parts = append(parts, p.name)
			}
			line = w.say("%s (%s)", line, say.List(w.lang, parts, min(3, w.most)))
		}
		out = append(out, line)
	}
	out = w.bounded(out)
	if n := len(w.Unpriced); n > 0 {
		unpriced := slices.Sorted(slices.Values(things(w.lang, w.Unpriced)))
		out = append(out, w.say("Not in these sums, for nobody knows their price: %s.", say.List(w.lang, unpriced, min(5, w.most))))
	}
	return out
}

// bounded keeps the first lines, and says how many more there are.
func (w digestWriter) bounded(lines []string) []string {
	if more := len(lines) - w.most; more > 0 {
		return append(lines[:w.most:w.most], w.say("and %d more", more))
	}
	return lines
}

// name bounds a name that was told from outside.
func name(s string) string {
	if r := []rune(s); len(r) > digestName {
		return string(r[:digestName]) + "…"
	}
	return s
}

func names(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = name(s)
	}
	return out
}

// whose is a thing and whose it is.
func (w digestWriter) whose(what Thing, owner string) string {
	called := name(what.In(w.lang))
	if owner == "" {
		return called
	}
	return w.say("%s, of %s", called, name(owner))
}

// open is what is wrong now, the dearest first.
func (w digestWriter) open() []string {
	if len(w.Open) == 0 {
		return nil
	}
	var all group
	for _, f := range w.Open {
		all.add(f.Wastes)
	}
	found := slices.Clone(w.Open)
	slices.SortStableFunc(found, func(a, b DigestFinding) int {
		return cmp.Or(w.dearer([]guard.Money{a.Wastes}, []guard.Money{b.Wastes}), a.Since.Compare(b.Since), a.About.Compare(b.About), cmp.Compare(a.Rule, b.Rule))
	})
	var lines []string
	for _, f := range found {
		about := say.Rule(w.lang, f.Rule)
		if f.About.ID != "" {
			about += " " + w.whose(f.About, f.Owner)
		}
		if f.Wastes.IsPositive() {
			about = w.say("%s: %s per hour", about, f.Wastes.Round())
		}
		lines = append(lines, w.say("- %s, since %s", about, w.clock(f.Since)))
	}
	head := w.say("Open now: %d", len(found))
	if sums := positive(all.sums); len(sums) > 0 {
		head = w.say("Open now: %d, %s per hour as far as is known", len(found), say.Amounts(sums))
	}
	return append([]string{head}, w.bounded(lines)...)
}

// ends is what has a limit today.
func (w digestWriter) ends() []string {
	if len(w.Ends) == 0 {
		return nil
	}
	ends := slices.Clone(w.Ends)
	slices.SortStableFunc(ends, func(a, b DigestEnd) int { return cmp.Or(a.At.Compare(b.At), a.About.Compare(b.About)) })
	var lines []string
	for _, e := range ends {
		does := w.say("guard only tells")
		switch e.Does {
		case guard.ActRelease:
			does = w.say("guard releases it")
		case guard.ActStop:
			does = w.say("guard stops it")
		}
		lines = append(lines, w.say("- %s %s: %s, %s", w.clock(e.At), w.whose(e.About, e.Owner), w.say(limitWord(e.By)), does))
	}
	return append([]string{w.say("Ends today: %d", len(ends))}, w.bounded(lines)...)
}

func limitWord(by guard.DeadlineReason) string {
	switch by {
	case guard.DeadlineExpiry:
		return "it expires"
	case guard.DeadlineBudget:
		return "its cap is reached"
	case guard.DeadlineCeiling:
		return "its ceiling is reached"
	}
	return string(by)
}

// causeWord is what something was ended for.
func causeWord(c guard.Cause) string {
	switch c {
	case guard.CausePerson:
		return "a person's order"
	case guard.CauseStopped:
		return "stopped and billing"
	case guard.CauseOrphan:
		return "left behind"
	}
	return string(c)
}

// ended is what guard has ended, and what that saves: an estimate.
func (w digestWriter) ended() []string {
	if len(w.Ended) == 0 {
		return nil
	}
	ended := slices.Clone(w.Ended)
	slices.SortStableFunc(ended, func(a, b DigestEnded) int {
		return cmp.Or(w.dearer(a.Less, b.Less), a.At.Compare(b.At), a.About.Compare(b.About))
	})
	var saved group
	var lines []string
	for _, e := range ended {
		line := w.say("- %s: released %s (%s)", name(e.About.In(w.lang)), w.clock(e.At), w.say(causeWord(e.Cause)))
		if e.Action == guard.ActStop {
			line = w.say("- %s: stopped %s (%s)", name(e.About.In(w.lang)), w.clock(e.At), w.say(causeWord(e.Cause)))
		}
		less := positive(e.Less)
		if len(less) == 0 {
			lines = append(lines, w.say("%s; what that saves is not known", line))
			continue
		}
		since := w.At.Sub(e.At)
		var sums []guard.Money
		for _, m := range less {
			if sum, ok := (guard.Rate{Amount: m, Per: time.Hour}).For(since); ok {
				sums = append(sums, sum)
			}
		}
		saved.add(sums...)
		lines = append(lines, w.say("%s; %s per hour less", line, say.Amounts(less)))
	}
	head := w.say("Ended by guard yesterday: %d", len(ended))
	if sums := positive(saved.sums); len(sums) > 0 {
		head = w.say("Ended by guard yesterday: %d. At what they billed, they would have cost about %s more by now", len(ended), say.Amounts(sums))
	}
	return append([]string{head}, w.bounded(lines)...)
}

// ask is who can do most about what is open.
func (w digestWriter) ask() []string {
	var gs []group
	for _, f := range w.Open {
		if f.Owner == "" || !f.Wastes.IsPositive() {
			continue
		}
		var g *group
		gs, g = under(gs, name(f.Owner))
		g.add(f.Wastes)
	}
	w.dearest(gs)
	var parts []string
	for _, g := range gs {
		parts = append(parts, w.say("%s (%s per hour)", g.name, say.Amounts(g.sums)))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{w.say("Whom to ask: %s.", say.List(w.lang, parts, min(3, w.most)))}
}

// alive is that guard lives.
func (w digestWriter) alive() []string {
	a := w.Alive
	if a == nil {
		return nil
	}
	line := w.say("guard %s is alive: it runs since %s, and has asked the accounts %d times since.", a.Version, w.clock(a.Started), a.Polls)
	week := w.say("In the last seven days it has ended %d and sent %d messages.", a.Releases, a.Messages)
	var read []string
	accounts := slices.SortedFunc(slices.Values(a.Accounts), func(x, y DigestAccount) int {
		return cmp.Or(x.Complete.Compare(y.Complete), cmp.Compare(x.Name, y.Name))
	})
	for _, x := range accounts {
		if x.Complete.IsZero() {
			read = append(read, w.say("%s never", name(x.Name)))
			continue
		}
		read = append(read, w.say("%s at %s", name(x.Name), w.clock(x.Complete)))
	}
	out := []string{line, week}
	if len(read) > 0 {
		out = append(out, w.say("Last read completely: %s.", say.List(w.lang, read, w.most)))
	}
	return out
}
