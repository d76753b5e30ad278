package configs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	mine, err := user.LookupGroupId("0")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	writePair(t, dir)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for text, want := range map[string]Listen{
		"":                         {Unix: "/run/guard/guard.sock"},
		"listen:":                  {Unix: "/run/guard/guard.sock"},
		"listen: unix:/a.sock":     {Unix: "/a.sock"},
		"listen: tcp:0.0.0.0:7070": {Unix: "/run/guard/guard.sock", TCP: "0.0.0.0:7070"},
		"listen: [\"tcp:[::]:7070\", unix:/a.sock]":                                     {Unix: "/a.sock", TCP: "[::]:7070"},
		"listen: [tcp:box.example:7070]\nsocket_group: " + mine.Name:                    {Unix: "/run/guard/guard.sock", TCP: "box.example:7070", Group: mine.Name},
		"listen: [tcp:127.0.0.1:7070]\ntls: {cert: \"" + cert + "\", key: " + key + "}": {Unix: "/run/guard/guard.sock", TCP: "127.0.0.1:7070", Cert: cert, Key: key},
	} {
		if got := mustLoad(t, text).Listen; got != want {
			t.Errorf("%q:\n%+v, want\n%+v", text, got, want)
		}
	}
}

// writePair writes a certificate and its key, good for nothing.
func writePair(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
