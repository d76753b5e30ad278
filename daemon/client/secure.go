package client

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// secure sets up how the daemon is known, and who calls.
func (c *Client) secure(o Options, tr *http.Transport) error {
	over, _, _ := strings.Cut(c.base, ":")
	encrypted := over == "https"
	switch {
	case !encrypted && (len(o.CA) > 0 || o.Fingerprint != ""):
		return &AddrError{fmt.Sprintf("%s is not https, so there is no certificate that could be checked: leave GUARD_CA and GUARD_FINGERPRINT out, or write https://HOST:PORT", c.addr)}
	case o.Fingerprint != "" && len(o.CA) > 0:
		return &AddrError{"GUARD_CA and GUARD_FINGERPRINT are two ways to know the daemon: give one of them"}
	case o.Token != "" && !encrypted && !c.local():
		return &AddrError{fmt.Sprintf("a token is not sent to %s, which is not encrypted: write https://HOST:PORT or unix:PATH", c.addr)}
	}
	if o.Token != "" {
		if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return &AddrError{"the token holds spaces, line ends or characters that no token has: it reads guard_ID.SECRET"}
		}
		token := o.Token
		c.sign = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if len(o.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(o.CA) {
			return &AddrError{"the file in GUARD_CA holds no certificate (PEM)"}
		}
	}
	if o.Fingerprint != "" {
		pin, err := parseFingerprint(o.Fingerprint)
		if err != nil {
			return err
		}
		// Whose name is on the certificate, who signed it and when it ends say less than
		// the key itself.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if got := keySum(s.PeerCertificates[0]); subtle.ConstantTimeCompare(got, pin) != 1 {
				return &pinError{shown: "sha256:" + hex.EncodeToString(got)}
			}
			return nil
		}
	}
	tr.TLSClientConfig = config
	return nil
}

// local reports whether the daemon is reached over a Unix socket.
func (c *Client) local() bool { return c.base == "http://guard" }

func keySum(cert *x509.Certificate) []byte {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return sum[:]
}

func parseFingerprint(s string) ([]byte, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(s)), "sha256:")
	pin, err := hex.DecodeString(digits)
	if !ok || err != nil || len(pin) != sha256.Size {
		return nil, &AddrError{"GUARD_FINGERPRINT is not sha256: and 64 hexadecimal digits, as guardd check prints it on the daemon's machine"}
	}
	return pin, nil
}

// pinError says that the daemon shows another key than the one that is pinned.
type pinError struct{ shown string }

// Error is the sentence.
func (e *pinError) Error() string { return "another key: " + e.shown }
