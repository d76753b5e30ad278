package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"guard"
	"guard/policy"
	"guard/providers"
)

// AccountKeys are those keys of an account that a scenario's account has too;
// embed them in a struct that is decoded.
type AccountKeys struct {
	Mode       mode       `yaml:"mode"`
	MayRelease mayRelease `yaml:"may_release"`
	Poll       plain      `yaml:"poll"`
	Sweep      plain      `yaml:"sweep"`
}

// Rehearsed is an account of a story.
type Rehearsed struct {
	Name string
	Keys AccountKeys
	// Node is where it stands in the scenario; what is wrong with it is reported
	// there.
	Node Node
}

// Rehearsal is a configuration tried on a story: a user's file, keys over it, and
// the story's accounts. Secrets are not read, and no account of the file is
// watched: the clouds of a story are the story's.
type Rehearsal struct {
	File string // the path of the user's file; "": the shipped defaults
	// Over is merged over the file key by key; lists replace.
	Over     Node
	Accounts []Rehearsed
	// Kind is the provider of the story's accounts.
	Kind string
	// Poll and Sweep are the accounts' intervals where they name none.
	Poll, Sweep time.Duration
	// Only: where Over lists accounts, the story's others are not configured.
	Only bool
	// Built decodes the sections of the file's own accounts and sources.
	Built *Decoders
}

// Rehearse makes the configuration. The error is Problems, as of Load.
func Rehearse(r Rehearsal) (*Config, error) {
	name := r.File
	d := &decoder{file: name, lines: map[string]int{}, files: map[string]string{}, unread: map[string]bool{}, rehearse: true}
	rules := policy.DefaultRules()
	f := defaultFile(rules)
	if name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, Problems{{name, 0, "it cannot be read: " + pathless(err)}}
		}
		if root, ok := d.parse(data); ok {
			d.value(entry{line: 1, value: root}, settable(&f), "")
		}
	}
	listed := false
	if !r.Over.IsZero() {
		own := r.Over.d.file
		// Over a file maps are merged too. Alone the keys mean what they mean in a
		// guard.yaml, where a map replaces the default.
		d.file, d.merging = own, name != ""
		if name == "" {
			name = own
		}
		f.Accounts, listed = d.over(r.Over, f.Accounts, &f)
	}
	c := &Config{File: name, Mode: modeOf(f.Mode), Ledger: Ledger{f.Ledger.Backend, d.path(f.Ledger.Path)},
		Listen: Listen{Unix: d.path(f.Listen.Unix)}, TimeZone: f.TimeZone.Location}
	d.keep(f, c)
	c.Rules = d.rules(f, rules)
	c.Notify = d.notify(f.Notify, r.Built, c)
	decoders := maps.Clone(r.Built.providers())
	if decoders == nil {
		decoders = map[string]SectionDecoder{}
	}
	decoders[r.Kind] = SectionOf(struct{}{})
	own := d.accounts(f.Accounts, c, decoders)
	d.signals(f, c, r.Built.sources())
	c.Signals.Sources = nil // of no use to a story's clouds
	if len(d.problems) > 0 {
		return nil, inOrder(d.problems, name)
	}
	for _, a := range r.Accounts {
		at := slices.IndexFunc(own, func(o Account) bool { return o.Name == a.Name && o.Provider == r.Kind })
		switch {
		case at >= 0 && listed:
			// Named in the story's own list: what that says counts, and what it
			// leaves out is as the account has it.
			c.Accounts = append(c.Accounts, r.account(a.over(f.Accounts), c))
		case !listed || !r.Only:
			c.Accounts = append(c.Accounts, r.account(a, c))
		}
	}
	for i, o := range own {
		if o.Provider == r.Kind && !slices.ContainsFunc(r.Accounts, func(a Rehearsed) bool { return a.Name == o.Name }) {
			d.at(fmt.Sprintf("accounts[%d]", i), "the story has no account %s: describe its cloud under accounts", shown(o.Name))
		}
	}
	if len(d.problems) > 0 {
		return nil, inOrder(d.problems, name)
	}
	return c, nil
}

// over decodes the keys over a file; it reports whether they list accounts.
func (d *decoder) over(n Node, before []account, f *file) ([]account, bool) {
	if n.entry.value == nil {
		return before, false
	}
	// Paths in messages are those of a guard.yaml, lines those of the scenario.
	was := len(d.problems)
	d.value(entry{line: n.entry.line, value: n.entry.value}, settable(f), "")
	for i := was; i < len(d.problems); i++ {
		if d.problems[i].Line == 0 {
			d.problems[i].Line = n.entry.line
		}
	}
	return f.Accounts, d.files["accounts"] == n.d.file && d.has("accounts")
}

// over gives the account with what a list of accounts says of it.
func (a Rehearsed) over(in []account) Rehearsed {
	for _, o := range in {
		if o.Name != a.Name {
			continue
		}
		if o.Mode != "" {
			a.Keys.Mode = o.Mode
		}
		if o.MayRelease.GPU != nil || o.MayRelease.Tags != nil {
			a.Keys.MayRelease = o.MayRelease
		}
		if o.Poll != "" {
			a.Keys.Poll = o.Poll
		}
		if o.Sweep != "" {
			a.Keys.Sweep = o.Sweep
		}
	}
	return a
}

// account makes one account of a story; what is wrong is reported in the scenario.
func (r Rehearsal) account(a Rehearsed, c *Config) Account {
	d, path := a.Node.d, a.Node.path
	d.accountName(a.Name, path, map[string]int{})
	k := a.Keys
	out := Account{
		Name: a.Name, Provider: r.Kind, Mode: c.Mode, Section: struct{}{}, Line: a.Node.Line(),
		MayRelease: providers.MayRelease{GPU: k.MayRelease.GPU == nil || *k.MayRelease.GPU, Tags: k.MayRelease.Tags},
		Poll:       d.schedule(k.Poll, path+".poll", c.TimeZone, r.Poll, mostPoll),
		Sweep:      d.schedule(k.Sweep, path+".sweep", c.TimeZone, r.Sweep, mostSweep),
	}
	if k.Mode != "" {
		out.Mode = modeOf(k.Mode)
	}
	return out
}

func modeOf(m mode) guard.Mode { return guard.Mode(m) }

// pathless is an error without the path that the message names already.
func pathless(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
