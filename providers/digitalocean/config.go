package digitalocean

import (
	"guard"
	"guard/providers"
)

// Config is the `digitalocean:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// Token is a personal access token with leave to read account, droplets, images,
	// volumes, snapshots, reserved IPs, tags, Dedicated Inference, regions and NFS, and to
	// delete and tag what guard may end, nodes of Kubernetes among it; with billing:read also
	// to read what DigitalOcean charges.
	Token guard.Secret `yaml:"token"`
	// Prepaid: the account pays ahead or has credit, whose rest is watched.
	Prepaid bool `yaml:"prepaid"`
	// Endpoint stands in for https://api.digitalocean.com.
	Endpoint string `yaml:"endpoint"`
}

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	providers.CheckSecret(report, "token", c.Token, tokenEnvs[0])
	providers.CheckEndpoint(report, c.Endpoint, server)
}

// tokenEnvs are where DigitalOcean's own tools look for a token: doctl, then Terraform.
var tokenEnvs = []string{"DIGITALOCEAN_ACCESS_TOKEN", "DIGITALOCEAN_TOKEN"}

// Find looks where DigitalOcean's own tools do; env is os.LookupEnv.
func Find(env func(string) (string, bool)) []providers.Found {
	var out []providers.Found
	for _, name := range tokenEnvs {
		out = append(out, providers.FindEnv(env, name, Kind, "token")...)
	}
	return out
}
