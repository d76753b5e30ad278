package providers

import (
	"io/fs"
	"strings"
	"testing"
)

// TestContainerEnv: what this process has comes first, and a service still finds what the
// cloud gave its container.
func TestContainerEnv(t *testing.T) {
	own := func(name string) string { return map[string]string{"ID": "own"}[name] }
	first := func(string) ([]byte, error) { return []byte("A=1\x00ID=first\x00odd\x00LABEL=C=38\x00"), nil }
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for _, c := range []struct {
		read func(string) ([]byte, error)
		name string
		want string
	}{
		{first, "ID", "own"},
		{first, "LABEL", "C=38"},
		{first, "odd", ""},
		{none, "ID", "own"},
		{none, "LABEL", ""},
	} {
		if got := ContainerEnv(own, c.read)(c.name); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestIsEndpoint(t *testing.T) {
	for text, want := range map[string]bool{
		"https://api.example.com":       true,
		"http://127.0.0.1:5000/v1":      true,
		"":                              false,
		"api.example.com":               false,
		"ftp://api.example.com":         false,
		"https://":                      false,
		"https://u:p@api.example.com":   false,
		"https://api.example.com/?q=1":  false,
		"https://api.example.com/#here": false,
		"https://api.example.com/%zz":   false,
	} {
		if got := IsEndpoint(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestCheckEndpoint: credentials go in the clear to nowhere but this machine.
func TestCheckEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                        "",
		"https://api.example.com": "",
		"http://127.0.0.1:7001":   "",
		"http://[::1]:7001":       "",
		"http://localhost:7001/a": "",
		"http://api.example.com":  "http:// is for this machine only",
		"http://10.0.0.1:7001":    "http:// is for this machine only",
		"http://127.0.0.1.nip.io": "http:// is for this machine only",
		"ftp://127.0.0.1":         "such as https://api.own.com, without user",
		"http://%zz":              "such as https://api.own.com, without user",
	} {
		got := ""
		CheckEndpoint(func(key, problem string) { got += key + ": " + problem }, endpoint, "https://api.own.com")
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", endpoint, got, want)
		}
	}
}
