package aws

import (
	"regexp"
	"slices"

	"guard"
	"guard/providers"
)

// Config is the `aws:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// Profile of ~/.aws/config; empty is the SDK's default chain.
	Profile string `yaml:"profile"`
	// Regions to watch; empty or [all] is every region enabled in the account.
	Regions []string `yaml:"regions"`
	// Endpoint stands in for those of EC2, Auto Scaling, STS and CloudWatch, in every region.
	Endpoint string `yaml:"endpoint"`
	// IMDS lets the SDK take the role of the EC2 instance that guard runs on.
	IMDS bool `yaml:"imds"`
	// CloudWatch is what is read of how hard instances work.
	CloudWatch CloudWatch `yaml:"cloudwatch"`
	// Keys in place of a profile; a session token goes with temporary ones.
	AccessKeyID     guard.Secret `yaml:"access_key_id"`
	SecretAccessKey guard.Secret `yaml:"secret_access_key"`
	SessionToken    guard.Secret `yaml:"session_token"`
}

const allRegions = "all"

// regionName is the form of a region's name; an unknown one of that form is
// EC2's to refuse, for regions are added.
var regionName = regexp.MustCompile(`^[a-z]{2,6}(-[a-z]{2,12}){1,3}-\d{1,2}$`)

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	for i, r := range c.Regions {
		switch {
		case r != allRegions && !regionName.MatchString(r):
			report("regions", "one of them is not the name of a region, such as us-east-1, nor all")
		case slices.Contains(c.Regions[:i], r):
			report("regions", r+" stands twice")
		}
	}
	if len(c.Regions) > 1 && slices.Contains(c.Regions, allRegions) {
		report("regions", "all stands alone, or the regions are listed")
	}
	providers.CheckEndpoint(report, c.Endpoint, "https://ec2.example.com")
	if c.CloudWatch.Off && c.CloudWatch.Agent {
		report("cloudwatch", "off and agent exclude each other")
	}
	switch {
	case c.AccessKeyID.IsSet() != c.SecretAccessKey.IsSet(), c.SessionToken.IsSet() && !c.AccessKeyID.IsSet():
		report("access_key_id", "access_key_id and secret_access_key come together (and session_token with both), or leave them out and use profile")
	case c.AccessKeyID.IsSet() && c.Profile != "":
		report("profile", "profile and access_key_id both say which credentials to use: keep one")
	}
}

func (c Config) listed() []string {
	if slices.Contains(c.Regions, allRegions) {
		return nil
	}
	return c.Regions
}

func (c Config) secrets() []guard.Secret {
	return []guard.Secret{c.AccessKeyID, c.SecretAccessKey, c.SessionToken}
}
