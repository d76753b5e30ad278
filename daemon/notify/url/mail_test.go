package url

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/daemon/notify/notifytest"
)

// postOffice is a mail server on a loopback connection, strict about the protocol.
type postOffice struct {
	t        *testing.T
	listener net.Listener
	cert     tls.Certificate
	implicit bool
	// offers are the extensions before and after TLS.
	noTLS bool
	auth  string // mechanisms
	// refuse answers a command (its first word, or "DATA END"), "" is a yes; "-" breaks
	// the connection.
	refuse map[string]string
	gone   string // a recipient that is not there
	hung   chan struct{}

	mu    sync.Mutex
	mails []*mail.Message
	raw   []string
	to    [][]string
	plain int // passwords told without TLS
}

// newPostOffice opens one, as change leaves it; nil leaves it as it is.
func newPostOffice(t *testing.T, change func(*postOffice)) (*postOffice, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"mail.example.com"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postOffice{t: t, listener: l, cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, auth: "PLAIN LOGIN", refuse: map[string]string{}, hung: make(chan struct{})}
	if change != nil {
		change(p)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return p, pool
}

func (p *postOffice) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	secure := false
	if p.implicit {
		conn, secure = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.cert}}), true
	}
	r := bufio.NewReader(conn)
	reply := func(s string) { fmt.Fprintf(conn, "%s\r\n", s) }
	line := func() string { s, _ := r.ReadString('\n'); return strings.TrimRight(s, "\r\n") }
	if no := p.refuse["GREETING"]; no == "-" {
		return
	} else if no != "" {
		reply(no)
		return
	}
	reply("220 mail.example.com")
	var to []string
	signed := false
	for {
		in := line()
		word, _, _ := strings.Cut(in, " ")
		switch no := p.refuse[word]; no {
		case "":
		case "-":
			return
		case "hang":
			close(p.hung)
			_ = line() // until the other side hangs up
			return
		default:
			reply(no)
			continue
		}
		switch word {
		case "EHLO":
			reply("250-mail.example.com")
			if !secure && !p.noTLS {
				reply("250-STARTTLS")
			}
			if p.auth != "" {
				reply("250-AUTH " + p.auth)
			}
			reply("250 8BITMIME")
		case "STARTTLS":
			reply("220 go on")
			conn, secure = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{p.cert}}), true
			r = bufio.NewReader(conn)
		case "AUTH":
			if !secure {
				p.mu.Lock()
				p.plain++
				p.mu.Unlock()
			}
			user, password := p.password(in, reply, line)
			if signed = user == "ana" && password == canary; signed {
				reply("235 welcome")
			} else {
				reply("535 no, " + password)
			}
		case "MAIL":
			if p.auth != "" && !signed {
				reply("530 who are you")
				continue
			}
			to = nil
			reply("250 ok")
		case "RCPT":
			who := strings.TrimSuffix(strings.TrimPrefix(in, "RCPT TO:<"), ">")
			if who == p.gone {
				reply("550 no such user " + canary)
				continue
			}
			to = append(to, who)
			reply("250 ok")
		case "DATA":
			reply("354 go on")
			var b strings.Builder
			for l := line(); l != "."; l = line() {
				b.WriteString(strings.TrimPrefix(l, ".") + "\r\n")
			}
			switch no := p.refuse["DATA END"]; no {
			case "":
			case "-":
				p.keep(b.String(), to)
				return
			default:
				reply(no)
				continue
			}
			p.keep(b.String(), to)
			reply("250 taken")
		case "QUIT":
			reply("221 bye")
			return
		case "":
			return
		default:
			reply("500 what")
		}
	}
}

// password is what a client signs in with.
func (p *postOffice) password(in string, reply func(string), line func() string) (string, string) {
	parts := strings.Fields(in)
	if parts[1] == "PLAIN" {
		b, _ := base64.StdEncoding.DecodeString(parts[2])
		said := strings.Split(string(b), "\x00")
		return said[1], said[2]
	}
	reply("334 " + base64.StdEncoding.EncodeToString([]byte("Username:")))
	user, _ := base64.StdEncoding.DecodeString(line())
	reply("334 " + base64.StdEncoding.EncodeToString([]byte("Password:")))
	password, _ := base64.StdEncoding.DecodeString(line())
	return string(user), string(password)
}

