package url

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"guard"
)

// mailForm is how the address of a mail server is written.
const mailForm = "smtp://USER:PASSWORD@HOST:587/?from=guard@example.com&to=a@example.com,b@example.com (smtps:// for port 465)"

// mailPace keeps a burst from looking like spam; what comes meanwhile is told in one mail.
const mailPace = 10 * time.Second

// mailWait is how long a server is left alone that refuses for the moment, as one does
// that greylists.
const mailWait = time.Minute

// mailbox sends one mail a message through one server. Net/smtp does what is needed of the
// protocol; what a mail looks like is in letter.go.
type mailbox struct {
	about
	server   string // host:port
	implicit bool   // TLS from the first byte
	bare     bool   // without TLS
	user     string
	password guard.Secret
	from     *mail.Address
	to       []*mail.Address
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	tls      *tls.Config
}

// mail makes the channel of an smtp or smtps address.
func (c Config) mail(own about, u *url.URL) (Channel, error) {
	wrong := func(why string) error {
		return fmt.Errorf("%w: %s: %s: write %s", guard.ErrInvalid, own.service, why, mailForm)
	}
	b := &mailbox{about: own, implicit: own.service == "smtps", dial: c.Dial, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	if c.TLS != nil {
		b.tls = c.TLS.Clone()
	}
	b.tls.ServerName = u.Hostname()
	if b.dial == nil {
		b.dial = (&net.Dialer{Timeout: timeout / 2}).DialContext
	}
	port := "587"
	if b.implicit {
		port = "465"
	}
	b.server = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	if u.User != nil {
		word, _ := u.User.Password()
		b.user, b.password = u.User.Username(), guard.NewSecret(word)
	}
	a := address{query: u.Query()}
	from, to, off := a.take("from"), a.take("to"), a.take("tls")
	if err := a.unknown(); err != nil {
		return nil, wrong(err.Error())
	}
	var err error
	if b.from, err = mail.ParseAddress(from); err != nil {
		return nil, wrong("from= is no mail address")
	}
	if b.to, err = mail.ParseAddressList(to); err != nil {
		return nil, wrong("to= is no list of mail addresses")
	}
	b.bare = off == "off" || here(u.Hostname())
	switch {
	case u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "":
		return nil, wrong("it is no address of a server")
	case off != "" && off != "off" || off != "" && b.implicit:
		return nil, wrong("tls= is off, on smtp://, or left out")
	case off == "off" && b.user != "" && !here(u.Hostname()):
		return nil, wrong("with tls=off the password would go in the clear")
	case (b.user == "") != !b.password.IsSet():
		return nil, wrong("a user goes with a password")
	}
	return b, nil
}

// Pace is how far mails must be apart.
func (b *mailbox) Pace() time.Duration { return mailPace }

// Fits reports whether m is sent uncut.
func (b *mailbox) Fits(m guard.Message) bool { return mailRoom.fill(m).whole }

// Post sends the message to everybody, in one mail. Those whom the server does not take
// are named in it: a mailbox that is gone keeps nobody else from being told.
func (b *mailbox) Post(ctx context.Context, m guard.Message, thread string) (guard.Posted, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	l := letter{Message: m, at: wallOf(ctx, m), id: b.messageID(m), from: b.from, to: b.to}
	if ours.MatchString(thread) {
		l.root = thread
	}
	sent := false
	if err := b.deliver(ctx, &l, &sent); err != nil {
		return guard.Posted{}, b.explain(err, sent)
	}
	posted := guard.Posted{Receipt: l.id, Thread: l.root}
	if posted.Thread == "" {
		posted.Thread = l.id
	}
	return posted, nil
}

// messageID follows from guard's own ID: many mailboxes show a mail that comes twice once.
func (b *mailbox) messageID(m guard.Message) string {
	_, domain, _ := strings.Cut(b.from.Address, "@")
	return "<" + digest(m.ID) + "@" + domain + ">"
}

// ours is a Message-ID that guard made.
var ours = regexp.MustCompile(`^<[0-9a-f]{32}@[^\s<>]+>$`)

// Check signs in to the server, without a mail. It returns where the mails go.
func (b *mailbox) Check(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, hangUp, err := b.connect(ctx)
	if err != nil {
		return "", b.explain(err, false)
	}
	defer hangUp()
	_ = c.Quit() // it let us in
	return fmt.Sprintf("%s takes mail from %s", b.Place(), guard.Plain(b.from.Address)), nil
}

// connect is a connection that is safe and signed in, until ctx ends or it is hung up.
func (b *mailbox) connect(ctx context.Context) (c *smtp.Client, hangUp func(), err error) {
	conn, err := b.dial(ctx, "tcp", b.server)
	if err != nil {
		return nil, nil, &unsent{"no connection"}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	end := func() { stop(); _ = conn.Close() }
	defer func() {
		if err != nil {
			end()
		}
	}()
	over := conn
	if b.implicit {
		secure := tls.Client(conn, b.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, nil, &unsent{untrusted}
		}
		over = secure
	}
	if c, err = smtp.NewClient(over, b.host); err != nil {
		return nil, nil, err
	}
	return c, end, b.greet(c)
}

// deliver speaks to the server. Sent is set before the mail is complete there.
func (b *mailbox) deliver(ctx context.Context, l *letter, sent *bool) error {
	c, hangUp, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp()
	if err := c.Mail(b.from.Address); err != nil {
		return err
	}
	var refused error
	for _, to := range b.to {
		if err := c.Rcpt(to.Address); err != nil {
			if code(err)/100 != 5 {
				return err
			}
			refused = err
			l.missed = append(l.missed, to.Address)
		}
	}
	if len(l.missed) == len(b.to) {
		return &nobody{refused}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, l.String()); err != nil {
		return err
	}
	*sent = true
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the mail is taken
	return nil
}

// greet makes the connection safe and signs in.
func (b *mailbox) greet(c *smtp.Client) error {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	if err := c.Hello(name); err != nil {
		return err
	}
	if can, _ := c.Extension("STARTTLS"); can && !b.implicit {
		if err := c.StartTLS(b.tls); err != nil {
			return &unsent{untrusted}
		}
	} else if !can && !b.implicit && !b.bare {
		return &unsafe{}
	}
	if b.user == "" {
		return nil
	}
	ok, mechanisms := c.Extension("AUTH")
	offers := strings.Fields(strings.ToUpper(mechanisms))
	switch {
	case ok && slices.Contains(offers, "PLAIN"):
		return c.Auth(smtp.PlainAuth("", b.user, b.password.Reveal(), b.host))
	case ok && slices.Contains(offers, "LOGIN"):
		return c.Auth(&login{b.user, b.password})
	}
	return &unsafe{"it takes no password, by PLAIN or LOGIN"}
}

// login is the mechanism of servers that have no PLAIN. It is used over TLS only, and on
// this machine.
type login struct {
	user     string
	password guard.Secret
}

// Start implements smtp.Auth.
func (l *login) Start(s *smtp.ServerInfo) (string, []byte, error) {
	if !s.TLS && !here(s.Name) {
		return "", nil, &unsafe{}
	}
	return "LOGIN", nil, nil
}

// Next answers the server's two questions, whatever language it asks in.
func (l *login) Next(ask []byte, more bool) ([]byte, error) {
	switch {
	case !more:
		return nil, nil
	case strings.HasPrefix(strings.ToLower(string(ask)), "user"):
		return []byte(l.user), nil
	}
	return []byte(l.password.Reveal()), nil
}

// unsent is a connection that never was.
type unsent struct{ what string }

const untrusted = "its certificate is not trusted, or it does not speak TLS"

func (e *unsent) Error() string { return e.what }

// unsafe is a server that must not be told the password, or the message.
type unsafe struct{ what string }

func (e *unsafe) Error() string {
	return cmp.Or(e.what, "it offers no STARTTLS; add tls=off where it is a relay in a network of your own")
}

// nobody is a server that takes none of the addresses.
type nobody struct{ error }

func (e *nobody) Unwrap() error { return e.error }

// code is the server's reply to a command; 0 where there was none.
func code(err error) int {
	var said *textproto.Error
	if errors.As(err, &said) {
		return said.Code
	}
	return 0
}

// explain turns an error of an exchange into one of ours. Of the server's text only the
// code is taken over.
func (b *mailbox) explain(err error, sent bool) error {
	kind, why := guard.ErrUnavailable, ""
	var never *unsent
	var risky *unsafe
	var none *nobody
	n := code(err)
	switch {
	case errors.As(err, &never):
		why = never.what + "; guard keeps the message and tries again"
	case errors.As(err, &risky):
		kind, why = guard.ErrPermission, risky.Error()
	case n == 530 || n == 534 || n == 535 || n == 538:
		kind, why = guard.ErrPermission, fmt.Sprintf("the server answers %d; check user and password", n)
	case errors.As(err, &none):
		kind, why = guard.ErrNotFound, fmt.Sprintf("the server takes none of the addresses (%d); check to=", n)
	case n == 421 || n == 0 && !sent:
		why = "the connection broke before the mail was sent; guard tries again"
	case n >= 400 && n < 500:
		return &guard.RetryError{After: mailWait, Err: fmt.Errorf("%w: mail to %s: the server answers %d: not now", guard.ErrThrottled, b.name, n)}
	case n >= 500:
		kind, why = guard.ErrInvalid, fmt.Sprintf("the server answers %d: it does not take this mail", n)
	default:
		kind, why = guard.ErrUncertain, "the server did not say whether it took the mail"
	}
	return fmt.Errorf("%w: mail to %s: %s", kind, b.name, why)
}
