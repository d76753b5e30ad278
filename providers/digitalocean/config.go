package digitalocean

import (
	"net/url"

	"guard"
)

// Config is the `digitalocean:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// Token is a personal access token with leave to read account, droplets, images,
	// volumes, snapshots, reserved IPs and tags, and to delete and tag what guard may end.
	Token guard.Secret `yaml:"token"`
	// Prepaid: the account pays ahead or has credit, whose rest is watched.
	Prepaid bool `yaml:"prepaid"`
	// Endpoint stands in for https://api.digitalocean.com.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.Token.IsSet() {
		report("token", "it is missing: write token: {env: "+tokenEnvs[0]+"}, or {file: PATH}")
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
	Section string // the account's `digitalocean:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// tokenEnvs are where DigitalOcean's own tools look for a token: doctl, then Terraform.
var tokenEnvs = []string{"DIGITALOCEAN_ACCESS_TOKEN", "DIGITALOCEAN_TOKEN"}

// Find looks where DigitalOcean's own tools do; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []Found {
	var out []Found
	for _, name := range tokenEnvs {
		if token, _ := env(name); token != "" {
			out = append(out, Found{Name: Kind, Source: "a token in the environment (" + name + ")", Section: "{token: {env: " + name + "}}",
				Note: "guardd needs " + name + " in its own environment, too"})
		}
	}
	return out
}