func (p *postOffice) keep(raw string, to []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		p.t.Errorf("this is no mail: %v\n%s", err, raw)
		return
	}
	if head, _, _ := strings.Cut(raw, "\r\n\r\n"); strings.ContainsFunc(head, func(r rune) bool { return r > '~' }) {
		p.t.Errorf("a header of other than ASCII:\n%s", head)
	}
	for l := range strings.SplitSeq(raw, "\r\n") {
		if len(l) > 998 || strings.ContainsAny(l, "\n\r\x00") {
			p.t.Errorf("a line of %d bytes: %.100q", len(l), l)
		}
	}
	p.mails, p.raw, p.to = append(p.mails, m), append(p.raw, raw), append(p.to, to)
}

// Seen is subject and body of each mail.
func (p *postOffice) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for i, m := range p.mails {
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil {
			p.t.Error(err)
		}
		_, text, _ := strings.Cut(p.raw[i], "\r\n\r\n")
		body, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(text)))
		if err != nil {
			p.t.Error(err)
		}
		out = append(out, subject+"\n"+strings.ReplaceAll(string(body), "\r\n", "\n"))
	}
	return out
}

// channel is a channel to the office, as mail.example.com.
func (p *postOffice) channel(pool *x509.CertPool, address string) Channel {
	p.t.Helper()
	c, err := New(Config{Name: "mail", URL: guard.NewSecret(address), TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, p.listener.Addr().String())
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

const mailAddress = "smtp://ana:" + canary + "@mail.example.com/?from=guard@example.com&to=a@example.com,B <b@example.com>"

func TestMailConformance(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) (notifytest.Channel, notifytest.Far) {
		p, pool := newPostOffice(t, nil)
		return p.channel(pool, mailAddress), notifytest.Far{Seen: p.Seen, Secrets: []string{canary}}
	})
}

