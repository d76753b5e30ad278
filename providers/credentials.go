package providers

import (
	"net"
	"net/url"
	"strings"

	"guard"
)

// Found is one set of credentials that lies ready on this machine.
type Found struct {
	Name    string // what an account with it may be called
	Source  string // where it was found, for people; no secret is in it
	Section string // the provider's section of an account that uses it, YAML in flow form
	Note    string // what whoever uses it has to know; "" where there is nothing
}

// FindEnv is the key or token that a variable of the environment holds, for the field of a
// provider's section: none or one. env is os.LookupEnv. It keeps no secret.
func FindEnv(env func(string) (string, bool), variable, kind, field string) []Found {
	if v, _ := env(variable); v == "" {
		return nil
	}
	return []Found{{Name: kind, Source: variable + " in the environment",
		Section: "{" + field + ": {env: " + variable + "}}",
		Note:    "guardd needs " + variable + " in its own environment, too"}}
}

// CheckSecret reports a secret that a configuration lacks; variable is one that may hold it.
func CheckSecret(report func(key, problem string), key string, s guard.Secret, variable string) {
	if !s.IsSet() {
		report(key, "it is missing: write "+key+": {env: "+variable+"}, or {file: PATH}")
	}
}

// CheckEndpoint reports an `endpoint:` that is none, or at which everybody on the way could
// read the credentials; "" stands for the provider's own, which is the example.
func CheckEndpoint(report func(key, problem string), endpoint, example string) {
	switch u, err := url.Parse(endpoint); {
	case endpoint == "":
	case err != nil || !IsEndpoint(endpoint):
		report("endpoint", "write a URL such as "+example+", without user, password or query")
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		report("endpoint", "write https:// (http:// is for this machine only), for the credentials go there")
	}
}

// IsEndpoint reports whether a text is the URL of an API, without user, password or query.
func IsEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// ContainerEnv looks up a variable as the container has it that this runs in: a service or a
// login over SSH does not have what the cloud gave the container, its first process does. env
// is os.Getenv, and comes first; read is os.ReadFile.
func ContainerEnv(env func(string) string, read func(string) ([]byte, error)) func(string) string {
	first := map[string]string{}
	b, _ := read("/proc/1/environ") // what cannot be read tells nothing
	for kv := range strings.SplitSeq(string(b), "\x00") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			first[k] = v
		}
	}
	return func(name string) string {
		if v := env(name); v != "" {
			return v
		}
		return first[name]
	}
}
