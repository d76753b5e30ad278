package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// unreachable turns an error of the network into what a person can check.
func (c *Client) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL of a socket says nothing
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	say := func(text string) error {
		return &UnreachableError{Addr: c.addr, Text: "cannot reach guardd at " + c.addr + ": " + text, Err: err}
	}
	const other = " If it listens elsewhere, say so with --addr or GUARD_ADDR"
	unix := strings.HasPrefix(c.addr, "unix:") || strings.HasPrefix(c.addr, "/")
	var (
		pin      *pinError
		cert     *tls.CertificateVerificationError
		noRecord tls.RecordHeaderError
		name     x509.HostnameError
		expired  x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &pin):
		return say("it shows another key (" + pin.shown + ") than the one in GUARD_FINGERPRINT. Nothing was sent. Either its key was made anew, or something else answers: " +
			"compare with what guardd check prints on the daemon's machine before you change anything")
	case errors.As(err, &cert) && errors.As(err, &name):
		return say("its certificate is not for the name " + name.Host + ". Nothing was sent. Use a name that it is for, or pin its key: " + howToPin(cert))
	case errors.As(err, &cert) && errors.As(err, &expired) && expired.Reason == x509.Expired:
		return say("its certificate has expired, or the clock here is wrong. Nothing was sent. Renew it on the daemon's machine, or pin its key: " + howToPin(cert))
	case errors.As(err, &cert):
		return say("its certificate is not known here. Nothing was sent. Pin its key: " + howToPin(cert) + ". Or name the file of whoever signed it in GUARD_CA")
	case errors.As(err, &noRecord), errors.Is(err, http.ErrSchemeMismatch):
		return say("what answers there speaks no TLS. Is the address the one under listen: in guardd's configuration?")
	case unix && errors.Is(err, fs.ErrNotExist):
		return say("there is no such socket. Is guardd running (systemctl status guardd)?" + other)
	case unix && errors.Is(err, syscall.ECONNREFUSED):
		return say("the socket is there but nobody listens: guardd has ended. Start it (systemctl start guardd) and look at why (journalctl -u guardd)." + other)
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("nobody listens there. Is guardd running, and is the address the one under listen: in its configuration?")
	case errors.Is(err, fs.ErrPermission):
		return say("you may not open the socket. Ask to be put into its group (socket_group in the configuration), or run as the user that owns it")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return say("it closed the connection before it answered, so what became of the request is not known: look at it with guard log before you try again")
	case timedOut(err):
		return say(fmt.Sprintf("no answer within %s. It hangs or is stopped: look at it (systemctl status guardd, journalctl -u guardd)", c.timeout))
	}
	return say(err.Error())
}

// howToPin tells how a person makes sure of a key and then trusts it.
func howToPin(cert *tls.CertificateVerificationError) string {
	if len(cert.UnverifiedCertificates) == 0 {
		return "set GUARD_FINGERPRINT to what guardd check prints on the daemon's machine"
	}
	return "see that guardd check prints the same on the daemon's machine, then set GUARD_FINGERPRINT=sha256:" + hex.EncodeToString(keySum(cert.UnverifiedCertificates[0]))
}
