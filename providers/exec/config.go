package exec

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"guard"
)

// Config is the `exec:` section of an account. Decode it with configs.SectionOf.
type Config struct {
	// Command is the program, by its whole path, and its arguments. No shell reads it.
	// Everybody on the machine can see it: what is secret goes into Env.
	Command []string `yaml:"command"`
	// Env is the program's environment, beside PATH: nothing of guardd's own is in it.
	Env map[string]guard.Secret `yaml:"env"`
	// Timeout bounds each call; default 30 s.
	Timeout time.Duration `yaml:"timeout"`
}

const (
	defaultTimeout = 30 * time.Second
	// A poll has two minutes for all its calls.
	leastTimeout, mostTimeout = time.Second, 100 * time.Second
	// path is what a program finds others by where Env has no PATH.
	path = "/usr/local/bin:/usr/bin:/bin"
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Check reports what cannot be right in the section.
func (c *Config) Check(report func(key, problem string)) {
	switch {
	case len(c.Command) == 0:
		report("command", "it is missing: write command: [/usr/local/bin/PROGRAM, ARGUMENT]")
	case !filepath.IsAbs(c.Command[0]):
		report("command", "write the program's whole path, such as /usr/local/bin/PROGRAM")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if !envName.MatchString(name) {
			report("env", "a variable's name has letters, digits and _ alone")
		}
	}
	if c.Timeout != 0 && (c.Timeout < leastTimeout || c.Timeout > mostTimeout) {
		report("timeout", "write a time from 1s to 100s; a poll of the account has two minutes for all its calls")
	}
}

// environment is the program's, with the secrets in it.
func (c *Config) environment() []string {
	env := []string{}
	if !c.Env["PATH"].IsSet() {
		env = append(env, "PATH="+path)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name].Reveal())
	}
	return env
}
