package api

import (
	"context"
	"strings"

	"guard"
	"guard/daemon/wire"
)

// Modes switches where guard acts. Each answer tells what the switch dooms; where
// that is not what was accepted, nothing has changed and the answer is not Done.
type Modes struct {
	// Switch puts an account into a mode by the word of a person.
	Switch func(ctx context.Context, at guard.Instant, by Caller, account string, to guard.Mode, accept int) (wire.ModeAnswer, error)
	// Resume ends a pause.
	Resume func(ctx context.Context, at guard.Instant, by Caller, accept int) (wire.ModeAnswer, error)
	// Reload reads the configuration again.
	Reload func(ctx context.Context, at guard.Instant, by Caller, accept int) (wire.ModeAnswer, error)
	// Pause is why guard acts nowhere; not On where it is not paused.
	Pause func() guard.Pause
}

func (s *server) enforce(ctx context.Context, at guard.Instant, in wire.ModeRequest) (wire.ModeAnswer, error) {
	out, err := s.Modes.Switch(ctx, at, callerOf(ctx), in.Account, guard.Enforce, in.Accept)
	return s.switched(out, err, "guard enforce "+in.Account)
}

func (s *server) observe(ctx context.Context, at guard.Instant, in wire.ModeRequest) (wire.ModeAnswer, error) {
	out, err := s.Modes.Switch(ctx, at, callerOf(ctx), in.Account, guard.Observe, in.Accept)
	return s.switched(out, err, "guard observe "+in.Account)
}

func (s *server) resume(ctx context.Context, at guard.Instant, in wire.AcceptRequest) (wire.ModeAnswer, error) {
	out, err := s.Modes.Resume(ctx, at, callerOf(ctx), in.Accept)
	return s.switched(out, err, "guard resume")
}

func (s *server) reload(ctx context.Context, at guard.Instant, in wire.AcceptRequest) (wire.ModeAnswer, error) {
	out, err := s.Modes.Reload(ctx, at, callerOf(ctx), in.Accept)
	return s.switched(out, err, "guard reload")
}

// switched makes a switch that was not taken a refusal which names what it dooms.
func (s *server) switched(out wire.ModeAnswer, err error, command string) (wire.ModeAnswer, error) {
	if err != nil || out.Done {
		return out, err
	}
	f := faultf(guard.ErrRefused, "%s: %s; nothing has changed", command, out.Text)
	for _, d := range out.Doomed {
		f.details = append(f.details, s.doomText(d))
	}
	if len(out.Doomed) == 0 {
		return out, f.hinted("Without --accept it is taken: %s", command)
	}
	return out, f.hinted("Extend, hold or protect what must live. If all of it may go: %s --accept %d. Everybody gets fresh notice first.", command, len(out.Doomed))
}

// doomText is a doomed lease in one line.
func (s *server) doomText(d wire.Doomed) string {
	parts := []string{d.ID}
	if d.Name != "" {
		parts[0] += " (" + d.Name + ")"
	}
	parts[0] += ": " + d.Does
	parts = append(parts, d.Why)
	if d.Purpose != "" {
		parts = append(parts, "purpose "+d.Purpose)
	}
	if d.Owner != "" {
		parts = append(parts, "owner "+d.Owner)
	}
	money := "spend unknown"
	if len(d.Spend) > 0 {
		money = strings.Join(d.Spend, " + ") + " so far"
	}
	if d.Hourly != nil {
		money += ", " + *d.Hourly + " an hour"
	}
	return strings.Join(append(parts, money), "; ")
}

// paused is why guard acts nowhere; nil where it does.
func (s *server) paused() *wire.Pause {
	p := s.Modes.Pause()
	if !p.On() {
		return nil
	}
	return &wire.Pause{Cause: string(p.Cause), Why: p.Why, Since: p.Since.In(s.Location())}
}
