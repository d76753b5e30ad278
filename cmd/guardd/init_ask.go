package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"guard"
	"guard/cmd/guard/cli"
	"guard/daemon/wire"
)

var errEnded = errors.New("the input ended before everything was answered")

// question asks, and returns what was typed, or def for Enter. It ends with ctx.
func (s *setup) question(ctx context.Context, text, def string) (string, error) {
	fmt.Fprintf(s.Err, "%s [%s] ", text, def)
	if s.lines == nil {
		s.lines = linesOf(bufio.NewScanner(s.In))
	}
	select {
	case line, ok := <-s.lines:
		switch line = strings.TrimSpace(line); {
		case !ok:
			fmt.Fprintln(s.Err)
			return "", errEnded
		case line == "":
			return def, nil
		default:
			return line, nil
		}
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", ctx.Err()
	}
}

// linesOf reads on a goroutine of its own: a read from a terminal cannot be given up.
func linesOf(in *bufio.Scanner) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in.Scan() {
			lines <- in.Text()
		}
	}()
	return lines
}

// wish is one box to register.
type wish struct {
	id                          string // ACCOUNT/ID, or ID alone
	purpose, ttl, budget, price string // "" is not given
}

const wishForm = "write ID=PURPOSE,TTL,BUDGET or ID=PURPOSE,TTL,BUDGET,PRICE, such as i-0abc=\"lora 70b,24h,200USD,2.50USD/h\""

// parseWish reads --register. What the parts mean is the API's to judge.
func parseWish(text string) (wish, error) {
	id, rest, ok := strings.Cut(text, "=")
	parts := strings.Split(rest, ",")
	if !ok || id == "" || len(parts) > 4 {
		return wish{}, fmt.Errorf("--register %q: %s (a purpose with a comma in it is guard register's)", text, wishForm)
	}
	parts = append(parts, "", "", "")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	w := wish{id, parts[0], parts[1], parts[2], parts[3]}
	if w.purpose == "" {
		return wish{}, fmt.Errorf("--register %q: it does not say what for: %s", text, wishForm)
	}
	return w, nil
}

// leases registers what is asked for, on the command line or here, and returns how
// many boxes are registered.
func (s *setup) leases(ctx context.Context, h *house, wishes []wish) (int, error) {
	boxes, err := h.boxes(ctx)
	if err != nil {
		return 0, err
	}
	if !s.Ask {
		for _, w := range wishes {
			i := slices.IndexFunc(boxes, func(it wire.Item) bool { return w.id == it.ID || w.id == idOf(it) })
			if twice := slices.IndexFunc(boxes[i+1:], func(it wire.Item) bool { return w.id == it.ID }); i >= 0 && twice >= 0 {
				return 0, usageError{fmt.Errorf("--register %s: there are two of that ID: write ACCOUNT/ID", w.id)}
			}
			if i < 0 {
				return 0, fmt.Errorf("%w: --register %s: no such box was found", guard.ErrNotFound, w.id)
			}
			w.id = idOf(boxes[i])
			if said := s.claim(ctx, h, w, boxes[i]); said != "" {
				return 0, errors.New(said)
			}
		}
		return len(wishes), nil
	}
	n := 0
	for i, it := range boxes {
		took, err := s.interview(ctx, h, it, fmt.Sprintf("[%d/%d]", i+1, len(boxes)))
		if err != nil {
			return 0, err
		}
		if took {
			n++
		}
	}
	return n, nil
}

func idOf(it wire.Item) string { return it.Account + "/" + it.ID }

// interview asks about one box until it is registered or left alone.
func (s *setup) interview(ctx context.Context, h *house, it wire.Item, count string) (bool, error) {
	s.say("\n%s %s", count, describe(it))
	if it.Foreign || it.Self || it.Protected {
		s.say("left alone: %s", whyNot(it))
		return false, nil
	}
	def, what := it.Name, "  what for? (- leaves it alone)"
	if def == "" {
		def = "-"
	}
	if it.GPUs == 0 { // guard releases GPU boxes only, unless somebody says so
		def, what = "-", "  what for? (without a GPU; a purpose lets guard release it all the same)"
	}
	for {
		w := wish{id: idOf(it)}
		for _, q := range []struct {
			ask  bool
			into *string
			text string
			def  string
		}{
			{true, &w.purpose, what, def},
			{true, &w.ttl, "  how long from now?", "24h"},
			{it.Rate == nil, &w.price, "  its price, such as 2.50USD/h?", "unknown"},
			{true, &w.budget, "  the most it may cost since it began, such as 40USD?", "no cap"},
		} {
			if !q.ask {
				continue
			}
			answer, err := s.question(ctx, q.text, q.def)
			if err != nil {
				return false, err
			}
			if q.into == &w.purpose && answer == "-" {
				return false, nil
			}
			if answer != "unknown" && answer != "no cap" {
				*q.into = answer
			}
		}
		if isHours(w.ttl) {
			w.ttl += "h"
		}
		said := s.claim(ctx, h, w, it)
		if said == "" {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		s.say("%s\nOnce more:", said)
	}
}

// isHours reports a bare number, which people answer to "how long".
func isHours(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func describe(it wire.Item) string {
	s := idOf(it)
	if it.Name != "" {
		s += " (" + it.Name + ")"
	}
	s += ", " + it.Type
	switch {
	case it.GPUs > 0:
		s += fmt.Sprintf(", %d × %s", it.GPUs, it.GPUModel)
	default:
		s += ", no GPU"
	}
	if it.Scope != "" {
		s += ", " + it.Scope
	}
	s += ", " + it.State
	if it.Rate == nil {
		return s + ", at an unknown price"
	}
	return s + ", " + *it.Rate + " per hour"
}

func whyNot(it wire.Item) string {
	switch {
	case it.Foreign:
		return "another guard watches it"
	case it.Self:
		return "guard runs on it"
	}
	return "it is protected: " + it.ProtectedWhy
}

// claim registers one box through the API, as guard register does. It returns what
// was wrong, "" where nothing was.
func (s *setup) claim(ctx context.Context, h *house, w wish, it wire.Item) string {
	args := []string{"register", w.id, "--purpose", w.purpose}
	for _, f := range []struct{ flag, value string }{{"--ttl", w.ttl}, {"--budget", w.budget}, {"--price", w.price}} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	if it.GPUs == 0 && (s.noGPUOK || s.Ask) {
		args = append(args, "--no-gpu-ok") // asked about by name, and answered
	}
	var said bytes.Buffer
	status := 0
	patiently(s.Err, "reading "+w.id+" at the provider", func() { status = h.guard(ctx, cli.IO{Out: s.Out, Err: &said, Width: s.Width}, args...) })
	if status != cli.ExitOK {
		return strings.TrimSpace(said.String())
	}
	fmt.Fprint(s.Err, warnings(said.String()))
	return ""
}

// warnings are what register warns of; that nothing is released in observe mode is
// said once, at the end.
func warnings(said string) string {
	var kept strings.Builder
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "OBSERVE:") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
