package notifytest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Button is one button of a post.
type Button struct {
	Action, Value, Label, Style string
	Confirms                    bool
}

// checked is what is in blocks.
type checked struct {
	texts   []string
	buttons []Button
	pings   []string
	blocks  map[string]bool // IDs
	actions map[string]bool // of the block at hand
	sum     int
}

// object is a text of a block.
type object struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji"`
	Verbatim *bool  `json:"verbatim"`
}

// The blocks and the elements that guard may use, with all the fields that Slack knows
// of them there (docs.slack.dev/reference/block-kit).
type (
	block struct {
		Type     string            `json:"type"`
		BlockID  string            `json:"block_id"`
		Text     *object           `json:"text"`
		Fields   []*object         `json:"fields"`
		Elements []json.RawMessage `json:"elements"`
		Expand   bool              `json:"expand"`
	}
	button struct {
		Type     string   `json:"type"`
		Text     *object  `json:"text"`
		ActionID string   `json:"action_id"`
		Value    string   `json:"value"`
		Style    string   `json:"style"`
		Confirm  *confirm `json:"confirm"`
	}
	confirm struct {
		Title   *object `json:"title"`
		Text    *object `json:"text"`
		Confirm *object `json:"confirm"`
		Deny    *object `json:"deny"`
		Style   string  `json:"style"`
	}
)

// Slack's limits of blocks, in characters.
const (
	mostBlocks   = 50
	mostID       = 255
	mostHeader   = 150
	mostSection  = 3000
	mostFields   = 10
	mostField    = 2000
	mostContext  = 10
	mostActions  = 25
	mostLabel    = 75
	mostValue    = 2000
	mostTitle    = 100
	mostQuestion = 300
	mostAnswer   = 30
	mostInAll    = 13_200
)

// check is what Slack has against a message of these blocks, JSON, and this fall-back;
// "" where nothing.
func check(blocks, text string) (c checked, code string) {
	c.pings = pings(nil, text)
	if blocks == "" || blocks == "[]" {
		if text == "" {
			return c, "no_text"
		}
		return c, ""
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(blocks), &raw); err != nil || len(raw) > mostBlocks {
		return c, "invalid_blocks"
	}
	c.blocks, c.sum = map[string]bool{}, utf8.RuneCountInString(text)
	for _, r := range raw {
		var b block
		if !strictly(r, &b) || !c.block(b) {
			return c, "invalid_blocks"
		}
	}
	if c.sum > mostInAll {
		return c, "msg_too_long"
	}
	return c, ""
}

// strictly decodes a thing of which every field must be known.
func strictly(data []byte, into any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into) == nil
}

func (c *checked) block(b block) bool {
	if b.BlockID != "" {
		if utf8.RuneCountInString(b.BlockID) > mostID || c.blocks[b.BlockID] {
			return false
		}
		c.blocks[b.BlockID] = true
	}
	if b.Type != "section" && (len(b.Fields) > 0 || b.Expand) {
		return false
	}
	switch b.Type {
	case "header":
		return len(b.Elements) == 0 && c.plain(b.Text, mostHeader)
	case "section":
		if len(b.Elements) > 0 || b.Text == nil && len(b.Fields) == 0 || b.Text != nil && !c.text(b.Text, mostSection) || len(b.Fields) > mostFields {
			return false
		}
		for _, f := range b.Fields {
			if !c.text(f, mostField) {
				return false
			}
		}
		return true
	case "divider":
		return b.Text == nil && len(b.Elements) == 0
	case "context":
		return b.Text == nil && c.elements(b, mostContext, c.note)
	case "actions":
		c.actions = map[string]bool{}
		return b.Text == nil && c.elements(b, mostActions, c.button)
	}
	return false
}

func (c *checked) elements(b block, most int, one func(json.RawMessage) bool) bool {
	if len(b.Elements) == 0 || len(b.Elements) > most {
		return false
	}
	for _, e := range b.Elements {
		if !one(e) {
			return false
		}
	}
	return true
}

func (c *checked) note(data json.RawMessage) bool {
	var o object
	return strictly(data, &o) && c.text(&o, mostSection)
}

func (c *checked) button(data json.RawMessage) bool {
	var b button
	if !strictly(data, &b) || b.Type != "button" || !c.plain(b.Text, mostLabel) || !styled(b.Style) ||
		utf8.RuneCountInString(b.Value) > mostValue || utf8.RuneCountInString(b.ActionID) > mostID || c.actions[b.ActionID] {
		return false
	}
	if b.ActionID != "" { // Slack makes one up where there is none
		c.actions[b.ActionID] = true
	}
	c.buttons = append(c.buttons, Button{b.ActionID, b.Value, b.Text.Text, b.Style, b.Confirm != nil})
	q, seen := b.Confirm, len(c.texts)
	defer func() { c.texts = c.texts[:seen] }() // nobody reads the question before a click
	return q == nil || c.plain(q.Title, mostTitle) && c.text(q.Text, mostQuestion) && c.plain(q.Confirm, mostAnswer) && c.plain(q.Deny, mostAnswer) && styled(q.Style)
}

func styled(s string) bool { return s == "" || s == "primary" || s == "danger" }

func (c *checked) plain(o *object, most int) bool {
	return o != nil && o.Type == "plain_text" && c.text(o, most)
}

// text checks one text, and that nothing in it is broken markup.
func (c *checked) text(o *object, most int) bool {
	if o == nil {
		return false
	}
	n := utf8.RuneCountInString(o.Text)
	c.sum += n
	c.texts = append(c.texts, o.Text)
	switch o.Type {
	case "plain_text":
		if o.Verbatim != nil {
			return false
		}
	case "mrkdwn":
		if o.Emoji != nil {
			return false
		}
		c.pings = pings(c.pings, o.Text)
	default:
		return false
	}
	return strings.Trim(o.Text, " \t\r\n") != "" && n <= most && utf8.ValidString(o.Text)
}

// markup is what Slack makes a mention of.
var markup = regexp.MustCompile(`<([@!][^<>|]*)(?:\|[^<>]*)?>`)

func pings(of []string, text string) []string {
	for _, m := range markup.FindAllStringSubmatch(text, -1) {
		of = append(of, strings.TrimPrefix(m[1], "@"))
	}
	return of
}
