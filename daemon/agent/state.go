//go:build linux

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	stateFile   = "agent.json"
	samplesFile = "samples.jsonl"
	lockFile    = "lock"
)

// state is what an agent must not forget. It is on the disk before it counts.
type state struct {
	// Resource is whose it is: a disk may be copied to another box.
	Resource string `json:"resource"`
	Heard    Heard  `json:"heard"`
}

// lock makes this the only agent on a folder, until the returned file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("use the folder %s: %w", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another guard agent works with the folder %s: stop it, or give this one another --state-dir", dir)
	}
	return f, nil
}

// recall reads the state; where it is not this resource's, or cannot be read, what lies
// in the folder is forgotten.
func recall(dir, resource string) (state, error) {
	fresh := state{Resource: resource}
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, fmt.Errorf("read the agent's state: %w", err)
	}
	var s state
	if json.Unmarshal(b, &s) == nil && s.Resource == resource {
		return s, nil
	}
	if err := os.Remove(filepath.Join(dir, samplesFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fresh, fmt.Errorf("forget another box's samples: %w", err)
	}
	return fresh, nil
}

// Last is the resource that the agent of a folder last ran for; "" where none did.
func Last(dir string) string {
	var s state
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil || json.Unmarshal(b, &s) != nil {
		return ""
	}
	return s.Resource
}

func (s state) save(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, stateFile), b); err != nil {
		return fmt.Errorf("keep the agent's state: %w", err)
	}
	return nil
}
