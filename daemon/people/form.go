package people

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"guard"
	"guard/daemon/wire"
	"guard/policy"
	"guard/store"
)

// What a field takes, in characters: the API is as strict.
const (
	mostPurpose = 200
	mostShort   = 60
	mostName    = 256
)

// span is a duration as the API reads it; "" for none.
func span(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return model.Duration(d).String()
}

// vetoed is the rule that a veto of a message's is against; "" where the API finds it.
func vetoed(m guard.Message) string {
	if slices.Contains(policy.Vetoable(), m.Rule) {
		return string(m.Rule)
	}
	return ""
}

func (v *visit) stamp(t time.Time) string { return policy.Stamp(t, v.Zone()) }

// field is what was typed into a field.
func (v *visit) field(name string) string { return strings.TrimSpace(v.click.Form[name]) }

// ask is a form that comes back as the present click.
func (v *visit) ask(title, send, about string, fields ...wire.Field) *wire.Form {
	return &wire.Form{Message: v.click.Message, Offer: v.click.Offer, Key: v.click.Key, Nth: v.click.Nth, Title: title, Send: send, About: about, Fields: fields}
}

// formOf asks how long, and of what is capped how much; nil where the offer says it.
func (v *visit) formOf(o guard.Offer, name string, capped bool) *wire.Form {
	if o.For > 0 || o.Click == guard.ClickAck {
		return nil
	}
	titles := map[guard.Click]string{guard.ClickExtend: v.say("Extend"), guard.ClickHold: v.say("Hold"), guard.ClickVeto: v.say("Veto"), guard.ClickSnooze: v.say("Snooze")}
	title, ok := titles[o.Click]
	if !ok {
		return nil
	}
	by := wire.Field{Name: "by", Label: v.say("For how long"), Hint: v.say("90m, 10h or 2d"), Optional: true, Most: mostShort}
	until := wire.Field{Name: "until", Label: v.say("Or until when"), Hint: v.say("2026-03-09 18:00, in the zone %s", v.Zone().String()), Optional: true, Most: mostShort}
	form := v.ask(title, title, name, by, until)
	if capped && o.Click == guard.ClickExtend {
		form.Fields = append(form.Fields, wire.Field{Name: "budget", Label: v.say("Or what it may cost"), Hint: v.say("+500CNY for more, 3000CNY for all of it"), Optional: true, Most: mostShort})
	}
	return form
}

// length is what a form says of how long and how much; the fields that are wrong where it
// says nothing, or two things at once.
func (v *visit) length(form *wire.Form) (by, until, budget string, wrong map[string]string) {
	capped := slices.ContainsFunc(form.Fields, func(f wire.Field) bool { return f.Name == "budget" })
	by, until = v.field("by"), v.field("until")
	if capped {
		budget = v.field("budget")
	}
	switch {
	case by != "" && until != "":
		wrong = map[string]string{"until": v.say("Say how long or until when, not both.")}
	case by+until+budget != "":
	case capped:
		wrong = map[string]string{"by": v.say("Say how long, until when, or what it may cost.")}
	default:
		wrong = map[string]string{"by": v.say("Say how long, or until when.")}
	}
	return by, until, budget, wrong
}

// release asks before it orders one, with what that erases, and orders what was shown:
// nothing that has come to it since.
func (v *visit) release(ctx context.Context, api Verbs, name, once string) wire.ClickAnswer {
	r := wire.ReleaseRequest{IDs: []string{name}, DryRun: true}
	plan, err := api.Release(ctx, r)
	if err != nil || len(plan.Results) != 1 {
		return v.failed(ctx, err, nil, "")
	}
	one := plan.Results[0]
	if one.Outcome != wire.OutcomeWould {
		return v.tell("Nothing was done: %s", one.Text)
	}
	form := v.ask(v.say("Release now"), v.say("Release"), v.costs(name, one))
	form.State = plan.Plan
	if v.click.Form == nil {
		return wire.ClickAnswer{Text: form.About, Ask: form}
	}
	if v.click.State != plan.Plan {
		return v.refuse(ctx, "changed", "What a release of %s would end has changed since it was shown, so nothing was done. Press the button again to see it.", name)
	}
	r.DryRun, r.Plan, r.Goes = false, plan.Plan, r.IDs
	out, err := api.Release(ctx, r)
	if err != nil || len(out.Results) != 1 {
		return v.failed(ctx, err, nil, once)
	}
	if one := out.Results[0]; one.Outcome != wire.OutcomeOrdered && one.Outcome != wire.OutcomeUnder {
		return v.tell("Nothing was done: %s", one.Text)
	}
	return wire.ClickAnswer{Done: true, Text: v.say("Done: the release of %[1]s is ordered. How it goes: guard show %[1]s", name)}
}

// costs says what a release ends.
func (v *visit) costs(name string, o wire.ReleaseOutcome) string {
	text := v.say("%s is released now.", policy.Thing{ID: name, What: o.Name}.In(v.lang))
	if len(o.Erases) > 0 {
		text += " " + v.say("That erases %s.", strings.Join(o.Erases, ", "))
	}
	if len(o.Survives) > 0 {
		text += " " + v.say("What stays, and goes on billing: %s.", strings.Join(o.Survives, ", "))
	}
	return text
}

