package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"guard"
	"guard/configs"
	"guard/providers"
	"guard/providers/autodl"
	"guard/providers/aws"
	"guard/providers/compshare"
	"guard/providers/digitalocean"
	"guard/providers/lambda"
	"guard/providers/runpod"
	"guard/providers/vast"
)

// candidate is one set of credentials found on this machine.
type candidate struct {
	provider string
	name     string // of the account, as proposed and later as chosen
	source   string // where it was found, for people
	section  string // the provider's section in the configuration, YAML in flow form
	note     string // what whoever uses it has to know
	identity guard.Identity
}

// finder looks for the credentials of one provider. A further cloud is one more.
type finder struct {
	provider string
	find     func(ctx context.Context, env func(string) (string, bool)) []providers.Found
}

var finders = []finder{
	{autodl.Kind, asksNobody(autodl.Find)},
	{aws.Kind, aws.Find},
	{compshare.Kind, asksNobody(compshare.Find)},
	{digitalocean.Kind, asksNobody(digitalocean.Find)},
	{lambda.Kind, asksNobody(lambda.Find)},
	{runpod.Kind, asksNobody(runpod.Find)},
	{vast.Kind, asksNobody(vast.Find)},
}

// asksNobody is the find of a provider whose credentials lie in the environment and in files.
func asksNobody(find func(env func(string) (string, bool)) []providers.Found) func(context.Context, func(string) (string, bool)) []providers.Found {
	return func(_ context.Context, env func(string) (string, bool)) []providers.Found { return find(env) }
}

const (
	// askAtOnce bounds how many are asked for their identity at a time, askTimeout
	// how long each may take.
	askAtOnce  = 8
	askTimeout = 15 * time.Second
)

// accounts finds what there is, asks whose it is, says so, and lets people choose.
func (s *setup) accounts(ctx context.Context) ([]candidate, error) {
	var found []candidate
	var kinds []string
	for _, f := range s.finders {
		kinds = append(kinds, f.provider)
		for _, c := range f.find(ctx, s.env) {
			found = append(found, candidate{provider: f.provider, name: c.Name, source: c.Source, section: c.Section, note: c.Note})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no credentials were found (looked for: %s). Set them up as for the provider's own tool (aws configure --profile guard), then run guardd init again",
			guard.ErrNotFound, strings.Join(kinds, ", "))
	}
	found = s.distinct(ctx, found)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: none of the credentials that were found can be used", guard.ErrPermission)
	}
	chosen, err := s.choose(ctx, found)
	if err != nil {
		return nil, err
	}
	for _, c := range chosen {
		if c.note != "" {
			s.say("note: account %s: %s", c.name, c.note)
		}
	}
	return chosen, nil
}

// say tells people what is going on, which is no result. Names in it are others'.
func (s *setup) say(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(s.Err, providers.Text(line, 500))
	}
}

// distinct are the candidates that work, one for each account behind them.
func (s *setup) distinct(ctx context.Context, found []candidate) []candidate {
	errs := make([]error, len(found))
	patiently(s.Err, "asking whose credentials these are", func() {
		var all errgroup.Group
		all.SetLimit(askAtOnce)
		for i := range found {
			all.Go(func() error {
				found[i].identity, errs[i] = s.whose(ctx, found[i])
				return nil
			})
		}
		_ = all.Wait() // each has its own error
	})
	var out []candidate
	for i, c := range found {
		same := slices.IndexFunc(out, func(o candidate) bool { return o.provider == c.provider && o.identity.ID == c.identity.ID })
		switch {
		case errs[i] != nil:
			s.say("%s: %s: not usable: %v", c.provider, c.source, errs[i])
			continue
		case same >= 0:
			s.say("%s: %s: account %s again, as with %s", c.provider, c.source, c.identity.ID, out[same].source)
			continue
		}
		s.say("%s: %s: account %s", c.provider, c.source, c.identity.ID)
		c.name = accountName(c, out)
		out = append(out, c)
	}
	return out
}

// whose asks the provider, through the very configuration that would be written.
func (s *setup) whose(ctx context.Context, c candidate) (guard.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c.name = c.provider // any does
	loaded, err := s.load(s.compose([]candidate{c}, told{}))
	if err != nil {
		return guard.Identity{}, err
	}
	p, err := factories[c.provider](ctx, loaded.Accounts[0])
	if err != nil {
		return guard.Identity{}, err
	}
	return p.Identity(ctx)
}

// load checks a configuration as guardd will.
func (s *setup) load(text string) (*configs.Config, error) {
	return configs.Load([]byte(text), s.file, sections, s.env)
}

// accountName makes a name out of what was found that the configuration takes and
// nobody before has.
func accountName(c candidate, before []candidate) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, c.name)
	if name = strings.TrimLeft(name, "-_."); name == "" || name == "budget" || len([]rune(name)) > 36 {
		name = c.provider
	}
	unique := name
	for n := 2; slices.ContainsFunc(before, func(o candidate) bool { return o.name == unique }); n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	return unique
}

// choose picks the accounts to watch and names them.
func (s *setup) choose(ctx context.Context, found []candidate) ([]candidate, error) {
	if len(s.only) > 0 {
		return pick(found, s.only)
	}
	if !s.Ask {
		return found, nil
	}
	var out []candidate
	for _, proposed := range found {
		c := proposed
		name, err := s.question(ctx, fmt.Sprintf("Watch %s account %s as what name? (- for not at all)", c.provider, c.identity.ID), c.name)
		if err != nil {
			return nil, err
		}
		if name == "-" {
			continue
		}
		c.name = name
		if _, err := s.load(s.compose(append(slices.Clone(out), c), told{})); err != nil {
			c.name = accountName(proposed, out)
			s.say("%q is no name that guard can use; the account is called %s", name, c.name)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no account is left to watch")
	}
	return out, nil
}

// pick takes those of --account: NAME, or NAME=FOUND where FOUND is the name or the
// identity of what was found.
func pick(found []candidate, only []string) ([]candidate, error) {
	var names []string
	for _, c := range found {
		names = append(names, c.name+" ("+c.identity.ID+")")
	}
	var out []candidate
	for _, text := range only {
		name, which, named := strings.Cut(text, "=")
		if !named {
			which = name
		}
		i := slices.IndexFunc(found, func(c candidate) bool { return c.name == which || c.identity.ID == which })
		if i < 0 && !named && len(found) == 1 {
			i = 0 // there is nothing else that it could name
		}
		if i < 0 {
			return nil, usageError{fmt.Errorf("--account %s: there is no %q among what was found: %s", text, which, strings.Join(names, ", "))}
		}
		c := found[i]
		c.name = name
		out = append(out, c)
	}
	return out, nil
}
