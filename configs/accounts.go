package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"guard"
	"guard/providers"
	"guard/providers/prices"
)

// account is one item of accounts as it is written.
type account struct {
	Name       string           `yaml:"name"`
	Provider   string           `yaml:"provider"`
	Mode       mode             `yaml:"mode"`
	MayRelease mayRelease       `yaml:"may_release"`
	Poll       plain            `yaml:"poll"`
	Sweep      plain            `yaml:"sweep"`
	Prices     string           `yaml:"prices"`
	Sections   map[string]entry `yaml:",rest"`
}

// accountKeys are the keys that stand in every account.
var accountKeys = []string{"name", "provider", "mode", "may_release", "poll", "sweep", "prices"}

type mayRelease struct {
	GPU  *bool             `yaml:"gpu"`
	Tags map[string]string `yaml:"tags"`
}

// plain is a scalar that is read later, when all it depends on is known.
type plain string

func (p *plain) UnmarshalText(b []byte) error {
	*p = plain(strings.TrimSpace(string(b)))
	return nil
}

// The defaults and bounds of polling. Below the least a provider's rate limit
// is the measure; above the most, an instance could live and die unseen.
const (
	defaultPoll  = time.Minute
	defaultSweep = 30 * time.Minute
	leastPoll    = time.Second
	mostPoll     = 24 * time.Hour
	mostSweep    = 7 * 24 * time.Hour
)

func (d *decoder) accounts(in []account, c *Config, decoders map[string]SectionDecoder) []Account {
	first := map[string]int{}
	var out []Account
	for i, a := range in {
		path := fmt.Sprintf("accounts[%d]", i)
		if d.unread[path] {
			continue
		}
		before := len(d.problems)
		d.accountName(a.Name, path, first)
		acct := Account{
			Name:       a.Name,
			Provider:   a.Provider,
			Mode:       c.Mode,
			MayRelease: providers.MayRelease{GPU: a.MayRelease.GPU == nil || *a.MayRelease.GPU, Tags: a.MayRelease.Tags},
			Poll:       d.schedule(a.Poll, path+".poll", c.TimeZone, defaultPoll, mostPoll),
			Sweep:      d.schedule(a.Sweep, path+".sweep", c.TimeZone, defaultSweep, mostSweep),
			Prices:     d.path(a.Prices),
			Line:       d.line(path),
		}
		if a.Mode != "" {
			acct.Mode = guard.Mode(a.Mode)
		}
		acct.Book = d.book(acct.Prices, path+".prices", c)
		acct.Section = d.section(a, path, decoders)
		if len(d.problems) == before {
			out = append(out, acct)
		}
	}
	return out
}

// accountName checks a name: it is typed as NAME/ID, is part of the ledger's
// keys, and stands before everything people read.
func (d *decoder) accountName(name, path string, first map[string]int) {
	if name == "" {
		if d.read(path + ".name") {
			d.at(path, "name is missing")
		}
		return
	}
	bad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}
	start, _ := utf8.DecodeRuneInString(name)
	switch at, twice := first[name]; {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, bad) || strings.ContainsRune("-_.", start):
		d.at(path+".name", "%s is not a name: write letters, digits, - _ and . and begin with a letter or digit", shown(name))
	case utf8.RuneCountInString(name) > 40:
		d.at(path+".name", "a name has at most 40 characters")
	case name == "budget":
		d.at(path+".name", "budget is a word of guard's own: choose another name")
	case twice:
		d.at(path+".name", "%s stands twice, the first time in line %d", shown(name), at)
	default:
		first[name] = d.line(path + ".name")
	}
}

func (d *decoder) schedule(s plain, path string, zone *time.Location, def, most time.Duration) Schedule {
	if s == "" {
		if d.has(path) && d.read(path) {
			d.at(path, "is empty: write a duration such as 60s, or a cron spec")
		}
		return Every(def)
	}
	out, err := parseSchedule(string(s), zone, leastPoll, most)
	if err != nil {
		d.at(path, "%v", err)
	}
	return out
}

// book reads the account's price book, so that its mistakes are told with those
// of this file.
func (d *decoder) book(file, path string, c *Config) *prices.Book {
	if file == "" {
		return nil
	}
	b, warnings, err := prices.Load(file)
	for _, w := range warnings {
		c.Notes = append(c.Notes, Problem{file, w.Line, w.Text})
	}
	var bad *prices.Error
	switch {
	case errors.As(err, &bad):
		for _, p := range bad.Problems {
			d.problems = append(d.problems, Problem{file, p.Line, p.Text})
		}
	case err != nil:
		d.at(path, "%s", strings.TrimPrefix(err.Error(), guard.ErrInvalid.Error()+": "))
	}
	return b
}

// section decodes what stands under the provider's name, or the lack of it.
func (d *decoder) section(a account, path string, decoders map[string]SectionDecoder) any {
	decode, built := decoders[a.Provider]
	known := slices.Sorted(maps.Keys(decoders))
	switch {
	case a.Provider == "":
		if d.read(path + ".provider") {
			d.at(path, "provider is missing: guardd knows %s", strings.Join(known, ", "))
		}
	case !built:
		if near := nearest(a.Provider, known); near != "" {
			d.at(path+".provider", "%s is not a provider: did you mean %s?", shown(a.Provider), near)
		} else {
			d.at(path+".provider", "provider %s is not supported yet: guardd knows %s", shown(a.Provider), strings.Join(known, ", "))
		}
	}
	s := &Section{d: d, path: path + "." + a.Provider, entry: entry{key: a.Provider, line: d.line(path)}}
	for _, key := range slices.Sorted(maps.Keys(a.Sections)) {
		e := a.Sections[key]
		_, other := decoders[key]
		switch {
		case key == a.Provider:
			d.lines[s.path] = e.line
			s.entry = e
		case other:
			d.problem(e.line, path, "%s is for accounts of that provider, and this one's is %s", key, shown(a.Provider))
		default:
			d.unknown(e, path, append(slices.Clone(accountKeys), known...))
		}
	}
	if !built {
		return nil
	}
	return decode(s)
}
