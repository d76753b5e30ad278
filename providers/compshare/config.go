package compshare

import (
	"net/url"

	"guard"
)

// Config is the `compshare:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// PublicKey and PrivateKey are the pair of the console's API management. Keys of UCloud's
	// own site are not known here.
	PublicKey  guard.Secret `yaml:"public_key"`
	PrivateKey guard.Secret `yaml:"private_key"`
	// Project is the one to watch; "" is the default one. A sub-account has to name it.
	Project string `yaml:"project"`
	// Endpoint stands in for https://api.compshare.cn.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !c.PublicKey.IsSet() {
		report("public_key", "it is missing: write public_key: {env: "+publicEnv+"}, or {file: PATH}")
	}
	if !c.PrivateKey.IsSet() {
		report("private_key", "it is missing: write private_key: {env: "+privateEnv+"}, or {file: PATH}")
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
	Section string // the account's `compshare:` section that uses it, in YAML's flow form
	Note    string // what whoever uses it has to know
}

// Where CompShare's own tool looks for keys.
const (
	publicEnv  = "COMPSHARE_PUBLIC_KEY"
	privateEnv = "COMPSHARE_PRIVATE_KEY"
)

// Find looks where CompShare's own tool looks first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []Found {
	public, _ := env(publicEnv)
	private, _ := env(privateEnv)
	if public == "" || private == "" {
		return nil
	}
	return []Found{{Name: Kind, Source: "keys in the environment (" + publicEnv + ", " + privateEnv + ")",
		Section: "{public_key: {env: " + publicEnv + "}, private_key: {env: " + privateEnv + "}}",
		Note:    "guardd needs both variables in its own environment, too"}}
}
