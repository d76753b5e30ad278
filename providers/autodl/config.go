package autodl

import (
	"net/url"

	"guard"
)

// Config is the `autodl:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// Token is the developer token of the console's settings. There is one for everything:
	// it cannot be limited to reading.
	Token guard.Secret `yaml:"token"`
	// Endpoint stands in for https://api.autodl.com.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.Token.IsSet() {
		report("token", "it is missing: write token: {env: "+tokenEnv+"}, or {file: PATH}")
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
	Section string // the account's `autodl:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// tokenEnv is where tools look for a token; AutoDL itself has none.
const tokenEnv = "AUTODL_TOKEN"

// Find looks where tools of others look first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []Found {
	if token, _ := env(tokenEnv); token == "" {
		return nil
	}
	return []Found{{Name: Kind, Source: "a token in the environment (" + tokenEnv + ")", Section: "{token: {env: " + tokenEnv + "}}",
		Note: "guardd needs " + tokenEnv + " in its own environment, too"}}
}
