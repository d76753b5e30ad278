package vast

import (
	"os"
	"path/filepath"
	"strconv"

	"guard"
	"guard/providers"
)

// Config is the `vast:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// APIKey is a key with the permissions instance_read, user_read and billing_read, and
	// to act with instance_write; without constraints, which could hide instances.
	APIKey guard.Secret `yaml:"api_key"`
	// Endpoint stands in for https://console.vast.ai.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	providers.CheckSecret(report, "api_key", c.APIKey, keyEnv)
	providers.CheckEndpoint(report, c.Endpoint, endpoint)
}

// keyEnv and keyFile are where the CLI looks for a key, the latter below the folder of
// configurations.
const (
	keyEnv  = "VAST_API_KEY"
	keyFile = "vastai/vast_api_key"
)

// Find looks where the CLI looks; env is os.LookupEnv. It reads no key.
func Find(env func(string) (string, bool)) []providers.Found {
	out := providers.FindEnv(env, keyEnv, Kind, "api_key")
	if len(out) > 0 && here(func(k string) string { v, _ := env(k); return v }) != "" {
		out[0].Note += "; the one that Vast puts into an instance is that instance's own and may see nothing else"
	}
	dir, _ := env("XDG_CONFIG_HOME")
	if home, _ := env("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	path := filepath.Join(dir, keyFile)
	if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		out = append(out, providers.Found{Name: Kind, Source: "the key of vastai (" + providers.Text(path, 200) + ")",
			Section: "{api_key: {file: " + strconv.Quote(path) + "}}", Note: "guardd must be able to read " + providers.Text(path, 200)})
	}
	return out
}
