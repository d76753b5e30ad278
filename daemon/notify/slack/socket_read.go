package slack

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"guard/daemon/wire"
)

// formID marks guard's own forms among those that are sent.
const formID = "guard"

// gesture is one thing that a person did, out of an envelope.
type gesture struct {
	click wire.Click
	// trigger lets a form be shown, for three seconds; response is where an answer to that
	// one person goes, and place the Slack channel that it happened in.
	trigger, response, place string
	form                     bool // a form was sent: the acknowledgement is the answer
	view                     string
}

// interaction is what guard reads of a click on a button and of a form that was sent. The
// rest, tokens among it, is left where it is.
type interaction struct {
	Type string `json:"type"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Trigger  string `json:"trigger_id"`
	Response string `json:"response_url"`
	Channel  struct {
		ID string `json:"id"`
	} `json:"channel"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
	View struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Metadata string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// command is what guard reads of a slash command.
type command struct {
	User     string `json:"user_id"`
	Text     string `json:"text"`
	Trigger  string `json:"trigger_id"`
	Response string `json:"response_url"`
	Channel  string `json:"channel_id"`
}

// metadata is what a form carries from where it was shown to where it is read. Like a
// button's value it grants nothing.
type metadata struct {
	Message string `json:"message,omitempty"`
	Offer   string `json:"offer"`
	Key     string `json:"key,omitempty"`
	Nth     int    `json:"nth,omitempty"`
	State   string `json:"state,omitempty"`
	Place   string `json:"place,omitempty"`
}

// read takes an envelope apart; false where it is of no concern to guard.
func read(e envelope) (gesture, bool) {
	switch e.Type {
	case "slash_commands":
		var c command
		if json.Unmarshal(e.Payload, &c) != nil || c.User == "" {
			return gesture{}, false
		}
		return gesture{click: wire.Click{Channel: "slack", User: c.User, Command: c.Text}, trigger: c.Trigger, response: c.Response, place: c.Channel}, true
	case "interactive":
		var i interaction
		if json.Unmarshal(e.Payload, &i) != nil || i.User.ID == "" {
			return gesture{}, false
		}
		g := gesture{click: wire.Click{Channel: "slack", User: i.User.ID}, trigger: i.Trigger, response: i.Response, place: i.Channel.ID}
		switch i.Type {
		case "block_actions":
			return g, g.button(i)
		case "view_submission":
			return g, g.sent(i)
		}
	}
	return gesture{}, false
}

// button reads which of guard's buttons was clicked. One whose value is not guard's is
// passed on all the same: it names no message, and is refused as such.
func (g *gesture) button(i interaction) bool {
	for _, a := range i.Actions {
		if !ours(a.ID) {
			continue
		}
		v, err := decodeValue(a.Value)
		if err != nil {
			v = value{Message: "unreadable", Click: "unreadable"}
		}
		g.click.Message, g.click.Offer, g.click.Key = v.Message, v.Click, v.Key
		if parts := strings.Split(a.ID, ":"); len(parts) == 3 {
			g.click.Nth, _ = strconv.Atoi(parts[2]) // what is no number is the first
		}
		return true
	}
	return false
}

// sent reads what was typed into one of guard's forms.
func (g *gesture) sent(i interaction) bool {
	var m metadata
	if i.View.Callback != formID || json.Unmarshal([]byte(i.View.Metadata), &m) != nil {
		return false
	}
	g.form, g.view, g.place = true, i.View.ID, cmp.Or(g.place, m.Place)
	c := &g.click
	c.Message, c.Offer, c.Key, c.Nth, c.State, c.Form = m.Message, m.Offer, m.Key, m.Nth, m.State, map[string]string{}
	for field, inputs := range i.View.State.Values {
		for _, in := range inputs {
			c.Form[field] = in.Value
		}
	}
	return true
}