// registered asks for what a registration needs, and registers what was sent: a thing
// that a message is about, or the one that a person named.
func (v *visit) registered(ctx context.Context, typed string, id guard.ResourceID, once string) wire.ClickAnswer {
	name := typed
	if !id.IsZero() {
		name = id.String()
	}
	form := v.ask(v.say("Register"), v.say("Register"), name)
	form.Offer = string(guard.ClickRegister)
	if name == "" {
		form.About = v.say("Every machine that bills wants a purpose and an end.")
		form.Fields = append(form.Fields, wire.Field{Name: "id", Label: v.say("Which machine"), Hint: "ACCOUNT/ID", Most: mostName})
		name = v.field("id")
	}
	form.Fields = append(form.Fields,
		wire.Field{Name: "purpose", Label: v.say("What it is for"), Most: mostPurpose},
		wire.Field{Name: "ttl", Label: v.say("How long it may live"), Hint: v.say("10h or 2d, from now"), Optional: true, Most: mostShort},
		wire.Field{Name: "budget", Label: v.say("What it may cost"), Hint: v.say("2400CNY or 150USD"), Optional: true, Most: mostShort})
	if v.click.Form == nil {
		return wire.ClickAnswer{Text: form.About, Ask: form}
	}
	wrong := map[string]string{}
	for _, f := range form.Fields {
		if !f.Optional && v.field(f.Name) == "" {
			wrong[f.Name] = v.say("This is needed.")
		}
	}
	if len(wrong) > 0 {
		return wire.ClickAnswer{Text: v.say("Nothing was done yet."), Wrong: wrong}
	}
	return v.register(ctx, wire.RegisterRequest{ID: name, Purpose: v.field("purpose"), TTL: v.field("ttl"), Budget: v.field("budget")}, form, once)
}

// register registers, and says what that comes to.
func (v *visit) register(ctx context.Context, r wire.RegisterRequest, form *wire.Form, once string) wire.ClickAnswer {
	v.about = r.ID
	out, err := v.As(v.who, v.click.Channel, v.click.User, once).Register(ctx, r)
	if err != nil {
		return v.failed(ctx, err, form, once)
	}
	answer := wire.ClickAnswer{Done: true, Text: v.say("Done: %s is registered to %s.", v.about, out.Item.Owner)}
	for _, l := range out.Limits {
		if l.Acts != nil {
			answer.Lines = append(answer.Lines, v.say("%[1]s at its %[3]s: %[2]s", l.Does, v.stamp(*l.Acts), l.Reason))
		}
	}
	if len(out.Erases) > 0 {
		answer.Lines = append(answer.Lines, v.say("That erases %s.", strings.Join(out.Erases, ", ")))
	}
	answer.Lines = append(answer.Lines, out.Warnings...)
	answer.Lines = append(answer.Lines, out.Notes...)
	return answer
}

// failed is an answer to what the API refuses, in its words: beside the field that they are
// about where a form was sent, for that can be mended.
func (v *visit) failed(ctx context.Context, err error, form *wire.Form, once string) wire.ClickAnswer {
	var refused *wire.Error
	if !errors.As(err, &refused) {
		if err != nil {
			v.Log.Error("a click was not carried out", "error", err.Error())
		}
		return v.tell("guard could not do it now; whether it was done, /guard ls shows. Try again in a minute.")
	}
	if c, ok := v.doneAs(ctx, once); ok && refused.Kind == wire.KindConflict {
		return v.already(ctx, c)
	}
	if form != nil && v.click.Form != nil {
		if name, ok := fieldOf(form, refused); ok {
			v.note(ctx, refused.Kind, refused.Message)
			return wire.ClickAnswer{Text: refused.Message, Wrong: map[string]string{name: sentence(refused)}}
		}
	}
	return v.refuse(ctx, refused.Kind, "Nothing was done: %s", sentence(refused))
}

// doneAs is the click that was carried out under a key, should there be one.
func (v *visit) doneAs(ctx context.Context, once string) (guard.Clicked, bool) {
	var done []guard.Clicked
	err := v.Ledger.View(ctx, func(view *store.View) error {
		_, err := view.Value(guard.ClicksName, &done)
		return err
	})
	i := slices.IndexFunc(done, func(c guard.Clicked) bool { return c.Key == once })
	if err != nil || i < 0 {
		return guard.Clicked{}, false
	}
	return done[i], true
}

// fieldOf is the field that a refusal is about: the API names it first. What names none and
// could be mended in the form stands beside the first one.
func fieldOf(form *wire.Form, e *wire.Error) (string, bool) {
	about, _, _ := strings.Cut(e.Message, ":")
	if about == "for" {
		about = "by"
	}
	for _, f := range form.Fields {
		if f.Name == about {
			return f.Name, true
		}
	}
	if len(form.Fields) == 0 || e.Kind != wire.KindInvalid && e.Kind != wire.KindCurrency && e.Kind != wire.KindNotFound {
		return "", false
	}
	return form.Fields[0].Name, true
}

// sentence is what an error says, with what to do.
func sentence(e *wire.Error) string {
	text := policy.Upper(strings.TrimSuffix(e.Message, "."))
	if e.Hint == "" {
		return text + "."
	}
	return text + ". " + e.Hint
}
