package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/providers/fake"
)

// verdict is what became of an expectation: "" holds, else what happened instead.
type verdict string

func badf(format string, args ...any) verdict { return verdict(fmt.Sprintf(format, args...)) }

// planExpectations puts those that look at a living thing on the agenda, and the
// others behind the story's end: what they look at is on record.
func (r *runner) planExpectations() {
	for _, e := range r.story.expect {
		at := r.story.length
		switch e.main {
		case "resource", "spend", "exit":
			if e.window.set {
				at = min(at, max(0, e.window.to))
			}
		}
		r.at(at, byReader, func(ctx context.Context) {
			switch v := r.look(ctx, e); v {
			case "":
				r.pass()
			default:
				r.fail(e.node.Line(), "%s\n    %s", e, v)
			}
		})
	}
}

func (r *runner) look(ctx context.Context, e *expectation) verdict {
	switch e.main {
	case "released", "gone", "finding", "closed", "message", "calls":
		return r.happened(e)
	case "state":
		return r.state(e)
	case "posts":
		return r.postsOf(e)
	case "resource":
		return r.resource(e)
	case "calls_in_order":
		return r.inOrder(e)
	case "spend":
		return r.spend(ctx, e)
	case "lease":
		return r.lease(e)
	case "deadline":
		return r.deadline(e)
	case "egress":
		return r.egress(e)
	case "exit":
		return r.exit(ctx, e)
	}
	return badf("this machinery has no way to look at %s", e.main)
}

// happening is one event that an expectation is about.
type happening struct {
	at   time.Duration
	text string // for a failure
}

// happened judges what the first such event, or how many there are, tells.
func (r *runner) happened(e *expectation) verdict {
	all, near := r.matching(e)
	if e.main == "finding" && e.window.exact {
		return r.openAt(e)
	}
	if (e.main == "released" || e.main == "gone") && e.window.exact && !counted(e) {
		if len(all) > 0 && all[0].at <= e.window.to {
			return ""
		}
		return badf("not %s %s; %s", e.main, e.window, instead(all, near))
	}
	return judge(e, all, near)
}

func counted(e *expectation) bool {
	return e.Count.set || e.AtLeast.set || e.AtMost.set || e.Never
}

// judge is the arithmetic of between, by, at, count, at_least, at_most, never and
// spaced over events in order.
func judge(e *expectation, all []happening, near string) verdict {
	var inside []happening
	for _, h := range all {
		if e.window.has(h.at) {
			inside = append(inside, h)
		}
	}
	n := len(inside)
	switch {
	case e.Never && n > 0:
		return badf("it happened %s, first at %s%s", times(n), offsetText(inside[0].at), because(inside[0].text))
	case e.Count.set && n != e.Count.n:
		return badf("%s %s, not %d; %s", times(n), e.window, e.Count.n, instead(all, near))
	case e.AtLeast.set && n < e.AtLeast.n:
		return badf("%s %s, not at least %d; %s", times(n), e.window, e.AtLeast.n, instead(all, near))
	case e.AtMost.set && n > e.AtMost.n:
		return badf("%s %s, not at most %d", times(n), e.window, e.AtMost.n)
	}
	if e.Spaced.set {
		for i := 1; i < n; i++ {
			if gap := inside[i].at - inside[i-1].at; gap < e.Spaced.Duration {
				return badf("those at %s and %s are closer than %s", offsetText(inside[i-1].at), offsetText(inside[i].at), offsetText(e.Spaced.Duration))
			}
		}
	}
	switch {
	case counted(e), e.Spaced.set && !e.window.set, e.main == "posts":
		return ""
	case len(all) == 0:
		return badf("it never happened%s", because(near))
	case !e.window.has(all[0].at):
		return badf("the first was at %s%s", offsetText(all[0].at), because(all[0].text))
	}
	return ""
}

