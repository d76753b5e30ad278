package runpod

import (
	"guard"
	"guard/providers"
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
	providers.CheckSecret(report, "api_key", c.APIKey, keyEnv)
	providers.CheckEndpoint(report, c.Endpoint, endpoint)
}

// keyEnv is where RunPod's own tools look for a key.
const keyEnv = "RUNPOD_API_KEY"

// Find looks where RunPod's own tools look first; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []providers.Found {
	out := providers.FindEnv(env, keyEnv, Kind, "api_key")
	if pod, _ := env(podEnv); pod != "" && len(out) > 0 {
		out[0].Note += "; the one that RunPod puts into a pod is that pod's own and may see nothing else"
	}
	return out
}
