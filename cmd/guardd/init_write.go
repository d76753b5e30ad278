package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"guard"
)

// prepare settles where things go and that they can go there.
func (s *setup) prepare() error {
	root := os.Geteuid() == 0
	home, _ := os.UserHomeDir()
	share := filepath.Join(home, ".local", "share", "guard")
	runtime, _ := s.env("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) || unix.Access(runtime, unix.W_OK) != nil {
		runtime = share
	}
	defaults := []string{"guard.yaml", filepath.Join(share, "ledger.db"), filepath.Join(runtime, "guard.sock")}
	if root {
		defaults = []string{"/etc/guard/guard.yaml", "/var/lib/guard/ledger.db", "/run/guard/guard.sock"}
	}
	for i, place := range []*string{&s.file, &s.ledger, &s.socket} {
		var err error
		if *place, err = filepath.Abs(cmp.Or(*place, defaults[i])); err != nil {
			return err
		}
		mode := os.FileMode(0o755)
		if place == &s.ledger {
			mode = 0o700
		}
		if err := s.room(filepath.Dir(*place), mode); err != nil {
			return err
		}
	}
	if s.prices != "" {
		var err error
		if s.prices, err = filepath.Abs(s.prices); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(s.ledger); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is a ledger at %s already: guard is set up here; guard register adds to it. To begin another one name it with --ledger", guard.ErrConflict, s.ledger)
	}
	if _, err := os.Lstat(s.file); !errors.Is(err, fs.ErrNotExist) && !s.force {
		return fmt.Errorf("%w: %s is there already: --force writes over it, --out names another file", guard.ErrConflict, s.file)
	}
	return nil
}

// room makes a directory where there is none, and proves that it can be written to.
func (s *setup) room(dir string, mode os.FileMode) error {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("%w: make %s: %w", guard.ErrPermission, dir, err)
	}
	s.undo = append(s.undo, func() {
		for _, d := range made {
			_ = os.Remove(d) // only where it is empty
		}
	})
	if err := unix.Access(dir, unix.W_OK); err != nil {
		return fmt.Errorf("%w: this user (uid %d) may not write in %s: choose other places with --out, --ledger and --socket", guard.ErrPermission, os.Geteuid(), dir)
	}
	return nil
}

// draft is the name of a file until it is final.
func (s *setup) draft(path string) string {
	draft := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.init-%d", filepath.Base(path), os.Getpid()))
	s.undo = append(s.undo, func() { _ = os.Remove(draft) })
	return draft
}

// compose writes the configuration.
func (s *setup) compose(accounts []candidate, people told) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mode: observe\nledger: %s\nlisten: %s\naccounts:\n", quote("bolt:"+s.ledger), quote("unix:"+s.socket))
	for _, c := range accounts {
		fmt.Fprintf(&b, "  - name: %s\n    provider: %s\n", quote(c.name), c.provider)
		if s.prices != "" {
			fmt.Fprintf(&b, "    prices: %s\n", quote(s.prices))
		}
		fmt.Fprintf(&b, "    %s: %s\n", c.provider, c.section)
	}
	b.WriteString(people.yaml(s.slackEndpoint))
	return b.String()
}

// quote writes a string so that YAML reads it as itself, plainly where it can.
func quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r)
	}
	first := text != "" && (text[0] >= 'a' && text[0] <= 'z' || text[0] >= 'A' && text[0] <= 'Z')
	if first && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && !strings.HasSuffix(text, ":") {
		switch strings.ToLower(text) {
		case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		default:
			return text
		}
	}
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// commit gives everything its name: the ledger first, for a configuration without it
// would begin an empty one. It returns how many lines the configuration has.
func (s *setup) commit(ctx context.Context, h *house, accounts []candidate) (int, error) {
	text := s.compose(accounts, s.people)
	if _, err := s.load(text); err != nil {
		return 0, err
	}
	draft := s.draft(s.file)
	// It holds no secret; the users of guardd read it.
	mode := os.FileMode(0o600)
	if os.Geteuid() == 0 {
		mode = 0o644
	}
	if err := write(draft, text, mode); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := os.Link(h.path, s.ledger); err != nil {
		return 0, fmt.Errorf("%w: name the ledger: %w", guard.ErrUnavailable, err)
	}
	s.undo = append(s.undo, func() { _ = os.Remove(s.ledger) })
	place := os.Link // which never takes the place of another file
	if s.force {
		place = os.Rename
	}
	if err := place(draft, s.file); err != nil {
		return 0, fmt.Errorf("%w: write %s: %w", guard.ErrUnavailable, s.file, err)
	}
	for _, left := range []string{draft, h.path} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.say("%s is left over and may be removed", left)
		}
	}
	return strings.Count(text, "\n"), nil
}

// write makes a file that is on the disk when it returns.
func write(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("%w: write %s: %w", guard.ErrUnavailable, path, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%w: write %s: %w", guard.ErrUnavailable, path, err)
	}
	return nil
}
