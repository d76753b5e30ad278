package aws

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFind: each way of the SDK's chain is one entry, no secret is in any, and
// files that are no such files are none.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("config", "[default]\nregion = us-east-1\n[profile guard]\nrole_arn = x\n[sso-session corp]\n[services x]\n[profile b\"ad: {x}]\n[profile ]\n[broken\n")
	creds := write("credentials", "[guard]\naws_secret_access_key = "+canarySecret+"\n[batch]\n")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing": {map[string]string{"AWS_CONFIG_FILE": dir, "AWS_SHARED_CREDENTIALS_FILE": dir + "/none"}, nil},
		"keys": {map[string]string{"AWS_CONFIG_FILE": dir, "AWS_SHARED_CREDENTIALS_FILE": dir, "AWS_ACCESS_KEY_ID": canaryKey, "AWS_SECRET_ACCESS_KEY": canarySecret}, []string{
			"aws: keys in the environment (AWS_ACCESS_KEY_ID) {access_key_id: {env: AWS_ACCESS_KEY_ID}, secret_access_key: {env: AWS_SECRET_ACCESS_KEY}, regions: [all]}"}},
		"temporary keys at an endpoint": {map[string]string{"AWS_CONFIG_FILE": dir, "AWS_SHARED_CREDENTIALS_FILE": dir, "AWS_ACCESS_KEY_ID": canaryKey, "AWS_SESSION_TOKEN": canaryToken, "AWS_ENDPOINT_URL": "http://127.0.0.1:5000"}, []string{
			`aws: keys in the environment (AWS_ACCESS_KEY_ID) {access_key_id: {env: AWS_ACCESS_KEY_ID}, secret_access_key: {env: AWS_SECRET_ACCESS_KEY}, session_token: {env: AWS_SESSION_TOKEN}, endpoint: "http://127.0.0.1:5000", regions: [all]}`}},
		"profiles": {map[string]string{"AWS_CONFIG_FILE": config, "AWS_SHARED_CREDENTIALS_FILE": creds, "AWS_PROFILE": "guard", "AWS_ENDPOINT_URL": "not a URL"}, []string{
			`guard: the profile guard {profile: "guard", regions: [all]}`,
			`b"ad: {x}: the profile b"ad: {x} {profile: "b\"ad: {x}", regions: [all]}`,
			`batch: the profile batch {profile: "batch", regions: [all]}`,
			`aws: the profile default {profile: "default", regions: [all]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Find(t.Context(), func(n string) (string, bool) { v, ok := c.env[n]; return v, ok }) {
				got = append(got, f.Name+": "+f.Source+" "+f.Section)
			}
			if a, b := strings.Join(got, "\n"), strings.Join(c.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			if text := strings.Join(got, ""); strings.Contains(text, canaryKey) || strings.Contains(text, canarySecret) || strings.Contains(text, canaryToken) {
				t.Error("a secret is told")
			}
		})
	}
}
