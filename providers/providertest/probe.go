package providertest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"guard"
	"guard/providers"
)

// DryRun is a write that only asks whether it would be allowed.
const DryRun = "dry_run"

// destroys are the calls that a probe never makes.
var destroys = []string{Release, Stop, Tag, Unprotect}

// probe sees that a probe changes nothing, tells of what is missing by its name,
// and gives no secret away, whatever the server answers.
func (s *suite) probe() {
	w := s.world(1)
	w.Canary = canary
	p, x := s.open(w)
	prober, ok := p.(providers.Prober)
	if !ok {
		s.skip("a probe")
	}
	before := s.list(p)
	checks := prober.Probe(s.ctx(), s.id(w, 0))
	for _, c := range checks {
		if c.Outcome != providers.CheckOK && c.Outcome != providers.CheckUntried {
			s.Errorf("a healthy account: %+v", c)
		}
	}
	untried := slices.ContainsFunc(checks, func(c providers.Check) bool { return c.Acts && c.Outcome == providers.CheckUntried })
	dry := x.calls(DryRun) > 0
	if !dry && !untried {
		s.Error("no write was tried, and no check says so")
	}
	s.harmless("a healthy account", p, x, before)
	b, _ := json.Marshal(checks)
	s.tells("Probe", string(b))
	if dry {
		s.refusedDryRuns(p, prober, x, w, before)
	}

	for name, answer := range broken {
		p, x := s.open(w)
		x.on("", func(_ int, r *http.Request) (*http.Response, error) { return answer(r) })
		checks := p.(providers.Prober).Probe(s.ctx(), s.id(w, 0))
		if len(checks) == 0 || checks[0].Outcome == providers.CheckOK {
			s.Errorf("%s: %+v", name, checks)
		}
		b, _ := json.Marshal(checks)
		s.tells("Probe with "+name, string(b))
	}
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	p, x = s.open(w)
	p.(providers.Prober).Probe(ctx, s.id(w, 0))
	if n := x.calls(""); n != 0 {
		s.Errorf("cancelled, and %d calls", n)
	}
}

// refusedDryRuns sees that what may be seen and not be ended is told before a release
// needs it.
func (s *suite) refusedDryRuns(p providers.Provider, prober providers.Prober, x *wire, w World, before providers.Inventory) {
	s.Helper()
	x.on(DryRun, func(_ int, r *http.Request) (*http.Response, error) {
		return reply(r, http.StatusForbidden, `{"error":"`+canary+`"}`)
	})
	checks := prober.Probe(s.ctx(), s.id(w, 0))
	refused := slices.DeleteFunc(slices.Clone(checks), func(c providers.Check) bool { return c.Outcome == providers.CheckOK })
	if len(refused) == 0 {
		s.Errorf("refused dry runs are told of nowhere: %+v", checks)
	}
	for _, c := range refused {
		if c.Name == "" || c.Text == "" || c.Do == "" {
			s.Errorf("%+v does not say what is missing and what to do", c)
		}
	}
	s.harmless("refused dry runs", p, x, before)
}

// harmless fails where something was asked to change, or did.
func (s *suite) harmless(when string, p providers.Provider, x *wire, before providers.Inventory) {
	s.Helper()
	for _, call := range destroys {
		if n := x.calls(call); n > 0 {
			s.Errorf("%s: %d calls of %s", when, n, call)
		}
	}
	look := func(inv providers.Inventory) string {
		var all []guard.Resource
		for _, r := range inv.Results {
			all = append(all, r.Resources...)
		}
		b, _ := json.Marshal(all)
		return string(b)
	}
	x.on("none", func(int, *http.Request) (*http.Response, error) { return nil, nil })
	if a, b := look(before), look(s.list(p)); a != b {
		s.Errorf("%s: a probe has changed something:\n%s\n%s", when, a, b)
	}
}
