package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"guard"
	"guard/daemon/wire"
)

const (
	spoolEvery = time.Minute
	// spoolAtOnce bounds one run: each registration reads a cloud.
	spoolAtOnce = 20
)

// Spool is the loop that carries out what people registered while the daemon could
// not be reached: files in a folder beside its socket, each as the user that owns it.
type Spool struct {
	*server
	dir string
}

// NewSpool makes the loop for a folder. Where there is none it does nothing: whoever
// may write into it may register.
func NewSpool(o Options, dir string) *Spool {
	return &Spool{newServer(o), dir}
}

// Name is the loop's.
func (s *Spool) Name() string { return "spool" }

// Once carries out what waits. What is refused stays beside the others with the
// reason; what could not be decided now waits for the next run.
func (s *Spool) Once(ctx context.Context, at guard.Instant) (guard.Instant, error) {
	next := at.Add(spoolEvery)
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return next, nil
	}
	if err != nil {
		return next, fmt.Errorf("read what was registered while guardd was away: %w", err)
	}
	var wrong []error
	left := spoolAtOnce
	for _, e := range entries { // by name, which begins with when it was typed
		if filepath.Ext(e.Name()) != wire.SpoolWaiting || ctx.Err() != nil {
			continue
		}
		if left--; left < 0 {
			return at.Add(time.Second), errors.Join(wrong...)
		}
		if err := s.carryIn(ctx, at, filepath.Join(s.dir, e.Name())); err != nil {
			wrong = append(wrong, err)
		}
	}
	return next, errors.Join(wrong...)
}

// carryIn carries out one file. Its error is of the folder, not of the registration.
func (s *Spool) carryIn(ctx context.Context, at guard.Instant, path string) error {
	who, r, err := readSpooled(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // whoever typed it was faster
	}
	if err == nil {
		_, err = s.register(WithCaller(guard.WithInstant(ctx, at), who), at, r)
	}
	stem := strings.TrimSuffix(path, wire.SpoolWaiting)
	switch {
	case err == nil:
		s.Log.Info("a registration that was kept is carried out", "id", r.ID, "by", who.Name, "typed", r.AskedAt)
		return os.Remove(path)
	case passes(err):
		s.Log.Warn("a registration that was kept waits", "id", r.ID, "by", who.Name, "error", err.Error())
		return nil
	}
	s.Log.Warn("a registration that was kept is refused", "file", filepath.Base(path), "id", r.ID, "by", who.Name, "error", err.Error())
	return errors.Join(writeNew(stem+wire.SpoolWhy, newProblem(err).Message+"\n"), os.Rename(path, stem+wire.SpoolFailed))
}

// writeNew writes a small file for all to read. It follows no link that somebody has
// put there.
func writeNew(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// passes reports an error that may be over at the next run.
func passes(err error) bool {
	for _, kind := range []error{guard.ErrUnavailable, guard.ErrThrottled, guard.ErrUncertain, guard.ErrBadReply, guard.ErrLocked, guard.ErrDamaged, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return newProblem(err).Kind == wire.KindInternal
}

// readSpooled reads a file and whose it is. In a folder that many may write to it
// must be a plain file of one name, which only its owner can have written.
func readSpooled(path string) (who Caller, r wire.RegisterRequest, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			err = fmt.Errorf("%w: it is a link", guard.ErrInvalid)
		}
		return who, r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return who, r, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink != 1 || info.Mode().Perm()&0o022 != 0 || info.Size() > wire.MostSpooled {
		return who, r, fmt.Errorf("%w: it must be a plain file of at most %d bytes that only its owner can write", guard.ErrInvalid, wire.MostSpooled)
	}
	who = peer(stat.Uid, os.Geteuid())
	b, err := io.ReadAll(io.LimitReader(f, wire.MostSpooled))
	if err != nil {
		return who, r, err
	}
	var kept wire.Spooled
	if err := json.Unmarshal(b, &kept); err != nil {
		return who, r, fmt.Errorf("%w: it cannot be read: %v", guard.ErrInvalid, err)
	}
	if kept.Version != wire.SpoolVersion || kept.Request.Key == "" || kept.Request.AskedAt == nil {
		return who, kept.Request, fmt.Errorf("%w: it is not a registration that was kept, or of another version", guard.ErrInvalid)
	}
	return who, kept.Request, nil
}
