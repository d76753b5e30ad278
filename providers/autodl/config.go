package autodl

import (
	"guard"
	"guard/providers"
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
	providers.CheckSecret(report, "token", c.Token, tokenEnv)
	providers.CheckEndpoint(report, c.Endpoint, endpoint)
}

// tokenEnv is where tools look for a token; AutoDL itself has none.
const tokenEnv = "AUTODL_TOKEN"

// Find looks where tools of others look first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []providers.Found {
	return providers.FindEnv(env, tokenEnv, Kind, "token")
}
