package wire

// Click is what a person did in a channel: clicked a button, sent a form, or typed a
// command there. Nothing in it is believed but the User, for whom the channel vouches.
type Click struct {
	Channel string `json:"channel"` // the channel's name
	User    string `json:"user"`    // the person's ID there
	// Message is the ID of guard's message that had the button, Offer the click's name
	// and Key the offer's own.
	Message string `json:"message,omitempty"`
	Offer   string `json:"offer,omitempty"`
	Key     string `json:"key,omitempty"`
	// Nth tells apart what a message offers under one name and key, from 1; 0 is the first.
	Nth int `json:"nth,omitempty"`
	// Form is what was typed into a form, by field; null where none was sent. State is the
	// form's own.
	Form  map[string]string `json:"form"`
	State string            `json:"state,omitempty"`
	// Command is what was typed after /guard, where it was that.
	Command string `json:"command,omitempty"`
}

// ClickAnswer is what the person is told, and nobody else.
type ClickAnswer struct {
	// Done: something was changed, or what was asked for is in Text.
	Done  bool     `json:"done"`
	Text  string   `json:"text"`
	Lines []string `json:"lines,omitempty"`
	// Aligned: the lines are columns, for a font of one width.
	Aligned bool `json:"aligned,omitempty"`
	// Ask is a form to show in place of an answer; null: none.
	Ask *Form `json:"ask,omitempty"`
	// Wrong is what is wrong with the fields of a form that was sent, by field; the form
	// stays open.
	Wrong map[string]string `json:"wrong,omitempty"`
}

// Form is a form that a person fills in; sent, it comes back as a Click with the same
// Message, Offer and Key. Without fields it asks whether what About says shall be done.
type Form struct {
	// Message, Offer, Key, Nth and State are those of the click that it comes back as.
	Message string `json:"message,omitempty"`
	Offer   string `json:"offer"`
	Key     string `json:"key,omitempty"`
	Nth     int    `json:"nth,omitempty"`
	// State is what the form rests on: what is sent is refused where it has changed.
	State string `json:"state,omitempty"`

	Title  string  `json:"title"`
	Send   string  `json:"send"` // the button's word
	Fields []Field `json:"fields"`
	// About is a line over the fields.
	About string `json:"about,omitempty"`
}

// Field is one thing to type.
type Field struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Hint     string `json:"hint,omitempty"`
	Value    string `json:"value,omitempty"` // what stands there already
	Optional bool   `json:"optional,omitempty"`
	Most     int    `json:"most,omitempty"` // characters
}
