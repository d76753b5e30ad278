package aws

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/goccy/go-yaml/ast"

	"guard"
)

// Config is the `aws:` section of an account.
type Config struct {
	// Profile of ~/.aws/config; empty is the SDK's default chain.
	Profile string
	// Regions to watch; empty or "all" is every region enabled in the account.
	Regions []string
	// Endpoint stands in for those of EC2 and STS, in every region.
	Endpoint string
	// IMDS lets the SDK take the role of the EC2 instance that guard runs on.
	IMDS bool
	// Keys in place of a profile: where to read them, not what they are.
	AccessKeyID, SecretAccessKey, SessionToken SecretRef
}

// SecretRef is where a secret is kept.
type SecretRef struct{ Env, File string }

// IsSet reports whether a place is named.
func (s SecretRef) IsSet() bool { return s.Env != "" || s.File != "" }

// read fetches the secret; what is wrong is told without showing it.
func (s SecretRef) read() (guard.Secret, error) {
	if s.Env != "" {
		v := strings.TrimSpace(os.Getenv(s.Env))
		if v == "" {
			return guard.Secret{}, fmt.Errorf("%w: the variable %s is not set or empty", guard.ErrInvalid, s.Env)
		}
		return guard.NewSecret(v), nil
	}
	b, err := os.ReadFile(s.File)
	if err != nil {
		return guard.Secret{}, fmt.Errorf("%w: %w", guard.ErrInvalid, err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return guard.Secret{}, fmt.Errorf("%w: the file %s is empty", guard.ErrInvalid, s.File)
	}
	return guard.NewSecret(v), nil
}

func (c Config) allRegions() bool {
	return len(c.Regions) == 0 || slices.Contains(c.Regions, "all")
}

// credentials reads the configured keys; nil where there are none.
func (c Config) credentials(account string) ([]guard.Secret, *sdkcredentials.StaticCredentialsProvider, error) {
	if !c.AccessKeyID.IsSet() {
		return nil, nil, nil
	}
	var out [3]guard.Secret
	for i, ref := range []SecretRef{c.AccessKeyID, c.SecretAccessKey, c.SessionToken} {
		if !ref.IsSet() {
			continue
		}
		var err error
		if out[i], err = ref.read(); err != nil {
			return nil, nil, fmt.Errorf("account %s: read the AWS keys: %w", account, err)
		}
	}
	p := sdkcredentials.NewStaticCredentialsProvider(out[0].Reveal(), out[1].Reveal(), out[2].Reveal())
	return out[:], &p, nil
}

// Problem is one mistake in the section; Line counts in the file that the
// section stands in.
type Problem struct {
	Line int
	Text string
}

// Error is the text with its line.
func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Unwrap makes it guard.ErrInvalid.
func (p *Problem) Unwrap() error { return guard.ErrInvalid }

// Decode reads the section. Every mistake is reported at once: the error joins
// one *Problem for each. A nil section is an empty one.
func Decode(section ast.Node) (Config, error) {
	d := &decoder{}
	c := d.config(section)
	return c, errors.Join(d.problems...)
}

type decoder struct{ problems []error }

func (d *decoder) problem(n ast.Node, format string, args ...any) {
	line := 0
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	d.problems = append(d.problems, &Problem{line, fmt.Sprintf(format, args...)})
}

var regionName = regexp.MustCompile(`^[a-z]{2,6}(-[a-z]{2,12}){1,3}-\d{1,2}$`)

func (d *decoder) config(n ast.Node) Config {
	var c Config
	if n == nil || n.Type() == ast.NullType {
		return c
	}
	fields := d.fields(n, "aws", "profile", "regions", "endpoint", "imds", "access_key_id", "secret_access_key", "session_token")
	for _, f := range fields {
		switch f.Key.GetToken().Value {
		case "profile":
			c.Profile = d.text(f.Value, "profile")
		case "regions":
			c.Regions = d.regions(f.Value)
		case "endpoint":
			c.Endpoint = d.endpoint(f.Value)
		case "imds":
			b, ok := f.Value.(*ast.BoolNode)
			if !ok {
				d.problem(f.Value, "imds is true or false: whether guard may take the role of the EC2 instance it runs on")
				continue
			}
			c.IMDS = b.Value
		case "access_key_id":
			c.AccessKeyID = d.secret(f.Value, "access_key_id")
		case "secret_access_key":
			c.SecretAccessKey = d.secret(f.Value, "secret_access_key")
		case "session_token":
			c.SessionToken = d.secret(f.Value, "session_token")
		}
	}
	if len(d.problems) > 0 {
		return c
	}
	if c.AccessKeyID.IsSet() != c.SecretAccessKey.IsSet() || c.SessionToken.IsSet() && !c.AccessKeyID.IsSet() {
		d.problem(n, "access_key_id and secret_access_key come together (session_token with both), or leave them all out and use profile")
	}
	if c.AccessKeyID.IsSet() && c.Profile != "" {
		d.problem(n, "profile and access_key_id both say which credentials to use: keep one")
	}
	return c
}

func (d *decoder) fields(n ast.Node, name string, known ...string) []*ast.MappingValueNode {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		d.problem(n, "%s is written as keys and values (%s)", name, strings.Join(known, ", "))
		return nil
	}
	var out []*ast.MappingValueNode
	for _, p := range pairs {
		if k := p.Key.GetToken().Value; !slices.Contains(known, k) {
			d.problem(p.Key, "%s has no key %q: it knows %s", name, k, strings.Join(known, ", "))
		} else if p.Value != nil && p.Value.Type() != ast.NullType {
			out = append(out, p)
		}
	}
	return out
}

func (d *decoder) text(n ast.Node, name string) string {
	s, ok := n.(*ast.StringNode)
	if !ok {
		d.problem(n, "%s is text", name)
		return ""
	}
	return strings.TrimSpace(s.Value)
}

func (d *decoder) regions(n ast.Node) []string {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.problem(n, "regions is a list, such as [all] or [us-east-1, eu-west-1]")
		return nil
	}
	var out []string
	for _, v := range list.Values {
		r := d.text(v, "a region")
		switch {
		case r == "":
		case r != "all" && !regionName.MatchString(r):
			d.problem(v, "%q is not the name of a region, such as us-east-1", r)
		case slices.Contains(out, r):
			d.problem(v, "region %s stands twice", r)
		default:
			out = append(out, r)
		}
	}
	if len(out) > 1 && slices.Contains(out, "all") {
		d.problem(n, "regions: all stands alone, or the regions are listed")
	}
	return out
}

func (d *decoder) endpoint(n ast.Node) string {
	s := d.text(n, "endpoint")
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || (u.Scheme != "http" && u.Scheme != "https") {
		d.problem(n, "endpoint is a URL such as https://ec2.example.com, without user, password or query")
		return ""
	}
	return s
}

func (d *decoder) secret(n ast.Node, name string) SecretRef {
	if _, plain := n.(ast.ScalarNode); plain {
		d.problem(n, "%s is never written here: write {env: NAME} or {file: PATH}", name)
		return SecretRef{}
	}
	var s SecretRef
	for _, f := range d.fields(n, name, "env", "file") {
		if f.Key.GetToken().Value == "env" {
			s.Env = d.text(f.Value, name+".env")
		} else {
			s.File = d.text(f.Value, name+".file")
		}
	}
	if (s.Env == "") == (s.File == "") {
		d.problem(n, "%s is one of {env: NAME} and {file: PATH}", name)
	}
	return s
}
