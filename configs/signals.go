package configs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"guard"
)

// Signals says where samples of how hard instances work come from, beside the clouds'
// own, and where they are kept.
type Signals struct {
	// Keep is how long samples are kept.
	Keep time.Duration
	// File keeps them; it may be lost.
	File string
	// Sources are in the order of the file; their names are unique.
	Sources []Source
}

// Source is one configured source of samples.
type Source struct {
	Name string
	// Kind is the key that its section stands under: prometheus, scrape, ssh.
	Kind string
	// Accounts are those whose instances it is asked for; empty means all.
	Accounts []string
	// Section is what the kind's SectionDecoder made of it.
	Section any
	// Line is where the source begins in the file.
	Line int

	folder string
}

// In resolves a path that stands in the section: a relative one starts from the folder
// of the file; "" stays "".
func (s Source) In(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.folder, path)
}

type (
	signalsFile struct {
		Keep    time.Duration `yaml:"keep"`
		File    string        `yaml:"file"`
		Sources []sourceFile  `yaml:"sources"`
	}

	sourceFile struct {
		Name     string           `yaml:"name"`
		Accounts []string         `yaml:"accounts"`
		Sections map[string]entry `yaml:",rest"`
	}
)

// sourceKeys are the keys that stand in every source.
var sourceKeys = []string{"name", "accounts"}

// The default and the least of how long samples are kept: baselines and a box's
// history of a week are read from them.
const (
	defaultSamples = 30 * 24 * time.Hour
	leastSamples   = 24 * time.Hour
)

// tellsOf is what a section offers that names instances: ACCOUNT/ID, each with the
// path of its key in the section.
type tellsOf interface {
	Resources() map[string]string
}

// signals checks the sources; accounts are known by then.
func (d *decoder) signals(f file, c *Config, decoders map[string]SectionDecoder) {
	in := f.Signals
	c.Signals = Signals{Keep: d.between("signals.keep", in.Keep, leastSamples, longest), File: d.path(in.File)}
	if c.Signals.File == "" {
		c.Signals.File = filepath.Join(filepath.Dir(c.Ledger.Path), "samples.db")
	}
	known := map[string]bool{}
	for _, a := range f.Accounts {
		known[a.Name] = true
	}
	account := func(path, name string) {
		if !known[name] {
			d.at(path, "there is no account %s", shown(name))
		}
	}
	first := map[string]int{}
	for i, s := range in.Sources {
		path := fmt.Sprintf("signals.sources[%d]", i)
		if d.unread[path] {
			continue
		}
		before := len(d.problems)
		d.accountName(s.Name, path, first)
		for j, name := range s.Accounts {
			if p := fmt.Sprintf("%s.accounts[%d]", path, j); d.read(p) {
				account(p, name)
			}
		}
		out := Source{Name: s.Name, Accounts: s.Accounts, Line: d.line(path), folder: filepath.Dir(d.file)}
		out.Kind, out.Section = d.source(s, path, decoders)
		if of, ok := out.Section.(tellsOf); ok && len(d.problems) == before {
			named := of.Resources()
			for _, key := range slices.Sorted(maps.Keys(named)) {
				name, _, ok := guard.ParseID(named[key])
				if p := path + "." + out.Kind + "." + key; !ok {
					d.at(p, "write ACCOUNT/ID, such as research/i-0abc")
				} else {
					account(p, name)
				}
			}
		}
		if len(d.problems) == before {
			c.Signals.Sources = append(c.Signals.Sources, out)
		}
	}
}

// source decodes the one section that says what kind of source it is.
func (d *decoder) source(s sourceFile, path string, decoders map[string]SectionDecoder) (kind string, section any) {
	kinds := slices.Sorted(maps.Keys(decoders))
	for _, key := range slices.Sorted(maps.Keys(s.Sections)) {
		e := s.Sections[key]
		switch decode, built := decoders[key]; {
		case !built:
			d.unknown(e, path, append(slices.Clone(sourceKeys), kinds...))
		case kind != "":
			d.problem(e.line, path, "%s and %s are two sources: give each a name of its own", kind, key)
		default:
			kind = key
			p := path + "." + key
			d.mark(p, e.line)
			section = decode(&Section{d: d, path: p, entry: e})
		}
	}
	if len(s.Sections) == 0 && d.read(path) {
		d.at(path, "says nothing of what to read: add %s", strings.Join(kinds, ", "))
	}
	return kind, section
}
