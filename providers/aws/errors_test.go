package aws

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"guard"
	"guard/providers"
)

// No error shows what was signed with, whatever the other side sends back.
func TestNoSecretInAnyError(t *testing.T) {
	leak := "The Canonical String for this request should have been 'POST / x-amz-security-token:" + canaryToken + " " + canarySecret + " " + canaryKey + "'"
	for name, a := range map[string]answer{
		"signature":      refuse(403, "SignatureDoesNotMatch", leak),
		"not authorised": refuse(403, "UnauthorizedOperation", leak),
		"invalid":        refuse(400, "InvalidParameterValue", leak),
		"not found":      refuse(400, "InvalidInstanceID.NotFound", leak),
		"a code of it":   refuse(400, "Odd"+canaryToken, leak),
		"HTML":           {status: 403, body: "<html>" + leak + "</html>"},
		"success":        ok(leak),
		"broken XML":     {status: 500, body: "<Response><" + leak},
		"network":        {err: errors.New(leak)},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			for _, action := range []string{
				"GetCallerIdentity", "DescribeRegions", "DescribeInstances", "DescribeVolumes", "TerminateInstances", "DeleteVolume",
				"StopInstances", "CreateTags", "DescribeInstanceAttribute", "ModifyInstanceAttribute", "DescribeInstanceTypes",
			} {
				c.on(action, a)
			}
			p := c.adapter()
			ctx := t.Context()
			p.spot[idA] = "" // known, so that the terminate call itself is made
			var errs []error
			add := func(err error) { errs = append(errs, err) }
			_, err := p.Identity(ctx)
			add(err)
			_, err = p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance}})
			add(err)
			inv, _ := p.List(ctx, providers.Query{Kinds: []guard.Kind{guard.Instance, guard.Volume}, Scopes: []string{"us-east-1"}})
			for _, r := range inv.Results {
				add(r.Err)
			}
			for _, l := range p.Get(ctx, iid(idA), vid("vol-0aaaaaaaaaaaaaaaa")) {
				add(l.Err)
			}
			add(p.Release(ctx, iid(idA), none))
			add(p.Release(ctx, vid("vol-0aaaaaaaaaaaaaaaa"), none))
			add(p.Stop(ctx, iid(idA)))
			add(p.Tag(ctx, iid(idA), map[string]string{"a": "b"}))
			_, err = p.Protection(ctx, iid(idA))
			add(err)
			add(p.Unprotect(ctx, iid(idA)))
			for _, err := range errs {
				if err == nil {
					continue // not found is no error of a read by ID or a release
				}
				text := fmt.Sprintf("%v|%+v|%q|%#v", err, err, err, err)
				for _, secret := range []string{canaryKey, canarySecret, canaryToken} {
					if strings.Contains(text, secret) {
						t.Errorf("leaks: %s", text)
					}
				}
				if !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }) {
					t.Errorf("no kind: %v", err)
				}
			}
		})
	}
}

var kinds = []error{
	guard.ErrInvalid, guard.ErrNotFound, guard.ErrConflict, guard.ErrPermission, guard.ErrProtected, guard.ErrThrottled,
	guard.ErrUnavailable, guard.ErrUncertain, guard.ErrBadReply, guard.ErrUnsupported,
}

// Each code has a kind that the table of sentences knows.
func TestEveryCodeHasASentence(t *testing.T) {
	for code, kind := range codes {
		if says[kind] == "" || !slices.Contains(kinds, kind) {
			t.Errorf("%s is %v, which has no sentence", code, kind)
		}
		if kindOfCode("Client."+code) != kind {
			t.Errorf("Client.%s is something else", code)
		}
	}
	if k := kindOfCode("Anything.NotFound"); !errors.Is(k, guard.ErrNotFound) {
		t.Errorf("got %v", k)
	}
	if k := kindOfCode("SomethingNew"); k != nil {
		t.Errorf("a code nobody knows is %v", k)
	}
}

