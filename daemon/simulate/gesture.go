package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"guard"
	"guard/configs"
	"guard/daemon/notify/notifytest"
	"guard/daemon/wire"
	"guard/store"
)

// clickWords are what can be clicked.
var clickWords = []string{string(guard.ClickExtend), string(guard.ClickRelease), string(guard.ClickHold), string(guard.ClickVeto),
	string(guard.ClickSnooze), string(guard.ClickRegister), string(guard.ClickWhy), string(guard.ClickAck)}

// gesture is what a person does in Slack: click a button of the newest post about a
// resource that has it, or type a command.
type gesture struct {
	gestureKeys
	form map[string]string
}

type gestureKeys struct {
	Click   word         `yaml:"click"`
	About   word         `yaml:"about"`
	User    word         `yaml:"user"`
	Twice   bool         `yaml:"twice"` // a second time, which must change nothing
	Stale   bool         `yaml:"stale"` // the button as it was first shown
	Form    configs.Node `yaml:"form"`  // what is typed into the form that comes
	Command word         `yaml:"command"`
}

// ReadNode implements configs.NodeReader.
func (g *gesture) ReadNode(n configs.Node) {
	if !n.Decode(&g.gestureKeys) {
		return
	}
	if g.User == "" {
		n.Problem("user is missing: say whose member ID clicks, such as user: U1")
	}
	if !g.Form.IsZero() {
		g.form = map[string]string{}
		for _, f := range g.Form.Fields() {
			g.form[f.Key], _ = f.Value.Text()
		}
	}
	switch {
	case n.Has("command") && (g.Click != "" || g.About != "" || g.Twice || g.Stale):
		n.Problem("a command has no button: leave click, about, twice and stale out")
	case n.Has("command"):
	case g.Click == "":
		n.Problem("click is missing: write click: extend, or command: ls")
	case !contains(clickWords, string(g.Click)):
		n.Unknown(string(g.Click), clickWords)
	case g.About == "":
		n.Problem("about is missing: say which resource, such as about: lab/i-1")
	}
}

// what is the gesture, for events and failures.
func (g *gesture) what() string {
	if g.Click == "" {
		return strings.TrimSpace(fmt.Sprintf("%s: /guard %s", g.User, g.Command))
	}
	return fmt.Sprintf("%s: click %s on %s", g.User, g.Click, g.About)
}

// configured is the configuration in force. Who may click are the people of the story,
// unless its config says so itself.
func (r *runner) configured() (*configs.Config, error) {
	c, err := configs.Rehearse(r.rehearsal)
	if err != nil {
		return nil, err
	}
	var own configs.Slack
	if c.Notify.Slack != nil {
		own = *c.Notify.Slack
	}
	if said := slackKeys(r.rehearsal.Over); said["users"] == nil && said["admins"] == nil {
		for _, id := range slices.Sorted(maps.Keys(r.story.raw.People)) {
			p := r.story.raw.People[id]
			u := configs.SlackUser{ID: id, Name: string(p.Name)}
			switch p.Role {
			case "", "admin":
				own.Admins = append(own.Admins, u)
			case "operator":
				own.Users = append(own.Users, u)
			}
		}
	}
	c.Notify.Slack = &own
	return c, nil
}

// slackKeys are the keys of notify.slack in a story's config.
func slackKeys(over configs.Node) map[string]any {
	if over.IsZero() {
		return nil
	}
	all, _ := over.Any().(map[string]any)
	notify, _ := all["notify"].(map[string]any)
	keys, _ := notify["slack"].(map[string]any)
	return keys
}

// named are the member IDs of people by their names.
func named(s *configs.Slack) map[string]string {
	out := map[string]string{}
	for _, u := range slices.Concat(s.Users, s.Admins) {
		if u.Name != "" {
			out[u.Name] = u.ID
		}
	}
	return out
}

// gesture plays what a person does in Slack, as it would come from there.
func (r *runner) gesture(ctx context.Context, c command) {
	g := c.Slack
	answer, err := r.deed(ctx, g)
	said := spoken(answer)
	if err != nil {
		said = err.Error()
	}
	if g.Twice && err == nil {
		second, err := r.deed(ctx, g)
		switch {
		case err != nil:
			said += "\n" + err.Error()
		case answer.Done && second.Done && g.Click != word(guard.ClickWhy):
			r.fail(c.node.Line(), "%s works a second time:\n%s", g.what(), indent(spoken(second)))
		default:
			said += "\n" + spoken(second)
			if c.Fails.set { // it is the second that must
				answer = second
			}
		}
	}
	r.drain()
	e, how := Event{Event: evCommand, Text: g.what()}, ""
	if !answer.Done {
		e.State, e.Reason, how = "failed", firstLine(said), "is refused"
	}
	r.book.add(r.now, e)
	if st := r.o.Stage; st != nil {
		st.Ran(g.what(), said+"\n")
	}
	r.judge(c, g.what(), how, said, said)
}