// TestLetter: what a mail looks like, how it threads, and that no text makes a header.
func TestLetter(t *testing.T) {
	p, pool := newPostOffice(t, nil)
	c := p.channel(pool, mailAddress)
	m := notifytest.Message("mail", "one")
	m.Title = "lab/i-1: 一台机器到期\r\nBcc: evil@example.com\r\n\r\nhello"
	m.Lines = []string{".", "of ana\nSubject: x", strings.Repeat("字", 400)}
	m.Urgent = true
	first, err := c.Post(ctxAt(t), m, "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Post(ctxAt(t), m, first.Thread)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Post(ctxAt(t), notifytest.Message("mail", "two"), "<x@y>\r\nBcc: evil@example.com"); err != nil {
		t.Fatal(err)
	}
	h := p.mails[0].Header
	for name, want := range map[string]string{"From": "<guard@example.com>", "To": "<a@example.com>, \"B\" <b@example.com>", "Message-Id": first.Receipt, "In-Reply-To": "", "References": "", "Bcc": "",
		"Date": "Fri, 06 Mar 2026 10:00:00 +0000", "Importance": "high", "Auto-Submitted": "auto-generated", "Mime-Version": "1.0"} {
		if got := strings.Join(h[name], "|"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if h := p.mails[1].Header; h.Get("In-Reply-To") != first.Receipt || h.Get("References") != first.Receipt || again.Thread != first.Thread || again.Receipt != first.Receipt {
		t.Errorf("%v, %+v", h, again)
	}
	if h := p.mails[2].Header; h.Get("References") != "" || h.Get("Bcc") != "" || h.Get("Importance") != "" {
		t.Errorf("%v", h)
	}
	for _, want := range []string{"一台机器到期  Bcc: evil@example.com", "\n.\n", "of ana Subject: x", strings.Repeat("字", 400)} {
		if got := p.Seen()[0]; !strings.Contains(got, want) {
			t.Errorf("%.300q lacks %q", got, want)
		}
	}
}

// TestMailFaults: what each refusal means, and that the password shows in none.
func TestMailFaults(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		change        func(*postOffice)
		want          error
		mails         int
	}{
		{name: "fine"},
		{name: "fine, mails at once over TLS", address: strings.Replace(mailAddress, "smtp:", "smtps:", 1), change: func(p *postOffice) { p.implicit = true }},
		{name: "only LOGIN", change: func(p *postOffice) { p.auth = "LOGIN XOAUTH2" }},
		{name: "a relay", address: "smtp://mail.example.com/?from=g@example.com&to=a@example.com&tls=off", change: func(p *postOffice) { p.auth, p.noTLS = "", true }},
		{name: "wrong password", address: strings.Replace(mailAddress, canary, "x"+canary, 1), want: guard.ErrPermission},
		{name: "no STARTTLS", change: func(p *postOffice) { p.noTLS = true }, want: guard.ErrPermission},
		{name: "no way to sign in", change: func(p *postOffice) { p.auth = "XOAUTH2" }, want: guard.ErrPermission},
		{name: "does not answer", change: func(p *postOffice) { p.refuse["GREETING"] = "-" }, want: guard.ErrUnavailable},
		{name: "closed for now", change: func(p *postOffice) { p.refuse["GREETING"] = "421 later" }, want: guard.ErrUnavailable},
		{name: "greylisted", change: func(p *postOffice) { p.refuse["RCPT"] = "450 later " + canary }, want: guard.ErrThrottled},
		{name: "nobody there", change: func(p *postOffice) { p.refuse["RCPT"] = "550 no" }, want: guard.ErrNotFound},
		{name: "sender refused", change: func(p *postOffice) { p.refuse["MAIL"] = "553 " + canary }, want: guard.ErrInvalid},
		{name: "too large", change: func(p *postOffice) { p.refuse["DATA END"] = "552 too large" }, want: guard.ErrInvalid},
		{name: "full", change: func(p *postOffice) { p.refuse["DATA END"] = "452 full" }, want: guard.ErrThrottled},
		{name: "breaks before", change: func(p *postOffice) { p.refuse["DATA"] = "-" }, want: guard.ErrUnavailable},
		{name: "breaks after", change: func(p *postOffice) { p.refuse["DATA END"] = "-" }, want: guard.ErrUncertain, mails: 1},
		{name: "one is gone", change: func(p *postOffice) { p.gone = "a@example.com" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, pool := newPostOffice(t, tt.change)
			address := mailAddress
			if tt.address != "" {
				address = tt.address
			}
			c := p.channel(pool, address)
			_, err := c.Post(ctxAt(t), notifytest.Message("mail", "one"), "")
			if tt.want == nil {
				tt.mails = 1
				if err != nil {
					t.Error(err)
				}
			} else {
				notifytest.Kind(t, err, tt.want)
			}
			notifytest.Clean(t, err, canary)
			if n := len(p.Seen()); n != tt.mails || p.plain > 0 {
				t.Errorf("%d mails, %d passwords in the clear", n, p.plain)
			}
			if p.gone != "" && (!strings.Contains(p.Seen()[0], "does not take a@example.com") || len(p.to[0]) != 1) {
				t.Errorf("to %v: %s", p.to, p.Seen()[0])
			}
			if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, canary) {
				t.Errorf("printed: %s", text)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		p, pool := newPostOffice(t, func(p *postOffice) { p.refuse["EHLO"] = "hang" })
		ctx, cancel := context.WithCancel(ctxAt(t))
		go func() { <-p.hung; cancel() }()
		_, err := p.channel(pool, mailAddress).Post(ctx, notifytest.Message("mail", "one"), "")
		notifytest.Kind(t, err, guard.ErrUnavailable)
	})
	t.Run("asked without a mail", func(t *testing.T) {
		p, pool := newPostOffice(t, nil)
		for address, want := range map[string]error{mailAddress: nil, strings.Replace(mailAddress, canary, "x"+canary, 1): guard.ErrPermission} {
			text, err := p.channel(pool, address).(*mailbox).Check(t.Context())
			if want == nil && (err != nil || text != "smtp at mail.example.com takes mail from guard@example.com") || !errors.Is(err, want) || len(p.Seen()) > 0 {
				t.Errorf("%q, %v", text, err)
			}
			notifytest.Clean(t, err, canary)
		}
	})
	t.Run("another server answers", func(t *testing.T) {
		p, _ := newPostOffice(t, nil)
		c := p.channel(x509.NewCertPool(), mailAddress)
		_, err := c.Post(ctxAt(t), notifytest.Message("mail", "one"), "")
		notifytest.Kind(t, err, guard.ErrUnavailable)
		if len(p.Seen()) > 0 {
			t.Error("it was told all the same")
		}
	})
}
