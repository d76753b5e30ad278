package aws

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"

	"guard/providers"
)

const (
	// roleTimeout bounds the question to the metadata service, which off AWS nobody
	// answers.
	roleTimeout = time.Second
	// mostProfiles bounds what is looked at; a laptop of a consultant has dozens.
	mostProfiles = 100
	mostShared   = 1 << 20 // bytes of a shared file
)

// Find looks where the SDK's default chain looks: keys in the environment, the
// profiles of the shared files, the role of the instance that this runs on. It
// reads no secret and calls nobody but the metadata service of this machine; env is
// os.LookupEnv. An endpoint that the environment sets is part of each section, so
// that guard goes on using it.
func Find(ctx context.Context, env func(string) (string, bool)) []providers.Found {
	rest := ", regions: [all]}"
	for _, name := range []string{"AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"} {
		if v, _ := env(name); providers.IsEndpoint(v) {
			rest = ", endpoint: " + quote(v) + rest
			break
		}
	}
	var out []providers.Found
	if key, _ := env("AWS_ACCESS_KEY_ID"); key != "" {
		f := providers.Found{Name: Kind, Source: "keys in the environment (AWS_ACCESS_KEY_ID)",
			Section: "{access_key_id: {env: AWS_ACCESS_KEY_ID}, secret_access_key: {env: AWS_SECRET_ACCESS_KEY}",
			Note:    "guardd needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its own environment, too"}
		if token, _ := env("AWS_SESSION_TOKEN"); token != "" {
			f.Section += ", session_token: {env: AWS_SESSION_TOKEN}"
			f.Note = "they are temporary: when they expire guard is blind; give it a user or a role of its own"
		}
		f.Section += rest
		out = append(out, f)
	}
	for _, p := range profiles(env) {
		name := p
		if p == "default" {
			name = Kind
		}
		out = append(out, providers.Found{Name: name, Source: "the profile " + providers.Text(p, 60), Section: "{profile: " + quote(p) + rest})
	}
	if hasRole(ctx) {
		out = append(out, providers.Found{Name: Kind, Source: "the role of this EC2 instance", Section: "{imds: true" + rest})
	}
	return out
}

// quote is a string that YAML reads as itself.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// profiles are the names in the shared files, the chosen one first.
func profiles(env func(string) (string, bool)) []string {
	home, _ := os.UserHomeDir()
	file := func(variable, name string) string {
		if v, _ := env(variable); v != "" {
			return v
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, ".aws", name)
	}
	names := sections(file("AWS_CONFIG_FILE", "config"), func(head string) (string, bool) {
		if head == "default" {
			return head, true
		}
		return strings.CutPrefix(head, "profile ") // other sections are of sso and services
	})
	names = append(names, sections(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), func(head string) (string, bool) { return head, true })...)
	slices.Sort(names)
	names = slices.Compact(names)
	chosen := "default"
	if v, _ := env("AWS_PROFILE"); v != "" {
		chosen = v
	}
	if i := slices.Index(names, chosen); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, chosen)
	}
	return names[:min(len(names), mostProfiles)]
}

// sections are the names of an INI file's sections. A file that is not there, or is
// no such file, has none.
func sections(path string, name func(head string) (string, bool)) []string {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > mostShared {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var names []string
	for in := bufio.NewScanner(f); in.Scan(); {
		head, ok := strings.CutPrefix(strings.TrimSpace(in.Text()), "[")
		if !ok {
			continue
		}
		head, _, ok = strings.Cut(head, "]")
		if !ok {
			continue
		}
		if n, ok := name(strings.TrimSpace(head)); ok && strings.TrimSpace(n) != "" {
			names = append(names, strings.TrimSpace(n))
		}
	}
	return names
}

// hasRole asks the metadata service whether the instance has a role. The SDK heeds
// AWS_EC2_METADATA_DISABLED.
func hasRole(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}))
	if err != nil {
		return false
	}
	out, err := imds.NewFromConfig(cfg).GetMetadata(ctx, &imds.GetMetadataInput{Path: "iam/security-credentials/"})
	if err != nil {
		return false
	}
	defer out.Content.Close() //nolint:errcheck // nothing is read
	return true
}
