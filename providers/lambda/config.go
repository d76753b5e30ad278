package lambda

import (
	"guard"
	"guard/providers"
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
	providers.CheckSecret(report, "api_key", c.APIKey, keyEnv)
	providers.CheckEndpoint(report, c.Endpoint, endpoint)
}

// keyEnv is where a key is looked for.
const keyEnv = "LAMBDA_API_KEY"

// Find looks for a key in the environment; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []providers.Found {
	return providers.FindEnv(env, keyEnv, Kind, "api_key")
}
