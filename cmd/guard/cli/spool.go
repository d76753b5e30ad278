package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// A registration that could not reach the daemon waits in a file: beside the
// socket, where the daemon fetches it, or else with the person's own files, where
// the next guard command does. It is told from others by its key, so that it is
// carried out once however often it is delivered.

// spooled is one file of a spool.
type spooled struct {
	wire.Spooled
	path string
	// failed: the daemon has refused it, and why.
	failed bool
	why    string
	err    error // the file cannot be read
}

func newKey() string { return rand.Text() }

// besides is the spool beside the daemon's socket, "" where there is no socket.
func (a *app) besides() string {
	addr := a.where()
	path, ok := strings.CutPrefix(addr, "unix:")
	if !ok && !strings.HasPrefix(addr, "/") {
		return ""
	}
	return strings.TrimPrefix(path, "//") + ".spool"
}

// own is the spool with the person's own files, "" where they have none.
func (a *app) own() string {
	state := a.Env("XDG_STATE_HOME")
	if home := a.Env("HOME"); !filepath.IsAbs(state) && home != "" {
		state = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(state) {
		return ""
	}
	return filepath.Join(state, "guard", "spool")
}

// keptError says that the daemon cannot be reached, and where the registration is.
type keptError struct {
	*client.UnreachableError
	id, path string
}

// Unwrap is the error of the call.
func (e *keptError) Unwrap() error { return e.UnreachableError }

// keep writes a registration that could not be delivered into a spool.
func (a *app) keep(r wire.RegisterRequest, typed time.Time, nobody *client.UnreachableError) error {
	typed = typed.UTC()
	r.AskedAt = &typed
	b, err := json.MarshalIndent(wire.Spooled{Version: wire.SpoolVersion, Addr: a.where(), Request: r}, "", "  ")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d-%s%s", typed.UnixNano(), newKey()[:8], wire.SpoolWaiting) // the key is for nobody to read
	dirs := []string{a.besides(), a.own()}
	if errors.Is(nobody.Err, fs.ErrPermission) {
		dirs = dirs[:1] // whoever may not open the socket could never deliver it
	}
	var last error
	for i, dir := range dirs {
		if dir == "" {
			continue
		}
		if i > 0 {
			if last = os.MkdirAll(dir, 0o700); last != nil {
				continue
			}
		} else if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		path := filepath.Join(dir, name)
		if last = writeWhole(path, b); last == nil {
			return &keptError{nobody, r.ID, path}
		}
	}
	if last != nil {
		a.say("the registration could not be kept for later: " + last.Error())
	}
	return nobody
}

// writeWhole writes a file that is there whole or not at all.
func writeWhole(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// waiting are the caller's files in the spools, in the order in which they were typed.
func (a *app) waiting() []spooled {
	var out []spooled
	for _, dir := range []string{a.besides(), a.own()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // there is none, or it is not for reading
		}
		for _, e := range entries[:min(len(entries), 3*wire.MostWaiting)] {
			ending := filepath.Ext(e.Name())
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !mine(info) || ending != wire.SpoolWaiting && ending != wire.SpoolFailed {
				continue
			}
			s := spooled{path: filepath.Join(dir, e.Name()), failed: ending == wire.SpoolFailed}
			s.read()
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y spooled) int { return strings.Compare(filepath.Base(x.path), filepath.Base(y.path)) })
	return out
}

func (s *spooled) read() {
	b, err := machineFile(s.path)
	if err == nil {
		err = json.Unmarshal(b, &s.Spooled)
	}
	switch r := s.Request; {
	case err != nil:
		s.err = err
	case s.Version != wire.SpoolVersion:
		s.err = fmt.Errorf("it is of version %d, and this guard knows %d", s.Version, wire.SpoolVersion)
	case r.ID == "" || r.Key == "" || r.AskedAt == nil:
		s.err = errors.New("it is not a registration that was kept")
	}
	if s.failed {
		b, _ := machineFile(s.stem() + wire.SpoolWhy)
		s.why = strings.TrimSpace(string(b))
	}
}

// stem is the path without its ending.
func (s spooled) stem() string { return strings.TrimSuffix(s.path, filepath.Ext(s.path)) }

// drop removes a file and what belongs to it.
func (s spooled) drop() error {
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the daemon was faster
	}
	if why := os.Remove(s.stem() + wire.SpoolWhy); !errors.Is(why, fs.ErrNotExist) {
		err = errors.Join(err, why)
	}
	return err
}

// fail puts a refused registration aside.
func (s spooled) fail(why string) error {
	return errors.Join(writeWhole(s.stem()+wire.SpoolWhy, []byte(why+"\n")), os.Rename(s.path, s.stem()+wire.SpoolFailed))
}

