package configs

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"guard"
	"guard/policy"
)

// maxFile bounds what is parsed; a thousand accounts fit in.
const maxFile = 256 << 10

// Load reads a configuration. name is the file's path: it stands in messages,
// and relative paths in the file start from its folder. env looks up an environment
// variable, as os.LookupEnv does.
//
// The error is Problems, every mistake at once, and there is no Config with it.
// Secrets and price books that the file names are read too, so that what cannot
// be read is told before anything starts.
func Load(data []byte, name string, built *Decoders, env func(string) (string, bool)) (*Config, error) {
	d := &decoder{file: name, env: env, lines: map[string]int{}, unread: map[string]bool{}}
	rules := policy.DefaultRules()
	f := defaultFile(rules)
	if root, ok := d.parse(data); ok {
		d.value(entry{line: 1, value: root}, settable(&f), "")
	}
	c := &Config{
		File:     name,
		Mode:     guard.Mode(f.Mode),
		Ledger:   Ledger{f.Ledger.Backend, d.path(f.Ledger.Path)},
		TimeZone: f.TimeZone.Location,
	}
	c.Listen = d.listen(f)
	d.keep(f, c)
	c.Rules = d.rules(f, rules)
	c.Notify = d.notify(f.Notify, built, c)
	c.Accounts = d.accounts(f.Accounts, c, built.providers())
	d.signals(f, c, built.sources())
	if len(d.problems) > 0 {
		return nil, inOrder(d.problems, name)
	}
	c.Notes = inOrder(append(c.Notes, d.notes(c)...), name)
	return c, nil
}

// defaultFile is the file that nobody wrote.
func defaultFile(r policy.Rules) file {
	f := file{
		Mode:      mode(guard.Observe),
		Ledger:    ledger{"bolt", "/var/lib/guard/ledger.db"},
		Listen:    listen{Unix: defaultSocket},
		TimeZone:  zone{time.UTC},
		Protect:   protectFile{r.Protect.Tags},
		Defaults:  defaultsFile{r.Defaults.TTL, action(r.Defaults.OnLimit), r.Defaults.Grace},
		Limits:    limitsFile{r.Limits.UnforeseenPerHour, r.Limits.UnforeseenPercent, r.Limits.ForcedUnprotect},
		Release:   releaseFile{r.Verify},
		Backup:    backupFile{Keep: defaultKeep},
		Retention: defaultRetention,
		Signals:   signalsFile{Keep: defaultSamples},
		Busy:      defaultBusy(r.Busy),
	}
	f.Rules.Unregistered.After = r.Unregistered.After
	f.Rules.Unregistered.Then = action(r.Unregistered.Then)
	f.Rules.Expiry.Warn = r.Expiry.Warn
	for _, p := range r.Budget.Warn {
		f.Rules.Budget.Warn = append(f.Rules.Budget.Warn, percent(p))
	}
	f.Rules.StoppedBilling.Warn, f.Rules.StoppedBilling.Then = r.StoppedBilling.Warn, action(r.StoppedBilling.Then)
	f.Rules.ProvisioningLong.After, f.Rules.ProvisioningLong.Then = r.ProvisioningLong.After, action(guard.ActAlert)
	for kind, in := range f.Rules.orphans() {
		in.After, in.Then = r.Orphans[kind].After, action(r.Orphans[kind].Then)
	}
	f.Rules.PriceChanged.Over = percent(r.PriceChanged.Over)
	f.Rules.PriceChanged.Then = action(guard.ActAlert)
	f.Rules.EgressSpike = egressSpikeFile{Hour: r.EgressSpike.Hour, Day: r.EgressSpike.Day, Then: action(r.EgressSpike.Then)}
	f.Rules.BalanceLow = aheadFile{Warn: r.BalanceLow.Warn, Then: action(guard.ActAlert)}
	f.Rules.ChargeMismatch.Over, f.Rules.ChargeMismatch.Then = percent(r.ChargeMismatch.Over), action(guard.ActAlert)
	f.Rules.RenewsSoon = aheadFile{Warn: r.RenewsSoon.Warn, Then: action(guard.ActAlert)}
	f.Rules.ProviderReclaim = aheadFile{Warn: r.ProviderReclaim.Warn, Then: action(guard.ActAlert)}
	for _, j := range f.Rules.judgementsOf() {
		has, _ := r.Judgement(j.rule)
		*j.file = defaultJudgement(has)
	}
	return f
}

// parse makes the syntax tree of the one document in data; false where there is
// nothing to decode.
func (d *decoder) parse(data []byte) (root ast.Node, ok bool) {
	if len(data) > maxFile {
		d.problem(0, "", "larger than %d KiB: this is not a configuration", maxFile>>10)
		return nil, false
	}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		line, text := syntax(err)
		d.problem(line, "", "not YAML: %s", text)
		return nil, false
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			d.problem(lineOf(doc.Body), "", "a second document: a configuration is one")
			continue
		}
		root = doc.Body
	}
	switch root.(type) {
	case nil, *ast.NullNode:
		return nil, false
	case *ast.MappingNode, *ast.MappingValueNode:
		return root, true
	}
	d.problem(lineOf(root), "", "the file is %s: write keys and values, such as mode: observe", kindOf(root))
	return nil, false
}

// syntax takes line and message out of a parser's error, but not the lines of
// the file that it quotes: they may hold secrets.
func syntax(err error) (int, string) {
	var e yaml.Error
	if !errors.As(err, &e) {
		return 0, "it cannot be read"
	}
	line := 0
	if t := e.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return line, quoted.ReplaceAllString(e.GetMessage(), "(not shown)")
}

// quoted is what a message of the parser repeats of the file, single characters
// aside: after `token: |` that may be the token.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.){2,}"`)

// notes are said of a configuration that is right and may not be meant.
func (d *decoder) notes(c *Config) []Problem {
	var notes []Problem
	note := func(path, format string, args ...any) {
		notes = append(notes, Problem{c.File, d.line(path), fmt.Sprintf(format, args...)})
	}
	if len(c.Accounts) == 0 {
		note("accounts", "no account is configured: guard watches nothing")
	}
	if c.Listen.TCP == "" && c.Listen.Cert != "" {
		note("tls", "tls is for tcp, and listen has no tcp:HOST:PORT")
	}
	if len(c.Rules.Protect.Tags) == 0 {
		note("protect.tags", "protect.tags is empty: no tag protects an instance")
	}
	for i, a := range c.Accounts {
		if a.Mode == guard.Enforce && c.Notify.Slack == nil && len(c.Notify.URLs) == 0 {
			note(fmt.Sprintf("accounts[%d]", i), "account %s is in mode enforce, and neither notify.slack nor notify.urls is set: notices go to the log only", a.Name)
		}
	}
	return notes
}
