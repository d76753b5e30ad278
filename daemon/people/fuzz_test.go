package people_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"guard/daemon/wire"
)

// FuzzHandle: whatever comes with a click, it is answered, in text that can be shown, and
// asks nothing of the API that the ledger does not offer.
func FuzzHandle(f *testing.F) {
	for _, seed := range []string{"ls", "mine", "register lab/i-1 --ttl 10h", "register", "register --", "register a b c", `register lab/i-1 --purpose "two`, "report", "help",
		"ls \u202e evil", "<!channel> @here", strings.Repeat("a ", 5000), "\x00\xff", "—purpose “x”", "REGISTER lab/i-1 --ttl=", "ls --all"} {
		f.Add("U1", "", "", "", 0, seed, "")
	}
	f.Add("U1", "slack|card|x", "extend", "k", 1, "", "by=2h")
	f.Add("U1", "slack|card|x", "release", "k", -1, "", "=")
	f.Add("U9", "slack|card|x", "why", "", 9, "", "")
	f.Add("U1", "", "register", "lab/i-1", 0, "", "purpose=x\nttl=1h")
	f.Fuzz(func(t *testing.T, user, message, offer, key string, nth int, command, form string) {
		d := newDesk(t)
		d.message("slack|card|x")
		c := wire.Click{Channel: "slack", User: user, Message: message, Offer: offer, Key: key, Nth: nth, Command: command}
		if form != "" {
			c.Form = map[string]string{}
			for line := range strings.Lines(form) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				c.Form[name] = value
			}
		}
		a := d.handle(c)
		if a.Text == "" && a.Ask == nil || !utf8.ValidString(a.Text) || strings.Contains(a.Text, "guard failed at this") {
			t.Errorf("%+v: %+v", c, a)
		}
		for _, l := range a.Lines {
			if !utf8.ValidString(l) || a.Aligned && strings.ContainsAny(l, "\n\r\u202e") {
				t.Errorf("%q", l)
			}
		}
		for _, asked := range d.asked {
			if user != "U1" && user != "U2" || message != "" && !strings.Contains(asked, "lab/i-1") {
				t.Errorf("%+v asked %s", c, asked)
			}
		}
	})
}
