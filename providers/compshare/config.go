package compshare

import (
	"guard"
	"guard/providers"
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
	providers.CheckSecret(report, "public_key", c.PublicKey, publicEnv)
	providers.CheckSecret(report, "private_key", c.PrivateKey, privateEnv)
	providers.CheckEndpoint(report, c.Endpoint, endpoint)
}

// Where CompShare's own tool looks for keys.
const (
	publicEnv  = "COMPSHARE_PUBLIC_KEY"
	privateEnv = "COMPSHARE_PRIVATE_KEY"
)

// Find looks where CompShare's own tool looks first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []providers.Found {
	public, _ := env(publicEnv)
	private, _ := env(privateEnv)
	if public == "" || private == "" {
		return nil
	}
	return []providers.Found{{Name: Kind, Source: "keys in the environment (" + publicEnv + ", " + privateEnv + ")",
		Section: "{public_key: {env: " + publicEnv + "}, private_key: {env: " + privateEnv + "}}",
		Note:    "guardd needs both variables in its own environment, too"}}
}