// deliver hands over what waits for this daemon; again tries what was refused, too.
// The error is that of a daemon that cannot be reached.
func (a *app) deliver(ctx context.Context, c *client.Client, again bool) error {
	for _, s := range a.waiting() {
		if s.err != nil || s.failed && !again || s.Addr != a.where() {
			continue
		}
		typed := s.Request.ID + ", typed at " + s.Request.AskedAt.Local().Format("2006-01-02 15:04")
		out, err := c.Register(ctx, s.Request)
		var nobody *client.UnreachableError
		var api *wire.Error
		switch {
		case err == nil:
			a.say("delivered what was kept: " + outcome(out) + " " + typed)
			err = s.drop()
		case errors.As(err, &nobody):
			return err
		case errors.As(err, &api) && !slices.Contains(passing, api.Kind):
			a.say("what was kept is refused: " + typed + ": " + api.Message)
			err = s.fail(strings.Join(append([]string{api.Message}, api.Details...), "; "))
		default:
			a.say("what was kept still waits: " + typed + ": " + err.Error())
			return nil
		}
		if err != nil {
			a.say("its file stays: " + err.Error())
		}
	}
	return nil
}

// passing are the kinds of error that may be over at the next try.
var passing = []string{wire.KindUnavailable, wire.KindThrottled, wire.KindUncertain, wire.KindBadReply, wire.KindLocked, wire.KindInternal, wire.KindDamaged, wire.KindToken}

func outcome(r wire.Registered) string {
	return map[string]string{"created": "registered", "updated": "updated", "unchanged": "nothing to change on"}[r.Outcome]
}

func (a *app) spool() *cobra.Command {
	var deliver bool
	var drop int
	cmd := &cobra.Command{
		Use:   "spool",
		Short: "Registrations that could not reach guardd yet",
		Long: `Spool lists the registrations that were typed while guardd could not be reached.
They are delivered by the next guard command that reaches it, or by guardd
itself where they stand beside its socket, each once: what was registered since,
by whomever, is not undone. A time to live counts from when it was typed. What
guardd refuses is kept here, with the reason, until it is dropped.`,
		Example: "  guard spool\n  guard spool --deliver\n  guard spool --drop 1",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case deliver && cmd.Flags().Changed("drop"):
				return usagef("--deliver and --drop contradict each other: give one of them")
			case deliver:
				return a.deliverAll(cmd)
			case cmd.Flags().Changed("drop"):
				return a.dropped(drop)
			}
			return a.listSpool()
		},
	}
	cmd.Flags().BoolVar(&deliver, "deliver", false, "deliver them now, what was refused before, too")
	cmd.Flags().IntVar(&drop, "drop", 0, "forget the one with this number")
	return cmd
}

func (a *app) deliverAll(cmd *cobra.Command) error {
	a.tried = true
	if _, err := ask(a, cmd, "delivering", func(ctx context.Context, c *client.Client) (struct{}, error) {
		return struct{}{}, a.deliver(ctx, c, true)
	}); err != nil {
		return err
	}
	if len(a.waiting()) > 0 {
		return a.listSpool()
	}
	a.say("nothing waits")
	return nil
}

func (a *app) dropped(n int) error {
	all := a.waiting()
	if n < 1 || n > len(all) {
		return usagef("--drop %d: there are %s (guard spool shows them)", n, count(len(all), "one", "of them"))
	}
	if err := all[n-1].drop(); err != nil {
		return err
	}
	a.say("dropped " + all[n-1].Request.ID)
	return nil
}

// spoolEntry is a registration in a spool, as JSON.
type spoolEntry struct {
	wire.Spooled
	Path  string `json:"path"`
	State string `json:"state"` // waits, refused or unreadable
	Why   string `json:"why,omitempty"`
}

func (a *app) listSpool() error {
	entries := []spoolEntry{}
	for _, s := range a.waiting() {
		e := spoolEntry{Spooled: s.Spooled, Path: s.path, State: "waits", Why: s.why}
		switch {
		case s.err != nil:
			e.State, e.Why = "unreadable", s.err.Error()
		case s.failed:
			e.State = "refused"
		case s.Addr != a.where():
			e.Why = "for guardd at " + s.Addr
		}
		entries = append(entries, e)
	}
	if done, err := a.json(entries); done {
		return err
	}
	if len(entries) == 0 {
		a.say("nothing waits")
		return nil
	}
	var rows [][]string
	for i, e := range entries {
		typed, limit := "", e.Request.TTL
		if e.Request.AskedAt != nil {
			typed = clock(e.Request.AskedAt.Local())
		}
		if limit == "" {
			limit = e.Request.Until
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), e.Request.ID, e.Request.Purpose, limit, e.Request.Budget, typed, e.State, e.Why})
	}
	a.table([]column{{title: "no", right: true}, {title: "id"}, {title: "purpose", least: 8, drop: 3}, {title: "time", drop: 5}, {title: "budget", drop: 4},
		{title: "typed", drop: 2}, {title: "state"}, {title: "why", least: 16, drop: 1}}, rows)
	return nil
}
