package runpod

import (
	"net/url"

	"guard"
)

// Config is the `runpod:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// APIKey is a key with leave to read and write pods, serverless endpoints, clusters and
	// network volumes; to watch only, to read them.
	APIKey guard.Secret `yaml:"api_key"`
	// Endpoint stands in for https://api.runpod.io.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.APIKey.IsSet() {
		report("api_key", "it is missing: write api_key: {env: RUNPOD_API_KEY}, or {file: PATH}")
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
	Section string // the account's `runpod:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// keyEnv is where RunPod's own tools look for a key.
const keyEnv = "RUNPOD_API_KEY"

// Find looks where RunPod's own tools look first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []Found {
	if key, _ := env(keyEnv); key == "" {
		return nil
	}
	f := Found{Name: Kind, Source: "a key in the environment (" + keyEnv + ")", Section: "{api_key: {env: " + keyEnv + "}}",
		Note: "guardd needs " + keyEnv + " in its own environment, too"}
	if pod, _ := env(podEnv); pod != "" {
		f.Note += "; the one that RunPod puts into a pod is that pod's own and may see nothing else"
	}
	return []Found{f}
}
