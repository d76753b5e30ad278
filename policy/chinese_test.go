package policy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"guard"
	"guard/policy"
	"guard/policy/say"
)

// TestChinese judges the golden cases in Chinese: the same is decided, what the ledger
// keeps of it in English is recognised, and what people read, and are answered who ask why,
// is in testdata/chinese, for proof-readers, without a word of English in it.
func TestChinese(t *testing.T) {
	goldens(t, func(t *testing.T, name string, a *txtar.Archive) {
		path := filepath.Join("testdata", "chinese", filepath.Base(name))
		got := &txtar.Archive{}
		for _, f := range a.Files {
			n, ok := strings.CutSuffix(f.Name, "/facts")
			if !ok {
				continue
			}
			t.Run(n, func(t *testing.T) {
				rules, facts := parse(t, string(f.Data))
				english := policy.Evaluate(rules, facts)
				facts.Lang = guard.Chinese
				chinese := policy.Evaluate(rules, facts)
				if diff := cmp.Diff(show(wordless(english)), show(wordless(chinese))); diff != "" {
					t.Errorf("another language decides something else (-English +Chinese):\n%s", diff)
				}
				for i, of := range whys(english) {
					if told, is := say.Kept(guard.Chinese, of), whys(chinese)[i]; told != is {
						t.Errorf("%q is kept, told as %q, and is %q in Chinese", of, told, is)
					}
				}
				text := told(chinese)
				if _, lines := policy.Explain(rules, facts, chinese); facts.Observed != nil {
					text += "?\t" + strings.Join(lines, "\n\t") + "\n"
				}
				if words := leftOver(text, given(string(f.Data))); len(words) > 0 {
					t.Errorf("%q are English, in:\n%s", words, text)
				}
				got.Files = append(got.Files, txtar.File{Name: n, Data: []byte(text)})
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLanguageDecidesNothing: whatever the facts, what is decided in another language is
// the same, but for its words.
func TestLanguageDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, rules := anyLease(t), policy.DefaultRules()
		english := policy.Evaluate(rules, f)
		f.Lang = guard.Chinese
		chinese := policy.Evaluate(rules, f)
		if diff := cmp.Diff(show(wordless(english)), show(wordless(chinese))); diff != "" {
			t.Fatalf("another language decides something else (-English +Chinese):\n%s", diff)
		}
		for i, v := range english.Verdicts {
			for j, s := range v.Stages {
				if is := chinese.Verdicts[i].Stages[j]; is.Title == s.Title || slices.Contains(is.Lines, "") {
					t.Fatalf("%q is %q in Chinese, with %q", s.Title, is.Title, is.Lines)
				}
			}
		}
	})
}

// TestChineseMessages is what becomes of findings that were told: still so, over, many.
func TestChineseMessages(t *testing.T) {
	finding := func(n int, rule guard.Rule, title string) guard.Finding {
		id := guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-" + strconv.Itoa(n)}
		return guard.Finding{Rule: rule, Resource: id, Since: zero, Opened: zero.Add(time.Minute), Title: "English", Wastes: guard.MustMoney("3.99 USD"),
			Titles: map[guard.Lang]string{guard.Chinese: title}}
	}
	stray := finding(1, guard.RuleUnregistered, "lab/i-1：无人登记")
	at, lang := zero.Add(25*time.Hour), guard.Chinese
	said := []guard.Message{
		policy.Again(stray, policy.Stage{Title: "lab/i-1：无人登记", Lines: []string{"状态：运行中。"}}, at, nil, lang),
		policy.Over(stray, at, nil, lang, "已消失：由他人结束。"),
		policy.Grouped([]guard.Finding{stray, finding(2, guard.RuleUnregistered, "lab/i-2：无人登记")}, at, lang),
	}
	for _, rule := range []guard.Rule{guard.RuleReclaimed, guard.RuleSignalsLost, guard.RuleStoppedBilling, guard.RuleProviderReclaim, guard.RuleRenewsSoon, guard.RuleChargeMismatch,
		guard.RuleOrphanVolume, guard.RuleOrphanSnapshot, guard.RuleOrphanImage, guard.RuleOrphanAddress, guard.RuleOrphanFilesystem} {
		said = append(said, policy.Grouped([]guard.Finding{finding(1, rule, "lab/i-1"), finding(2, rule, "lab/i-2")}, at, lang))
	}
	var many []guard.Finding
	for i := range 24 {
		f := finding(i, guard.RuleOrphanVolume, "")
		f.Since = at.Add(-time.Duration(i*i) * 12 * time.Hour)
		switch {
		case i%5 == 0:
			f.Wastes = guard.Money{}
		case i%3 == 0:
			f.Facts = []guard.Fact{{Name: "made by", Value: "a backup tool made it (Velero, by the tag velero.io/backup)"}}
		}
		many = append(many, f)
	}
	said = append(said, policy.Grouped(many, at, lang))
	var got strings.Builder
	for _, m := range said {
		text := m.Title + "\n\t" + strings.Join(m.Lines, "\n\t") + "\n"
		if words := leftOver(text, nil); len(words) > 0 {
			t.Errorf("%q are English, in:\n%s", words, text)
		}
		got.WriteString(text)
	}
	path := filepath.Join("testdata", "chinese", "messages.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	untold := stray
	untold.Titles = nil
	if m := policy.Over(untold, at, nil, lang); m.Title != "已解除：English" {
		t.Errorf("what was never told in Chinese is over as %q", m.Title)
	}
}

// told is what people read of an outcome.
func told(o policy.Outcome) string {
	var b strings.Builder
	stage := func(s policy.Stage) {
		b.WriteString(s.Title + "\n")
		for _, l := range s.Lines {
			b.WriteString("\t" + l + "\n")
		}
	}
	for _, v := range o.Verdicts {
		for _, s := range v.Stages {
			stage(s)
		}
		if v.Act != nil {
			b.WriteString("\t— " + v.Act.Why + "\n")
		}
		if v.Act != nil && v.Act.Block != "" {
			b.WriteString("\t— " + v.Act.BlockWhy + "\n")
		}
	}
	if o.Doubt != "" {
		b.WriteString("— " + o.Doubt + "\n")
	}
	if o.Booking != nil && o.Booking.Say != nil {
		stage(*o.Booking.Say)
	}
	return b.String()
}

// whys are the reasons of an outcome that the ledger keeps, or may.
func whys(o policy.Outcome) []string {
	var out []string
	for _, v := range o.Verdicts {
		if v.Act != nil {
			out = append(out, v.Act.Why, v.Act.BlockWhy)
		}
	}
	return out
}

// wordless is an outcome without its words.
func wordless(o policy.Outcome) policy.Outcome {
	o.Verdicts = slices.Clone(o.Verdicts)
	for i, v := range o.Verdicts {
		v.Stages = slices.Clone(v.Stages)
		for j, s := range v.Stages {
			v.Stages[j] = policy.Stage{Name: s.Name, Lines: make([]string, len(s.Lines))}
		}
		if v.Act != nil {
			act := *v.Act
			act.Why, act.BlockWhy = "", ""
			v.Act = &act
		}
		v.Facts = slices.Clone(v.Facts)
		for j := range v.Facts {
			v.Facts[j].Name, v.Facts[j].Value = "", ""
		}
		o.Verdicts[i] = v
	}
	if o.Doubt != "" {
		o.Doubt = "…"
	}
	if o.Booking != nil {
		b := *o.Booking
		b.Text = ""
		if b.Say != nil {
			b.Say = &policy.Stage{Name: b.Say.Name, Lines: make([]string, len(b.Say.Lines))}
		}
		o.Booking = &b
	}
	return o
}

// Not English, though it is made of its letters: what people type, names, IDs, times and
// currencies, and what Chinese takes over as it is.
var (
	typed = regexp.MustCompile(`guard (?:extend|release|register|hold|veto|protect|unprotect|resume|findings|show|ls|egress show|ack)(?: (?:ACCOUNT/ID|[\w-]+/[\w.:-]+|--[\w-]+(?: (?:TEXT|AMOUNT/h|[\w.+/]+))?|[a-z]+_[a-z_]+|expired|parked|hung|underused|reclaimed|unregistered|\+[\w.]+))*`)
	names = regexp.MustCompile(`[\w.-]+/[\w.:-]+|[a-z]+_[a-z_]+|\d{4}-\d\d-\d\dT[\d:]+(?:Z|[+-][\d:]+)|[\w:.-]+=[\w:.-]+|ceilings\.budget|\b[\w.]*\d[\w.-]*\b`)
	word  = regexp.MustCompile(`[A-Za-z][A-Za-z']+`)
	known = strings.Fields(`guard GPU GPUs CPU UTC USD CNY EUR MIG TB GB MB kB MiB GiB ID IP lab acct ana lora agent expired unregistered reclaimed relaunched parked hung underused phantom ceilings alert Kubernetes Velero CSI AWS Backup Amazon Data Lifecycle Manager H100`)
)

// given are the words that a case's facts have of other people: names, purposes, errors.
func given(facts string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(\w+)=("[^"]*"|\S+)`).FindAllStringSubmatch(facts, -1) {
		switch m[1] {
		case "state", "on_limit", "gone", "renews", "then", "status", "cause", "action", "kind", "stop", "sort", "basis":
		default:
			out = append(out, word.FindAllString(m[2], -1)...)
		}
	}
	return out
}

// leftOver are the words of English in a text, but for those of other people.
func leftOver(text string, others []string) []string {
	text = names.ReplaceAllString(typed.ReplaceAllString(text, ""), "")
	return slices.DeleteFunc(word.FindAllString(text, -1), func(w string) bool {
		return slices.Contains(known, w) || slices.Contains(others, w)
	})
}
