package simulate

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/configs"
)

// The defaults of the page.
const (
	defaultPoll  = 60 * time.Second
	defaultSweep = 5 * time.Minute
	mostFor      = 366 * 24 * time.Hour
)

// Story is a scenario file, read and checked.
type Story struct {
	// File is the path it was read from, Title what it is called.
	File, Title string
	start       time.Time
	zone        *time.Location // of start, for what people read
	length      time.Duration
	root        configs.Node
	raw         file
	accounts    []*account
	expect      []*expectation
	rehearsal   configs.Rehearsal
	config      *configs.Config
}

// Parse reads a scenario file; path stands in messages, and relative paths in the
// file start from its folder. built decodes the sections of a config_file's own
// accounts and sources. The error is configs.Problems: every mistake, with its line.
func Parse(data []byte, path string, built *configs.Decoders) (*Story, error) {
	doc := configs.NewDocument(data, path)
	root := doc.Root()
	s := &Story{File: path, root: root}
	if err := doc.Problems(); err != nil {
		return nil, err
	}
	root.Decode(&s.raw)
	f := &s.raw
	s.Title = string(f.Scenario)
	s.head(root)
	s.accounts = readAccounts(f.Accounts, s.start)
	s.expect = readExpectations(f.Expect, s.start, s.length)
	s.times()
	s.references(root)
	s.rehearsal = configs.Rehearsal{Kind: "fake", Over: f.Config, Poll: f.Poll.or(defaultPoll), Sweep: f.Sweep.or(defaultSweep), Built: built}
	for _, a := range s.accounts {
		s.rehearsal.Accounts = append(s.rehearsal.Accounts, configs.Rehearsed{Name: a.name, Keys: a.AccountKeys, Node: a.node})
	}
	if f.ConfigFile != "" {
		s.rehearsal.File = root.In(string(f.ConfigFile))
	}
	var found configs.Problems
	s.config = s.rehearse(&found, s.rehearsal)
	for _, e := range f.Daemon {
		if e.Reload == nil {
			continue
		}
		// A reload that must be refused may be wrong; it may not be about what is
		// not built.
		var wrong configs.Problems
		s.rehearse(&wrong, s.reloaded(*e.Reload))
		for _, p := range wrong {
			if !e.Reload.Fails.set || strings.Contains(p.Text, "not supported yet") {
				found = append(found, p)
			}
		}
	}
	if err := doc.Problems(); err != nil {
		var ps configs.Problems
		if errors.As(err, &ps) {
			found = append(found, ps...)
		}
	}
	if len(found) > 0 {
		return nil, inOrder(found, path)
	}
	return s, nil
}

// Length is how long the story is, in its own time.
func (s *Story) Length() time.Duration { return s.length }

// rehearse makes a configuration, and adds what is wrong with it to found.
func (s *Story) rehearse(found *configs.Problems, r configs.Rehearsal) *configs.Config {
	c, err := configs.Rehearse(r)
	var ps configs.Problems
	if errors.As(err, &ps) {
		*found = append(*found, ps...)
	}
	return c
}

// reloaded is the configuration after a reload: the story's config is replaced,
// over the same base.
func (s *Story) reloaded(r reload) configs.Rehearsal {
	next := s.rehearsal
	next.Over, next.Only = r.Config, true
	if r.ConfigFile != "" {
		next.File = s.root.In(string(r.ConfigFile))
	}
	return next
}

func inOrder(ps configs.Problems, first string) configs.Problems {
	slices.SortStableFunc(ps, func(a, b configs.Problem) int {
		if (a.File == first) != (b.File == first) {
			if a.File == first {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(ps)
}

// head checks the keys that every story has.
func (s *Story) head(root configs.Node) {
	f := &s.raw
	if f.Scenario == "" && !root.Has("scenario") {
		root.Problem("scenario is missing: say in a few words what the story is")
	}
	switch {
	case f.Start.set && f.Start.abs.IsZero():
		root.At("start", "write RFC 3339, such as 2026-03-06T18:00:00+08:00: offsets count from it")
	case !root.Has("start"):
		root.Problem("start is missing: write when the story begins, such as start: 2026-03-06T18:00:00+08:00")
	}
	s.start, s.zone = f.Start.abs, f.Start.abs.Location()
	if y := s.start.Year(); f.Start.set && !f.Start.abs.IsZero() && (y < 2000 || y > 2100) {
		root.At("start", "the year %d is not one that a cloud would tell", y)
	}
	s.length = f.For.Duration
	switch {
	case !root.Has("for"):
		root.Problem("for is missing: say how long the story is, such as for: 72h")
	case f.For.set && (s.length <= 0 || s.length > mostFor):
		root.At("for", "write from 1s to 366d")
	}
	if f.Accounts.IsZero() {
		root.Problem("accounts is missing: a story happens in a cloud")
	}
}

// times resolves the offsets of what happens.
func (s *Story) times() {
	late := func(n configs.Node, at time.Duration) {
		if at > s.length && s.length > 0 {
			n.Problem("%s is after the story's end at %s", offsetText(at), offsetText(s.length))
		} else if at < 0 {
			n.Problem("%s is before the story begins", offsetText(at))
		}
	}
	for i := range s.raw.Commands {
		c := &s.raw.Commands[i]
		c.at = c.At.from(s.start)
		late(c.node, c.at)
	}
	for i := range s.raw.Daemon {
		e := &s.raw.Daemon[i]
		e.at = e.At.from(s.start)
		e.back = e.BackAfter.Duration
		if e.At.set {
			late(e.node, e.at)
		}
		if e.Restore.set {
			if e.from = e.Restore.from(s.start); e.from < 0 || e.from >= e.at {
				e.node.At("restore", "write a time of the story before %s: the ledger is put back to what it was then", offsetText(e.at))
			}
		}
	}
	slices.SortStableFunc(s.raw.Commands, func(a, b command) int { return cmp.Compare(a.at, b.at) })
}

// references checks that what is named is there.
func (s *Story) references(root configs.Node) {
	names := map[string]bool{}
	for _, a := range s.accounts {
		names[a.name] = true
	}
	about := func(n configs.Node, key, id string) {
		account, _, _ := guard.ParseID(id)
		if account == "" {
			account = id
		}
		if id != "" && account != "budget" && !names[account] {
			n.At(key, "%q: there is no account %s in the story", clip(id), clip(account))
		}
	}
	for _, e := range s.expect {
		for key, id := range map[string]word{"released": e.Released, "gone": e.Gone, "state": e.State, "resource": e.Resource,
			"spend": e.Spend, "lease": e.Lease, "deadline": e.Deadline, "egress": e.Egress, "id": e.ID, "about": e.About} {
			about(e.node, key, string(id))
		}
	}
	for _, e := range s.raw.Daemon {
		about(e.node, "id", string(e.ID))
	}
	for _, key := range slices.Sorted(maps.Keys(s.raw.People)) {
		switch s.raw.People[key].Role {
		case "", "operator", "admin", "viewer":
		default:
			root.At("people."+key, "role: write operator or admin")
		}
	}
}
