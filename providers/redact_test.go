package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"guard"
)

const canary = "cAnArY-7f3a9"

// Whatever goes wrong, none of the places a secret can be in may reach an error.
func TestNoSecretInErrors(t *testing.T) {
	text := `{"error":"` + canary + `","token":"` + canary + `"}`
	replies := map[string]func(*http.Request) (*http.Response, error){
		"time-out":      fails(fmt.Errorf("proxy %s: %w", canary, timeoutErr{})),
		"url error":     fails(&url.Error{Op: "Post", URL: "http://u:" + canary + "@h/?k=" + canary, Err: errors.New(canary)}),
		"403":           reply(403, text, "X-Token", canary),
		"429":           reply(429, text, "Retry-After", canary),
		"500":           reply(500, text),
		"HTML":          reply(200, "<html>"+canary, "Content-Type", "text/html"),
		"cut JSON":      reply(200, `{"`+canary),
		"another shape": reply(200, `{"ok":"`+canary+`"}`),
		"redirect":      reply(302, text, "Location", "http://"+canary+".invalid/"+canary),
		"bad redirect":  reply(302, text, "Location", "http://h/%zz"+canary),
	}
	for name, r := range replies {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			api, _ := over(r)
			api.Base = "http://user:" + canary + "@cloud.invalid"
			api.Sign = func(r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+canary)
				return nil
			}
			err := api.Call(t.Context(), method, url.Values{"api_key": {canary}}, map[string]string{"k": canary}, &thing{}, canary)
			if err == nil {
				t.Errorf("%s %s: no error", method, name)
				continue
			}
			if method == http.MethodPost && name == "bad redirect" && !errors.Is(err, guard.ErrUncertain) {
				t.Errorf("a write that was sent: %v", err)
			}
			for e := range chain(err) {
				if strings.Contains(fmt.Sprintf("%v %+v %q", e, e, e), canary) {
					t.Errorf("%s %s: %v", method, name, e)
				}
			}
			if !strings.Contains(err.Error(), "cloud.invalid") {
				t.Errorf("%s %s: no host in %v", method, name, err)
			}
		}
	}
	t.Run("bad endpoint", func(t *testing.T) {
		api, _ := over(reply(200, good))
		api.Base = "http://%zz" + canary
		if err := api.Get(t.Context(), nil, nil); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("err = %v", err)
		}
	})
}

// chain walks everything that errors.As could reach.
func chain(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		var walk func(error) bool
		walk = func(e error) bool {
			if e == nil {
				return true
			}
			if !yield(e) {
				return false
			}
			switch u := e.(type) {
			case interface{ Unwrap() error }:
				return walk(u.Unwrap())
			case interface{ Unwrap() []error }:
				for _, x := range u.Unwrap() {
					if !walk(x) {
						return false
					}
				}
			}
			return true
		}
		walk(err)
	}
}

func TestRedact(t *testing.T) {
	if Redact(nil) != nil {
		t.Error("nil became an error")
	}
	secret := guard.NewSecret("hunter2!")
	in := &url.Error{Op: "Get", URL: "https://u:pw9@api.example.com/bot12345/x?sig=abc#f", Err: fmt.Errorf("hunter2!: %w: %w", guard.ErrThrottled, context.Canceled)}
	err := Redact(fmt.Errorf("list: %w", in), secret)
	for _, no := range []string{"hunter2", "pw9", "bot12345", "abc"} {
		if strings.Contains(err.Error(), no) {
			t.Errorf("%q in %v", no, err)
		}
	}
	if !strings.Contains(err.Error(), "https://api.example.com") || !errors.Is(err, guard.ErrThrottled) || !errors.Is(err, context.Canceled) {
		t.Errorf("lost too much: %v", err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		t.Error("the URL can still be reached")
	}
	if d, ok := guard.RetryAfter(Redact(&guard.RetryError{Err: in, After: 5})); !ok || d != 5 {
		t.Error("the wait is lost")
	}
}

func TestScrub(t *testing.T) {
	for _, s := range []string{
		"Authorization: Bearer S3CR3T", `{"api_key":"S3CR3T"}`, "x-api-key=S3CR3T&y=1", "token S3CR3T-is: bearer S3CR3T", "password: S3CR3T",
		"AKIAS3CR3TS3CR3TS3CR", "xoxb-S3CR3T123", "https://S3CR3T@h", "https://h/p?X-Amz-Signature=S3CR3T", "eyJhbGciOiS3CR3T.e30.S3CR3T",
		"message: " + strings.Repeat("S3CR3T", 20),
	} {
		if out := Scrub(strings.Replace(s, "token S3CR3T-is: ", "", 1)); strings.Contains(out, "S3CR3T") {
			t.Errorf("%q became %q", s, out)
		}
	}
	const plain = "api error UnauthorizedOperation: You are not authorized to perform this operation on i-0123456789abcdef0"
	if out := Scrub(plain); out != plain {
		t.Errorf("plain text became %q", out)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"trainer": "trainer", "a\nb\x00c": "a b c", "日本語テキストです": "日本語テキスト…", strings.Repeat("é", 1000): "ééééééé…", "a\u202eb": "a b", "x\xffy": "x y",
	} {
		if got := Text(in, 8); got != want {
			t.Errorf("Text(%.20q) = %q, want %q", in, got, want)
		}
	}
}
