package lambda

import (
	"net/url"

	"guard"
)

// Config is the `lambda:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// APIKey is a key of the account's; Lambda has none that may only read.
	APIKey guard.Secret `yaml:"api_key"`
	// Endpoint stands in for https://cloud.lambda.ai.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.APIKey.IsSet() {
		report("api_key", "it is missing: write api_key: {env: "+keyEnv+"}, or {file: PATH}")
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
	Section string // the account's `lambda:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// keyEnv is where a key is looked for.
const keyEnv = "LAMBDA_API_KEY"

// Find looks for a key in the environment; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []Found {
	if key, _ := env(keyEnv); key == "" {
		return nil
	}
	return []Found{{Name: Kind, Source: "a key in the environment (" + keyEnv + ")", Section: "{api_key: {env: " + keyEnv + "}}",
		Note: "guardd needs " + keyEnv + " in its own environment, too"}}
}
