package digitalocean

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"guard"
	"guard/providers/providertest"
	"guard/providers/providertest/cloudtest"
)

func TestIdentity(t *testing.T) {
	for body, want := range map[string]string{
		`{"account":{"uuid":"u","team":{"uuid":"t","name":"x"}}}`: "t",
		`{"account":{"uuid":"u"}}`:                                "u",
		`{"account":{"uuid":"u","team":null}}`:                    "u",
		`{"account":{"uuid":"u","team":{"name":"x"}}}`:            "",
		`{"account":{"uuid":"u","team":[]}}`:                      "",
		`{"account":{"uuid":7}}`:                                  "",
		`{"account":[]}`:                                          "",
		`{}`:                                                      "",
	} {
		id, err := adapter(t, "ocean", cloudtest.Canned(body), guard.NewSecret("k")).Identity(at(t))
		if id.ID != want || want == "" && !errors.Is(err, guard.ErrBadReply) || want != "" && (err != nil || !id.Strong) {
			t.Errorf("%s: %+v, %v, want %q", body, id, err, want)
		}
	}
}

func TestHere(t *testing.T) {
	files := func(of map[string]string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			text, ok := of[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
	}
	const vendor, serial, cloudInit = "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_serial", "/var/lib/cloud/data/instance-id"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nowhere":           {nil, ""},
		"on another cloud":  {map[string]string{vendor: "Amazon EC2\n", serial: "123\n"}, ""},
		"as root":           {map[string]string{vendor: "DigitalOcean\n", serial: "3164444\n"}, "3164444"},
		"as somebody":       {map[string]string{vendor: "DigitalOcean\n", cloudInit: "3164444\n"}, "3164444"},
		"with odd contents": {map[string]string{vendor: "DigitalOcean\n", serial: "Not Specified", cloudInit: "i-1"}, ""},
	} {
		if got := here(files(c.files)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBalance(t *testing.T) {
	for owed, want := range map[string]string{`"23.44"`: "-23.44 USD", `"-200.00"`: "200.00 USD", `"0.00"`: "0.00 USD", `23.44`: "", `""`: "", `"many"`: "", `null`: ""} {
		b, err := adapter(t, "ocean", cloudtest.Canned(`{"month_to_date_balance":`+owed+`,"generated_at":"2026-03-10T11:00:00Z"}`), guard.NewSecret("k")).Balance(at(t))
		if want == "" && !errors.Is(err, guard.ErrBadReply) || want != "" && (err != nil || b.Amount.String() != want || !b.At.Equal(noon.Wall.Add(-time.Hour))) {
			t.Errorf("%s: %+v, %v, want %q", owed, b, err, want)
		}
	}
	p, err := New(Options{Name: "ocean", Config: Config{Token: guard.NewSecret("k")}, Base: cloudtest.Canned(`{"month_to_date_balance":"23.44"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.Balance(at(t)); !errors.Is(err, guard.ErrUnsupported) {
		t.Errorf("of an account that is sent invoices: %+v, %v", b, err)
	}
}

func TestConfig(t *testing.T) {
	token := guard.NewSecret("k")
	for endpoint, want := range map[string]bool{"": true, "https://api.example.com/v2": true, "http://127.0.0.1:4010": true,
		"api.example.com": false, "ftp://x": false, "https://u:p@x": false, "https://x/?k=1": false} {
		problems := 0
		c := Config{Token: token, Endpoint: endpoint}
		c.Check(func(string, string) { problems++ })
		if (problems == 0) != want {
			t.Errorf("endpoint %q: %d problems", endpoint, problems)
		}
	}
	var keys []string
	(&Config{}).Check(func(k, _ string) { keys = append(keys, k) })
	if fmt.Sprint(keys) != "[token]" {
		t.Errorf("without a token: %v", keys)
	}
	for name, o := range map[string]Options{"a token": {Name: "a"}, "a name": {Config: Config{Token: token}}, "a URL": {Name: "a", Config: Config{Token: token, Endpoint: "http://%zz"}}} {
		if p, err := New(o); !errors.Is(err, guard.ErrInvalid) {
			t.Errorf("New without %s: %v, %v", name, p, err)
		}
	}
	for _, endpoint := range []string{"", "https://api.digitalocean.com/v2/", "https://api.digitalocean.com"} {
		p, err := New(Options{Name: "a", Config: Config{Token: token, Endpoint: endpoint}})
		if err != nil || p.api.BaseURL.String() != "https://api.digitalocean.com/" {
			t.Errorf("%q: %v, %v", endpoint, p, err)
		}
	}
}

// TestWhatIsSwept: what is not declared to be left is never listed.
func TestWhatIsSwept(t *testing.T) {
	leaves := adapter(t, "ocean", nil, guard.NewSecret("k")).Truths().DeleteLeaves
	for _, kind := range kinds[1:] {
		if !slices.Contains(leaves, kind) {
			t.Errorf("no %s is swept: %v", kind, leaves)
		}
	}
}

func TestFind(t *testing.T) {
	env := func(of map[string]string) func(string) (string, bool) {
		return func(k string) (string, bool) { v, ok := of[k]; return v, ok }
	}
	if got := Find(env(nil)); got != nil {
		t.Errorf("nowhere: %+v", got)
	}
	got := Find(env(map[string]string{"DIGITALOCEAN_ACCESS_TOKEN": providertest.Secret, "DIGITALOCEAN_TOKEN": providertest.Secret}))
	if len(got) != 2 || got[1].Section != "{token: {env: DIGITALOCEAN_TOKEN}}" || strings.Contains(fmt.Sprint(got), providertest.Secret) {
		t.Errorf("%+v", got)
	}
}
