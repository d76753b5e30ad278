package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// result puts together what came of the story.
func (r *runner) result() *Result {
	out := &Result{Events: r.book.sorted(), Failures: r.failures, Passed: r.passed, History: r.history()}
	slices.SortStableFunc(out.Failures, func(a, b Failure) int { return a.Line - b.Line })
	failed := len(out.Failures)
	end := r.story.length
	out.Events = append(out.Events, Event{At: r.story.start.Add(end).Format(time.RFC3339), Offset: offsetText(end), Event: evResult,
		Passed: &out.Passed, Failed: &failed, at: end})
	return out
}

// JSON writes one object a line, in the order of time; the result is the last.
func (r *Result) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range r.Events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// Told writes every failure, a line of the file each, with what happened instead.
func (r *Result) Told(w io.Writer, file string) {
	for _, f := range r.Failures {
		at := file
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", file, f.Line)
		}
		fmt.Fprintf(w, "FAILED %s: %s\n", at, f.Text)
	}
}

// tableWidth is what a line of the table takes at most.
const tableWidth = 80

// Table writes the story for people: what happened that they would care for, then
// the failures, then the result in a line.
func (r *Result) Table(w io.Writer, s *Story) {
	fmt.Fprintf(w, "%s\n", s.Title)
	day := ""
	for _, e := range r.Events {
		what, about, ok := e.row()
		if !ok {
			continue
		}
		at := s.start.Add(e.at).In(s.zone)
		if d := at.Format("Mon 2 Jan"); d != day {
			day = d
			fmt.Fprintf(w, "── %s ──\n", d)
		}
		line := fmt.Sprintf("%s %9s  %s", at.Format("15:04:05"), offsetText(e.at), what)
		if about != "" {
			line += " " + about
		}
		fmt.Fprintln(w, cut(line, tableWidth))
	}
	fmt.Fprintln(w)
	r.Told(w, s.File)
	verdict := "all expectations hold"
	if n := len(r.Failures); n > 0 {
		verdict = fmt.Sprintf("%d FAILED", n)
	}
	fmt.Fprintf(w, "%s: %s (%d passed)\n", s.File, verdict, r.Passed)
}

// row is an event in words; false for those that are for machines only.
func (e Event) row() (what, about string, ok bool) {
	text := strings.Join(strings.Fields(e.Text), " ")
	switch e.Event {
	case evObserved:
		if e.State != "gone" {
			return "", "", false
		}
		return "gone", fmt.Sprintf("%s (%s; %s)", e.ID, e.Reason, text), true
	case evProviderCall:
		if contains([]string{"list", "get", "signals", "identity", "protection", "tag"}, e.Call) {
			return "", "", false
		}
		return "call", fmt.Sprintf("%s %s: %s", e.Call, e.ID, text), true
	case evMessageQueued, evResult:
		return "", "", false
	case evMessageSent:
		if e.Channel != "slack" {
			return "", "", false
		}
		if e.Reason != "" {
			text += " (" + e.Reason + ")"
		}
		return "slack", text, true
	case evCommand:
		if e.State == "failed" {
			text += " → " + strings.Join(strings.Fields(e.Reason), " ")
		}
		return "$", text, true
	case evSaid:
		return "──", text, true
	case evLeaseChanged:
		return "lease", fmt.Sprintf("%s %s: %s", e.ID, e.State, text), true
	case evFindingOpened:
		return "found", fmt.Sprintf("%s %s", e.Rule, e.ID), true
	case evFindingClosed:
		return "closed", fmt.Sprintf("%s %s", e.Rule, e.ID), true
	case evReloaded:
		if e.State == "refused" {
			return "reload refused", text, true
		}
		return "reloaded", "", true
	}
	if state, ok := strings.CutPrefix(e.Event, evRelease); ok {
		about := e.ID
		if e.Reason != "" {
			about += " (" + e.Reason + ")"
		}
		if e.Spend != "" {
			about += ", spent " + e.Spend
		}
		return state, about, true
	}
	return strings.ReplaceAll(e.Event, "_", " "), strings.Join(strings.Fields(e.Reason+" "+text), " "), true
}

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