// spoken is all that a person reads of an answer.
func spoken(a wire.ClickAnswer) string {
	lines := append([]string{a.Text}, a.Lines...)
	for field, why := range a.Wrong {
		lines = append(lines, field+": "+why)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// deed does it once, and fills in the form that may come of it. An error is what keeps a
// person from it.
func (r *runner) deed(ctx context.Context, g *gesture) (wire.ClickAnswer, error) {
	if r.life == nil || r.now < r.asleep {
		return wire.ClickAnswer{}, fmt.Errorf("%w: guard does not run: Slack shows a warning beside the button", guard.ErrUnavailable)
	}
	l := r.life
	envelope := r.socket.Typed(string(g.User), string(g.Command))
	if g.Click != "" {
		post, button, ok := r.button(g)
		if !ok {
			return wire.ClickAnswer{}, fmt.Errorf("%w: no post about %s has a button for %s%s", guard.ErrNotFound, g.About, g.Click, map[bool]string{true: " that was shown before the present one"}[g.Stale])
		}
		envelope = r.socket.Pressed(string(g.User), post, button)
	}
	var answer wire.ClickAnswer
	handle := func(ctx context.Context, c wire.Click) wire.ClickAnswer {
		answer = l.daemon.Click(ctx, c)
		return answer
	}
	if err := l.buttons.Take(ctx, envelope, handle); err != nil {
		return answer, err
	}
	if ask := answer.Ask; ask != nil {
		views := r.socket.Views()
		if len(views) == 0 {
			return answer, fmt.Errorf("%w: the form of %s was not shown", guard.ErrBadReply, g.what())
		}
		if len(ask.Fields) > 0 && g.form == nil {
			return answer, fmt.Errorf("%w: %s asks in a form: say what is typed, such as form: {%s: …}", guard.ErrInvalid, g.what(), ask.Fields[0].Name)
		}
		if err := l.buttons.Take(ctx, r.socket.Submitted(string(g.User), views[len(views)-1], g.form), handle); err != nil {
			return answer, err
		}
	}
	for _, bad := range r.socket.Wrong() {
		return answer, fmt.Errorf("%w: Slack would not have taken it: %s", guard.ErrBadReply, bad)
	}
	return answer, nil
}

// button is the newest of that click in a post about a resource, as posts were posted and
// edited; with stale the oldest, where there is a newer one. Where a form is filled in it
// is the one that asks.
func (r *runner) button(g *gesture) (notifytest.Post, notifytest.Button, bool) {
	shown := slices.DeleteFunc(slices.Concat(r.slack.Stored(), r.slack.Edits()), func(p notifytest.Post) bool { return !p.Stored })
	slices.SortStableFunc(shown, func(a, b notifytest.Post) int { return a.At.Compare(b.At) })
	type found struct {
		post   notifytest.Post
		button notifytest.Button
	}
	var all []found
	for _, p := range shown {
		var of []notifytest.Button
		for _, b := range p.Buttons {
			var v struct{ Message, Click, Key string }
			if json.Unmarshal([]byte(b.Value), &v) == nil && v.Click == string(g.Click) && r.about(v.Message, string(g.About)) {
				of = append(of, b)
			}
		}
		if len(of) > 0 && g.form != nil {
			all = append(all, found{p, of[len(of)-1]})
		} else if len(of) > 0 {
			all = append(all, found{p, of[0]})
		}
	}
	if len(all) == 0 || g.Stale && all[0].button.Value == all[len(all)-1].button.Value {
		return notifytest.Post{}, notifytest.Button{}, false
	}
	at := len(all) - 1
	if g.Stale {
		at = 0
	}
	return all[at].post, all[at].button, true
}

// about reports whether a message is about a resource.
func (r *runner) about(message, id string) bool {
	var m guard.Message
	err := r.life.ledger.View(r.life.ctx, func(v *store.View) error {
		waits, ok, err := v.Outbox.Get(message)
		if m = waits; err != nil || ok {
			return err
		}
		m, _, err = v.SentMessages.Get(message)
		return err
	})
	return err == nil && slices.ContainsFunc(m.About, func(x guard.ResourceID) bool { return x.String() == id })
}
