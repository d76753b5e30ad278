package url

import (
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"guard"
	"guard/policy/say"
)

// mailRoom is what a mail takes of a message: far less than servers do, and as much as
// anybody reads. A subject stays below the 998 bytes of a line, encoded.
var mailRoom = room{all: 60_000, title: 180, each: 2, raw: true}

// letter is a message as a mail.
type letter struct {
	guard.Message
	at       time.Time
	id, root string // Message-IDs: its own, and its thread's first
	from     *mail.Address
	to       []*mail.Address
	missed   []string // those whom the server does not take
}

// String is the mail itself. Text from outside is in its subject and its body only, and
// both are encoded: it can make no header.
func (l *letter) String() string {
	f := mailRoom.fill(l.Message)
	if len(l.missed) > 0 {
		f.lines = append(f.lines, "", say.In(l.Lang, "The mail server does not take %s: change to= under notify.urls.", strings.Join(l.missed, ", ")))
	}
	var b strings.Builder
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	to := make([]string, len(l.to))
	for i, a := range l.to {
		to[i] = a.String()
	}
	header("From", l.from.String())
	header("To", strings.Join(to, ",\r\n "))
	header("Subject", mime.BEncoding.Encode("utf-8", f.title))
	header("Date", l.at.Format(time.RFC1123Z))
	header("Message-ID", l.id)
	if l.root != "" {
		header("In-Reply-To", l.root)
		header("References", l.root)
	}
	if l.Urgent {
		header("Importance", "high")
		header("X-Priority", "1")
	}
	header("Auto-Submitted", "auto-generated") // nobody's absence answers it
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	for _, line := range append([]string{f.title, ""}, f.lines...) {
		_, _ = w.Write([]byte(line + "\r\n")) // into memory
	}
	_ = w.Close()
	return b.String()
}
