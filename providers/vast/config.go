package vast

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"guard"
	"guard/providers"
)

// Config is the `vast:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// APIKey is a key with the permissions instance_read, user_read and billing_read, and
	// to act with instance_write.
	APIKey guard.Secret `yaml:"api_key"`
	// Endpoint stands in for https://console.vast.ai.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.APIKey.IsSet() {
		report("api_key", "it is missing: write api_key: {env: VAST_API_KEY}, or {file: PATH}")
	}
	if c.Endpoint == "" {
		return
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		report("endpoint", "write a URL such as "+endpoint+", without user, password or query")
	}
}

// Found is one set of credentials that lies ready on this machine.
type Found struct {
	Name    string // what an account with it may be called
	Source  string // where it was found, for people; no secret is in it
	Section string // the account's `vast:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// keyEnv and keyFile are where the CLI looks for a key, the latter below the folder of
// configurations.
const (
	keyEnv  = "VAST_API_KEY"
	keyFile = "vastai/vast_api_key"
)

// Find looks where the CLI looks; env is os.LookupEnv. It reads no key.
func Find(env func(string) (string, bool)) []Found {
	var out []Found
	if key, _ := env(keyEnv); key != "" {
		f := Found{Name: Kind, Source: "a key in the environment (" + keyEnv + ")", Section: "{api_key: {env: " + keyEnv + "}}",
			Note: "guardd needs " + keyEnv + " in its own environment, too"}
		if here(func(k string) string { v, _ := env(k); return v }, func(string) ([]byte, error) { return nil, os.ErrNotExist }) != "" {
			f.Note += "; the one that Vast puts into an instance is that instance's own and may see nothing else"
		}
		out = append(out, f)
	}
	dir, _ := env("XDG_CONFIG_HOME")
	if home, _ := env("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, keyFile)
	if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		out = append(out, Found{Name: Kind, Source: "the key of vastai (" + providers.Text(path, 200) + ")",
			Section: "{api_key: {file: " + strconv.Quote(path) + "}}", Note: "guardd must be able to read " + providers.Text(path, 200)})
	}
	return out
}
