package daemon

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
)

// certWorld is a folder with a ledger's name in it, and a clock.
type certWorld struct {
	*testing.T
	ledger string
	now    time.Time
	log    bytes.Buffer
}

func newCertWorld(t *testing.T) *certWorld {
	return &certWorld{T: t, ledger: filepath.Join(t.TempDir(), "ledger.db"), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (w *certWorld) open() *Certificate {
	w.Helper()
	c, err := OwnCertificate(w.ledger, "guard.example:7070", func() time.Time { return w.now }, slog.New(slog.NewTextHandler(&w.log, nil)))
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *certWorld) shown(c *Certificate) *x509.Certificate {
	w.Helper()
	shown, err := c.get(nil)
	if err != nil {
		w.Fatal(err)
	}
	return shown.Leaf
}

// TestOwnCertificate: made once, with a key that nobody else reads, for the names of
// the machine; the next start finds it.
func TestOwnCertificate(t *testing.T) {
	w := newCertWorld(t)
	first := w.open()
	leaf := w.shown(first)
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "guard.example"} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: w.now}); err != nil {
		t.Errorf("to a client that trusts the file: %v", err)
	}
	if host, err := os.Hostname(); err == nil && host != "" && !slices.Contains(leaf.DNSNames, host) {
		t.Errorf("the certificate is for %v, not for %s", leaf.DNSNames, host)
	}
	key := strings.TrimSuffix(w.ledger, ".db") + ".key"
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	again := w.open()
	if again.Fingerprint() != first.Fingerprint() || !w.shown(again).Equal(leaf) {
		t.Error("another start made another certificate")
	}
	if fp, err := FingerprintOf(OwnCertificateFile(w.ledger)); err != nil || fp != first.Fingerprint() || !strings.HasPrefix(fp, "sha256:") || len(fp) != 71 {
		t.Errorf("fingerprint %q, %v", fp, err)
	}
}

// TestOwnCertificateRenewed: a new one comes a month before the end, while guardd
// runs, and whoever pins the key goes on.
func TestOwnCertificateRenewed(t *testing.T) {
	w := newCertWorld(t)
	c := w.open()
	old, pinned := w.shown(c), c.Fingerprint()
	w.now = w.now.Add(330 * 24 * time.Hour)
	if !w.shown(c).Equal(old) {
		t.Fatal("renewed early")
	}
	w.now = w.now.Add(10 * 24 * time.Hour)
	renewed := w.shown(c)
	if renewed.Equal(old) || c.Fingerprint() != pinned || !c.Ends().Equal(w.now.Add(365*24*time.Hour)) {
		t.Fatalf("ends %v, the old one %v; fingerprints %s, %s", c.Ends(), old.NotAfter, c.Fingerprint(), pinned)
	}
	if !w.shown(w.open()).Equal(renewed) {
		t.Error("the renewed one is not the one on disk")
	}
}

// TestOwnCertificateCannotBeWritten: the one that was good goes on, and the log says
// so once in a while.
func TestOwnCertificateCannotBeWritten(t *testing.T) {
	w := newCertWorld(t)
	c := w.open()
	old := w.shown(c)
	c.cert = filepath.Join(filepath.Dir(w.ledger), "no", "such", "folder.crt")
	w.now = w.now.Add(350 * 24 * time.Hour)
	for range 5 {
		if !w.shown(c).Equal(old) {
			t.Fatal("another certificate")
		}
	}
	if n := strings.Count(w.log.String(), "certificate not renewed"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &w.log)
	}
}

// TestOwnKeyStays: a key that cannot be read is never written over, for clients have
// pinned it; a certificate that cannot is made anew.
func TestOwnKeyStays(t *testing.T) {
	w := newCertWorld(t)
	pinned := w.open().Fingerprint()
	cert := OwnCertificateFile(w.ledger)
	if err := os.WriteFile(cert, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.open().Fingerprint(); got != pinned {
		t.Errorf("fingerprint %s became %s", pinned, got)
	}
	key := strings.TrimSuffix(cert, ".crt") + ".key"
	if err := os.WriteFile(key, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OwnCertificate(w.ledger, "", func() time.Time { return w.now }, slog.New(slog.DiscardHandler))
	if !errors.Is(err, guard.ErrDamaged) || !strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
	if b, _ := os.ReadFile(key); string(b) != "torn" {
		t.Error("the key was written over")
	}
}

// TestGivenCertificate: files that somebody else renews are read again when they
// change; ones that do not fit together change nothing.
func TestGivenCertificate(t *testing.T) {
	w := newCertWorld(t)
	dir := filepath.Dir(w.ledger)
	cert, key := filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls-key.pem")
	put := func(from *certWorld) {
		t.Helper()
		own := from.open()
		for to, name := range map[string]string{cert: own.cert, key: own.key} {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o600); err != nil {
				t.Fatal(err)
			}
			// A file system's clock may not tell two writes of one moment apart.
			if err := os.Chtimes(to, w.now, w.now); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := func() time.Time { return w.now }
	if _, err := GivenCertificate(cert, key, now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("files that are not there")
	}
	put(newCertWorld(t))
	c, err := GivenCertificate(cert, key, now, slog.New(slog.NewTextHandler(&w.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	first := w.shown(c)
	if err := os.WriteFile(key, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	if !w.shown(c).Equal(first) || !strings.Contains(w.log.String(), "certificate not renewed") || strings.Contains(w.log.String(), "half written") {
		t.Errorf("log:\n%s", &w.log)
	}
	put(newCertWorld(t))
	w.now = w.now.Add(time.Hour)
	if w.shown(c).Equal(first) {
		t.Error("the new files were not read")
	}
}

func TestListenTCP(t *testing.T) {
	w := newCertWorld(t)
	w.now = time.Now()
	c := w.open()
	l, err := ListenTCP(t.Context(), "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ListenTCP(t.Context(), l.Addr().String(), c); !errors.Is(err, guard.ErrLocked) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("a port in use: %v", err)
	}
	if _, err := ListenTCP(t.Context(), "192.0.2.1:7070", c); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("an address of another machine: %v", err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake() }()
		}
	}()
	for version, want := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// TestCrowd: one address does not take all the room, and who leaves makes some.
func TestCrowd(t *testing.T) {
	l := &crowd{most: 5, mostFrom: 3}
	for i, want := range []bool{true, true, true, false, false} {
		if l.enter("a") != want {
			t.Errorf("a, connection %d", i+1)
		}
	}
	if !l.enter("b") || !l.enter("c") || l.enter("d") {
		t.Error("five in all")
	}
	l.left("a")
	if !l.enter("d") || l.enter("a") {
		t.Error("one left, one may come")
	}
	for range 2 {
		l.left("a")
	}
	l.left("b")
	l.left("c")
	l.left("d")
	if l.all != 0 || len(l.from) != 0 {
		t.Errorf("%d, %v are left", l.all, l.from)
	}
}
