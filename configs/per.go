package configs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/policy"
)

// notice is what a rule's own grace would mean.
type notice int

const (
	tells  notice = iota // it only tells: there is nothing to give notice of
	leased               // the lease has its grace
	acts                 // it may do something by itself
)

// shortestRemind keeps a reminder from being an alarm clock.
const shortestRemind = 10 * time.Minute

// per fills what every rule takes, for the findings that one key of the file is about.
func (d *decoder) per(f file, per map[guard.Rule]policy.Per, key string, in perRule, n notice, rules ...guard.Rule) {
	path := "rules." + key
	p := per[rules[0]]
	p.Off, p.Match = in.Off, d.match(f, path+".match", in.Match, rules[0])
	if d.has(path + ".remind") {
		p.Remind = time.Duration(in.Remind)
		if p.Remind > 0 && p.Remind < shortestRemind {
			d.at(path+".remind", "%s is too often: at least %s, or never", formatDuration(p.Remind), formatDuration(shortestRemind))
		}
	}
	if d.has(path + ".grace") {
		switch n {
		case tells:
			d.at(path+".grace", "this rule does nothing that notice could be given of")
		case leased:
			d.at(path+".grace", "each lease has its own: write defaults.grace")
		}
		p.Grace = in.Grace
	}
	for _, r := range rules {
		if _, known := per[r]; known || !zero(p) {
			per[r] = p
		}
	}
}

func zero(p policy.Per) bool {
	return !p.Off && p.Remind == 0 && p.Grace == 0 && len(p.Match.Tags) == 0 && len(p.Match.Purpose) == 0 &&
		len(p.Match.Owner) == 0 && len(p.Match.Account) == 0 && len(p.Match.Kind) == 0
}

// match refuses a filter that can match nothing, for a rule that is silent by mistake
// looks like one that finds nothing wrong.
func (d *decoder) match(f file, path string, in *matchFile, rule guard.Rule) policy.Match {
	if in == nil {
		return policy.Match{}
	}
	m := policy.Match{Tags: in.Tags, Purpose: in.Purpose, Owner: in.Owner, Account: in.Account}
	if d.read(path) && len(in.Tags) == 0 && len(in.Purpose) == 0 && len(in.Owner) == 0 && len(in.Account) == 0 && len(in.Kind) == 0 {
		d.at(path, "names nothing: write match: {tags: {team: nlp}}, or leave it out")
	}
	for _, k := range slices.Sorted(maps.Keys(in.Tags)) {
		if v := in.Tags[k]; k == "" || k != strings.TrimSpace(k) || v != strings.TrimSpace(v) {
			d.at(path+".tags."+segment(k), "a tag is compared exactly and cannot begin or end with a space")
		}
	}
	for _, name := range in.Account {
		if strings.Contains(name, "*") {
			continue
		}
		if !slices.ContainsFunc(f.Accounts, func(a account) bool { return a.Name == name }) {
			d.at(path+".account", "no account %s is configured", shown(name))
		}
	}
	if rule == guard.RuleBalanceLow && len(in.Tags)+len(in.Purpose)+len(in.Owner)+len(in.Kind) > 0 {
		d.at(path, "this rule is about whole accounts: only account can tell them apart")
		return m
	}
	for _, k := range in.Kind {
		kind := guard.Kind(k)
		switch judged := policy.JudgedKind(rule); {
		case !slices.Contains(guard.Kinds, kind):
			d.at(path+".kind", "%s is no kind: write one of %s", shown(k), kinds())
		case judged != kind && judged != "":
			d.at(path+".kind", "this rule is about a thing of the kind %s, so that it would say nothing of a %s", judged, kind)
		}
		m.Kind = append(m.Kind, kind)
	}
	return m
}

func kinds() string {
	names := make([]string, len(guard.Kinds))
	for i, k := range guard.Kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// remind is how long after something was told it is told again; 0: never.
type remind time.Duration

func (r *remind) UnmarshalText(b []byte) error {
	if string(b) == "never" {
		*r = 0
		return nil
	}
	d, err := parseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%w, or never", err)
	}
	*r = remind(d)
	return nil
}

// words is one text or a list of them.
type words []string

// ReadNode implements NodeReader.
func (w *words) ReadNode(n Node) {
	if n.IsList() {
		n.Decode((*[]string)(w))
		return
	}
	var one string
	n.Decode(&one)
	if *w = (words{one}); one == "" && n.Read() {
		n.Problem("is empty")
	}
}