func TestIdentity(t *testing.T) {
	sts := func(account string) answer {
		return ok(`<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/guard</Arn><UserId>AIDA</UserId><Account>` + account + `</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	}
	c := newCloud(t).on("GetCallerIdentity", sts("123456789012"))
	id, err := c.adapter("eu-west-1").Identity(t.Context())
	if err != nil || id.ID != "123456789012" || !id.Strong {
		t.Errorf("%+v, %v", id, err)
	}
	if c.made("GetCallerIdentity", "eu-west-1") != 1 {
		t.Errorf("a region that is not configured was asked: %+v", c.calls)
	}
	for name, a := range map[string]answer{
		"no account": sts(""), "a name": sts("acme"), "empty": ok(""), "HTML": ok("<html></html>"),
		"refused": refuse(403, "InvalidClientTokenId", "no"), "down": refuse(503, "ServiceUnavailable", "no"),
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := newCloud(t).on("GetCallerIdentity", a).adapter().Identity(t.Context()); err == nil {
				t.Errorf("got %+v", id)
			}
		})
	}
}

// Without keys nothing is signed and nothing sent, and IMDS is left alone.
func TestNoCredentials(t *testing.T) {
	c := newCloud(t)
	c.adapter() // for the environment
	for _, v := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(v, "")
	}
	p, err := New(t.Context(), Options{Name: "research", Base: c})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Identity(t.Context())
	if !errors.Is(err, guard.ErrPermission) || !strings.Contains(err.Error(), "no usable AWS credentials") {
		t.Errorf("got %v", err)
	}
	if len(c.calls) != 0 {
		t.Errorf("calls: %v", c.order())
	}
}

// AWS_CA_BUNDLE, which SDK and HTTP client have been known to quarrel about,
// neither breaks the construction nor is it forgotten.
func TestCABundle(t *testing.T) {
	newCloud(t).adapter()
	t.Setenv("AWS_ACCESS_KEY_ID", canaryKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", canarySecret)
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte(someCA), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", path)
	if _, err := New(t.Context(), Options{Name: "research"}); err != nil {
		t.Errorf("got %v", err)
	}
	t.Setenv("AWS_CA_BUNDLE", path+".missing")
	if _, err := New(t.Context(), Options{Name: "research"}); !errors.Is(err, guard.ErrInvalid) {
		t.Errorf("a bundle that is missing must be told: %v", err)
	}
}

func TestUnknownProfile(t *testing.T) {
	newCloud(t).adapter()
	_, err := New(t.Context(), Options{Name: "research", Config: Config{Profile: "nobody"}})
	if !errors.Is(err, guard.ErrInvalid) || !strings.Contains(err.Error(), "research") {
		t.Errorf("got %v", err)
	}
}

func TestConfigCheck(t *testing.T) {
	secret := guard.NewSecret("x")
	for name, c := range map[string]struct {
		config Config
		want   string // key and part of the text; "" is no problem
	}{
		"nothing":              {Config{}, ""},
		"the reference":        {Config{Profile: "guard", Regions: []string{"all"}}, ""},
		"keys":                 {Config{AccessKeyID: secret, SecretAccessKey: secret}, ""},
		"a list":               {Config{Regions: []string{"us-east-1", "us-gov-west-1"}, Endpoint: "http://127.0.0.1:5055", IMDS: true}, ""},
		"all and one":          {Config{Regions: []string{"all", "us-east-1"}}, "regions: all stands alone"},
		"twice":                {Config{Regions: []string{"us-east-1", "us-east-1"}}, "regions: us-east-1 stands twice"},
		"no region":            {Config{Regions: []string{"mars"}}, "regions: one of them is not the name"},
		"a host":               {Config{Endpoint: "ec2.example.com"}, "endpoint: write a URL"},
		"a password":           {Config{Endpoint: "https://me:pw@example"}, "endpoint: write a URL"},
		"half a key":           {Config{AccessKeyID: secret}, "access_key_id: access_key_id and secret"},
		"only a session":       {Config{SessionToken: secret}, "access_key_id: access_key_id and secret"},
		"keys and a profile":   {Config{Profile: "p", AccessKeyID: secret, SecretAccessKey: secret}, "profile: profile and access_key_id"},
		"a key as its own URL": {Config{Endpoint: "https://example/?key=1"}, "endpoint: write a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			c.config.Check(func(key, text string) { got = append(got, key+": "+text) })
			if all := strings.Join(got, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("got %q, want %q", all, c.want)
			}
		})
	}
}

// someCA is a self-signed certificate whose key nobody has.
const someCA = `-----BEGIN CERTIFICATE-----
MIIBgjCCASegAwIBAgIUbQNH+qs0/1dQizkXSkJKQGTlNtMwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZ3VhcmQtdGVzdDAgFw0yNjExMzAwMzU3NTVaGA8yMTI2MTEw
NjAzNTc1NVowFTETMBEGA1UEAwwKZ3VhcmQtdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABC7Q3fpn6g3540HaFo0UbUQSjjq4O/LbTWdFaxen36apGLFk3B+T
KFcvYrxu82hNntSaLh8Gxyd8Sd8ZSU7SwEmjUzBRMB0GA1UdDgQWBBTGz3Exk00u
KtM3JkMoafDgXUfamjAfBgNVHSMEGDAWgBTGz3Exk00uKtM3JkMoafDgXUfamjAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDuvrX8mFOcLrwNIEsR
3TiOtqYZfnQWL1Dtuj8R11a7CAIhAPH3+Qxy3cCmcMM0CTj+328l264JlG3AHt6+
o5CMJPZI
-----END CERTIFICATE-----
`