func times(n int) string {
	switch n {
	case 0:
		return "not once"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// instead is what there was of the kind.
func instead(all []happening, near string) string {
	if len(all) == 0 {
		if near == "" {
			return "there was none"
		}
		return near
	}
	var parts []string
	for i, h := range all {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		parts = append(parts, offsetText(h.at)+because(clip(h.text)))
	}
	return "there were " + strings.Join(parts, "; ")
}

// matching are the events that an expectation is about, and, where there is none,
// what comes nearest.
func (r *runner) matching(e *expectation) (all []happening, near string) {
	switch e.main {
	case "released":
		for _, v := range r.ledger.releases[string(e.Released)] {
			near = badNear("its release is %s since %s", v.v, v.at)
			if v.v.State == guard.ReleaseDone && v.v.Action == guard.ActRelease {
				all = append(all, happening{v.at, string(v.v.Cause)})
			}
		}
		if near == "" {
			near = r.standing(string(e.Released))
		}
	case "gone":
		return r.goneOf(e)
	case "finding", "closed":
		return r.findings(e)
	case "message":
		return r.messages(e)
	case "calls":
		for _, c := range r.calls {
			if e.ID != "" && !isOn(c, string(e.ID)) || c.Call.Call != string(e.Calls) && e.Calls != fake.CallAny {
				continue
			}
			all = append(all, happening{c.at, c.Outcome})
		}
	}
	return all, near
}

// standing is how things are with a resource at the end, in a line.
func (r *runner) standing(id string) string {
	account, rest, _ := guard.ParseID(id)
	said := "the cloud has never had one"
	if c, ok := r.clouds[account]; ok && c.Truth(rest) != "" {
		said = "in the cloud it is " + c.Truth(rest)
	}
	if g := r.ledger.gone[id]; len(g) > 0 {
		said += fmt.Sprintf("; guard takes it for gone since %s, how: %s", offsetText(g[0].at), g[0].v.Gone.How)
	}
	l, ok := r.ledger.leases[id].last(longest)
	switch {
	case !ok:
		said += "; it has no lease"
	case l.ExpiresAt.IsZero():
		said += "; its lease is " + string(l.Status)
	default:
		said += fmt.Sprintf("; its lease is %s, until %s", l.Status, offsetText(l.ExpiresAt.Sub(r.story.start)))
	}
	return said
}

func badNear(format string, x guard.Release, at time.Duration) string {
	state := string(x.State)
	if x.Reason != "" {
		state += " (" + string(x.Reason) + ")"
	}
	return fmt.Sprintf(format, state, offsetText(at))
}

// isOn reports whether a call named a resource, or was made in an account.
func isOn(c call, id string) bool {
	account, rest, ok := guard.ParseID(id)
	return !ok && c.account == id || c.account == account && slices.Contains(c.IDs, rest)
}

func (r *runner) goneOf(e *expectation) (all []happening, near string) {
	for _, v := range r.ledger.gone[string(e.Gone)] {
		g := v.v.Gone
		text := fmt.Sprintf("how: %s, estimated: %t, at %s", g.How, g.Estimated, offsetText(g.At.Sub(r.story.start)))
		if e.How != "" && string(g.How) != string(e.How) || e.Estimated != nil && *e.Estimated != g.Estimated {
			near = "it is gone, " + text
			continue
		}
		all = append(all, happening{v.at, text})
		break // the same end may be told more exactly later
	}
	if len(all) == 0 && near == "" {
		near = r.standing(string(e.Gone))
	}
	return all, near
}

func (r *runner) findings(e *expectation) (all []happening, near string) {
	kind, rule := evFindingOpened, string(e.Finding)
	if e.main == "closed" {
		kind, rule = evFindingClosed, string(e.Closed)
	}
	var others []string
	for _, x := range r.book.sorted() {
		switch {
		case x.Event != evFindingOpened && x.Event != evFindingClosed || e.ID != "" && x.ID != string(e.ID):
		case x.Event == kind && x.Rule == rule:
			all = append(all, happening{x.at, x.Text})
		case len(others) < 5:
			others = append(others, fmt.Sprintf("%s %s at %s", x.Rule, strings.TrimPrefix(x.Event, "finding_"), offsetText(x.at)))
		}
	}
	if len(others) > 0 {
		near = "there were " + strings.Join(others, ", ")
	}
	return all, near
}

// openAt judges whether a finding stands open at a moment.
func (r *runner) openAt(e *expectation) verdict {
	open := map[string]time.Duration{}
	for _, x := range r.book.sorted() {
		if x.at > e.window.to || x.Rule != string(e.Finding) || e.ID != "" && x.ID != string(e.ID) {
			continue
		}
		switch x.Event {
		case evFindingOpened:
			open[x.ID] = x.at
		case evFindingClosed:
			delete(open, x.ID)
		}
	}
	n := len(open)
	switch {
	case e.Never && n > 0:
		return badf("it is open %s", e.window)
	case e.Count.set && n != e.Count.n, e.AtLeast.set && n < e.AtLeast.n, e.AtMost.set && n > e.AtMost.n:
		return badf("%d are open %s", n, e.window)
	case !counted(e) && n == 0:
		all, near := r.findings(e)
		return badf("it is not open %s; %s", e.window, instead(all, near))
	}
	return ""
}

func (r *runner) messages(e *expectation) (all []happening, near string) {
	var lacking string
	var others []string // in the window, about other things
	for _, p := range r.posts {
		if p.channel != string(e.Message) || !p.stored {
			continue
		}
		if e.About != "" && !r.isAbout(p.message, string(e.About)) {
			if e.window.has(p.at) && len(others) < 3 {
				others = append(others, offsetText(p.at)+because(clip(p.message.Title)))
			}
			continue
		}
		m := p.message
		if e.Finding != "" && string(m.Rule) != string(e.Finding) || e.Urgent != nil && m.Urgent != *e.Urgent {
			lacking = fmt.Sprintf("there is one of %q at %s: %s", m.Rule, offsetText(p.at), clip(m.Title))
			continue
		}
		text := p.text
		if e.Never || e.Count.set && e.Count.n == 0 || e.AtMost.set && e.AtMost.n == 0 {
			text = p.sent // people read "<!here>" in what mentions nobody
		}
		missing := slices.IndexFunc(e.Contains, func(c string) bool { return !has(text, c) })
		if missing >= 0 {
			lacking = fmt.Sprintf("that of %s does not contain %q: %s", offsetText(p.at), e.Contains[missing], strings.Join(append([]string{m.Title}, m.Lines...), " / "))
			continue
		}
		all = append(all, happening{p.at, m.Title})
	}
	if lacking == "" && len(others) > 0 {
		lacking = "there is none about it, but " + strings.Join(others, "; ")
	}
	return all, lacking
}

// isAbout reports whether a message is about a resource, an account, or (guard
// itself) nothing.
func (r *runner) isAbout(m guard.Message, id string) bool {
	for _, a := range m.About {
		if a.String() == id {
			return true
		}
	}
	subject, ok := r.ledger.subject[m.Finding]
	return ok && subject == id
}

func (r *runner) postsOf(e *expectation) verdict {
	var all []happening
	for _, p := range r.posts {
		for range p.requests {
			if p.channel == string(e.Posts) {
				all = append(all, happening{p.at, p.message.Title})
			}
		}
	}
	if !counted(e) && !e.Spaced.set {
		return judge(&expectation{main: "posts ", expectKeys: e.expectKeys, window: e.window}, all, "")
	}
	return judge(e, all, "")
}

// state judges the state of a resource's release.
func (r *runner) state(e *expectation) verdict {
	id := string(e.State)
	fits := func(state string, reason guard.BlockReason) bool {
		return (len(e.is) == 0 || contains(e.is, state)) && !contains(e.not, state) &&
			(e.Reason == "" || string(reason) == string(e.Reason))
	}
	var entered []happening
	last := ""
	for _, v := range r.ledger.releases[id] {
		now := badNear("%s since %s", v.v, v.at)
		if fits(string(v.v.State), v.v.Reason) && now != last {
			entered = append(entered, happening{v.at, string(v.v.State)})
		}
		last = now
	}
	if counted(e) || e.window.set && !e.window.exact && len(e.not) == 0 {
		return judge(e, entered, r.past(id))
	}
	from, to := r.story.length, r.story.length
	if e.window.set {
		from, to = max(0, e.window.from), e.window.to
	}
	moments := []time.Duration{from}
	for _, v := range r.ledger.releases[id] {
		if v.at > from && v.at <= to {
			moments = append(moments, v.at)
		}
	}
	for _, at := range moments {
		x, ok := r.ledger.releases[id].last(at)
		state := string(x.State)
		if !ok {
			state = "none"
		}
		if !fits(state, x.Reason) {
			if ok {
				return badf("%s", badNear("at "+offsetText(at)+" it is %s since %s", x, r.since(id, at)))
			}
			return badf("at %s it has no release; %s", offsetText(at), r.past(id))
		}
	}
	return ""
}

// since is when the state of a release at a moment began.
func (r *runner) since(id string, at time.Duration) time.Duration {
	vs := r.ledger.releases[id]
	var from time.Duration
	for i, v := range vs {
		if v.at > at {
			break
		}
		if i == 0 || vs[i-1].v.State != v.v.State || vs[i-1].v.Reason != v.v.Reason {
			from = v.at
		}
	}
	return from
}

// past is the states of a resource's releases, in a line.
func (r *runner) past(id string) string {
	var parts []string
	for _, v := range r.ledger.releases[id] {
		parts = append(parts, badNear("%s at %s", v.v, v.at))
	}
	if len(parts) == 0 {
		return r.standing(id)
	}
	if len(parts) > 8 {
		parts = append(parts[:4], append([]string{"…"}, parts[len(parts)-3:]...)...)
	}
	return "it was " + strings.Join(parts, ", ")
}

// inOrder judges whether the calls were made one after the other.
func (r *runner) inOrder(e *expectation) verdict {
	next := 0
	var made []string
	for _, c := range r.calls {
		if !isOn(c, string(e.ID)) && e.ID != "" || !e.window.has(c.at) {
			continue
		}
		if contains(e.CallsInOrder, c.Call.Call) {
			made = append(made, c.Call.Call+" at "+offsetText(c.at))
		}
		if next < len(e.CallsInOrder) && c.Call.Call == e.CallsInOrder[next] {
			next++
		}
	}
	if next == len(e.CallsInOrder) {
		// Nothing of the order may have come too early: the first of each counts.
		return r.firsts(e)
	}
	if len(made) == 0 {
		return "none of them was made"
	}
	return badf("%s was not made in its turn; there were %s", e.CallsInOrder[next], strings.Join(made[:min(len(made), 8)], ", "))
}

func (r *runner) firsts(e *expectation) verdict {
	seq := -1
	for _, name := range e.CallsInOrder {
		for i, c := range r.calls {
			if c.Call.Call != name || e.ID != "" && !isOn(c, string(e.ID)) || !e.window.has(c.at) {
				continue
			}
			if i < seq {
				return badf("the first %s was at %s, before its turn", name, offsetText(c.at))
			}
			seq = i
			break
		}
	}
	return ""
}
