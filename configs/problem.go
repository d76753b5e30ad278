package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"guard"
)

// Problem is one mistake in a configuration, or in a file that it names.
type Problem struct {
	File string
	Line int // the first is 1; 0 concerns the file as a whole
	Text string
}

// Error is "FILE:LINE: what is wrong".
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems is every mistake found, as one error. It wraps guard.ErrInvalid and
// holds no secret and no line of the file itself.
type Problems []Problem

// Error has one problem a line, those of one file in the order of its lines.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes it guard.ErrInvalid.
func (ps Problems) Unwrap() error { return guard.ErrInvalid }

// inOrder sorts by line and drops repetitions; the file called first leads.
func inOrder(ps []Problem, first string) Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.File != b.File {
			switch first {
			case a.File:
				return -1
			case b.File:
				return 1
			}
		}
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(ps)
}
