package daemon

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"guard"
)

const (
	// certLives is how long a certificate of guardd's own is good for, and renewAhead
	// how long before its end the next one is made. The key stays, and with it the
	// fingerprint that clients pin.
	certLives  = 365 * 24 * time.Hour
	renewAhead = 30 * 24 * time.Hour
	// retryCert is how long a certificate that could not be read or renewed is left
	// alone.
	retryCert = time.Minute
)

// Certificate is what guardd shows to whoever connects over TCP.
type Certificate struct {
	cert, key string
	// names are what a certificate of guardd's own is for; nil where the files are
	// somebody else's.
	names []string
	now   func() time.Time
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]stamp
	tried   time.Time
}

// stamp tells one content of a file from another.
type stamp struct {
	changed time.Time
	size    int64
}

// GivenCertificate reads the PEM files of a certificate and its key, and again
// whenever they change.
func GivenCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, now: now, log: log}
	return c, c.read()
}

// OwnCertificate opens the certificate that a daemon makes for itself, beside its
// ledger, or makes it: for every name and address of this machine and for the host
// that it listens on. It is made anew with the same key before it ends, or where a
// name is missing.
func OwnCertificate(ledger, listen string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	file := OwnCertificateFile(ledger)
	c := &Certificate{cert: file, key: strings.TrimSuffix(file, ".crt") + ".key", names: namesOf(listen), now: now, log: log}
	err := c.read()
	if errors.Is(err, guard.ErrPermission) {
		return nil, err
	}
	switch {
	case err != nil:
		err = c.make()
	case c.wanting():
		if failed := c.make(); failed != nil { // what there is goes on
			log.Warn("certificate not renewed", "file", c.cert, "error", failed.Error())
		}
	}
	return c, err
}

// OwnCertificateFile is where the own certificate of a ledger's daemon is.
func OwnCertificateFile(ledger string) string {
	return strings.TrimSuffix(ledger, filepath.Ext(ledger)) + ".crt"
}

// Fingerprint is what clients pin: the SHA-256 of the certificate's public key. A
// renewed certificate with the same key keeps it.
func (c *Certificate) Fingerprint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fingerprint(c.current.Leaf)
}

// FingerprintOf is that of the certificate in a PEM file.
func FingerprintOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("%w: %s is not a certificate", guard.ErrInvalid, file)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not a certificate: %v", guard.ErrInvalid, file, err)
	}
	return fingerprint(c), nil
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// File is where the certificate is.
func (c *Certificate) File() string { return c.cert }

// Ends is when it stops being good.
func (c *Certificate) Ends() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Leaf.NotAfter
}

// get is the certificate for one connection. What cannot be read or renewed now is
// told in the log, and the one that was good goes on.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.names != nil && c.wanting() || c.names == nil && c.stamps() != c.seen
	if now := c.now(); due && now.Sub(c.tried).Abs() >= retryCert {
		c.tried = now
		again := c.read
		if c.names != nil {
			again = c.make
		}
		if err := again(); err != nil {
			c.log.Warn("certificate not renewed", "file", c.cert, "error", err.Error())
		} else {
			c.log.Info("certificate renewed", "file", c.cert, "ends", c.current.Leaf.NotAfter)
		}
	}
	return c.current, nil
}

func (c *Certificate) stamps() (s [2]stamp) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// read takes the certificate from its files. With an error nothing has changed.
func (c *Certificate) read() error {
	seen := c.stamps()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: read the certificate: the user that guardd runs as may not read %s and %s", guard.ErrPermission, c.cert, c.key)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read the certificate: %w", err)
	case err != nil:
		return fmt.Errorf("%w: the certificate in %s, with the key in %s, cannot be used: %v", guard.ErrInvalid, c.cert, c.key, err)
	}
	c.current, c.seen = &pair, seen
	return nil
}

// wanting reports whether guardd's own certificate ends soon or lacks a name.
func (c *Certificate) wanting() bool {
	leaf := c.current.Leaf
	if c.now().After(leaf.NotAfter.Add(-renewAhead)) {
		return true
	}
	have := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		have = append(have, ip.String())
	}
	return slices.ContainsFunc(c.names, func(name string) bool { return !slices.Contains(have, name) })
}

// make writes guardd's own certificate, and first its key where there is none. A key
// that is there and cannot be read is left as it is: clients have pinned it.
func (c *Certificate) make() error {
	key, err := c.ownKey()
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("make the certificate: %w", err)
	}
	from := c.now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "guardd"},
		NotBefore: from.Add(-time.Hour), NotAfter: from.Add(certLives), // some clocks are behind
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range c.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make the certificate: %w", err)
	}
	if err := replace(c.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return fmt.Errorf("make the certificate: %w", err)
	}
	return c.read()
}

func (c *Certificate) ownKey() (crypto.Signer, error) {
	text, err := os.ReadFile(c.key)
	if errors.Is(err, fs.ErrNotExist) {
		return c.newKey()
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate's key: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if k, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if signer, ok := k.(crypto.Signer); ok {
				return signer, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: %s is not the key of a certificate: put it back from a copy, or remove it, and clients have to pin the new one", guard.ErrDamaged, c.key)
}

func (c *Certificate) newKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the certificate's key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate's key: %w", err)
	}
	if err := replace(c.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, fmt.Errorf("make the certificate's key: %w", err)
	}
	return key, nil
}

// replace puts a whole file in a name's place, or leaves it as it was.
func replace(name string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the rename there is none
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// namesOf are the names and addresses under which this machine is reached, as far
// as it knows them, and the host of the address that is listened on.
func namesOf(listen string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, err := os.Hostname(); err == nil && host != "" {
		names = append(names, host)
	}
	if host, _, err := net.SplitHostPort(listen); err == nil {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			names = append(names, host)
		}
	}
	// Without them a client that pins the key misses nothing.
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			names = append(names, n.IP.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
