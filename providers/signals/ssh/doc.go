// Package ssh reads samples through a shell on the machine: nvidia-smi or rocm-smi, and
// the counters of /proc, in one session with one command.
//
// A host whose key is not in known_hosts, or is another one than there, is not talked to
// any further: guard presents no key of its own to it, and believes nothing of it. There
// are no passwords and no questions.
package ssh

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
)

// Kind is the key of the source's section in a configuration.
const Kind = "ssh"

// Config is the section of the source.
type Config struct {
	// User is who logs in; it needs no rights but to run nvidia-smi.
	User string `yaml:"user"`
	// Key holds the private key, in the format of OpenSSH or PEM, without a passphrase.
	Key Key `yaml:"key"`
	// KnownHosts is the path of a file in the format of OpenSSH.
	KnownHosts string `yaml:"known_hosts"`
	// Hosts are the machines' addresses, HOST or HOST:PORT, by ACCOUNT/ID.
	Hosts map[string]string `yaml:"hosts"`
	// Command is run in place of [Command], and prints what that prints.
	Command string `yaml:"command"`
}

// Key says where a private key is.
type Key struct {
	File string `yaml:"file"`
}

var userName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.@-]*$`)

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	if !userName.MatchString(c.User) {
		report("user", "write the name of the user that logs in")
	}
	if c.Key.File == "" {
		report("key", "write {file: PATH}, the private key of the user")
	}
	if c.KnownHosts == "" {
		report("known_hosts", "write the path of a known_hosts file: guard talks to no host whose key it cannot check")
	}
	if len(c.Hosts) == 0 {
		report("hosts", "there are none: write ACCOUNT/ID: HOST:PORT")
	}
	for _, id := range slices.Sorted(maps.Keys(c.Hosts)) {
		if _, err := address(c.Hosts[id]); err != nil {
			report("hosts."+id, err.Error())
		}
	}
}

// Resources are the instances that the section names.
func (c Config) Resources() map[string]string {
	out := map[string]string{}
	for id := range c.Hosts {
		out["hosts."+id] = id
	}
	return out
}

// address completes HOST to HOST:22.
func address(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), "22"
	}
	if host == "" || strings.ContainsAny(host, " /@[]") || port == "" || strings.Trim(port, "0123456789") != "" {
		return "", fmt.Errorf("write HOST or HOST:PORT, such as 10.0.0.5:22")
	}
	return net.JoinHostPort(host, port), nil
}
