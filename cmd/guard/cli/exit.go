package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"guard/daemon/client"
	"guard/daemon/wire"
)

// The exit statuses of guard and guardd.
const (
	ExitOK          = 0
	ExitFailed      = 1 // or something needs a person
	ExitUsage       = 2
	ExitUnreachable = 3
)

// exits is the one table from the kind of an API error to the exit status. What
// is not in it failed.
var exits = map[string]int{
	wire.KindInvalid:  ExitUsage,
	wire.KindCurrency: ExitUsage,
}

// jobError is the exit status of a command that guard ran, which is guard's own then.
type jobError struct{ status int }

// Error tells the status.
func (e *jobError) Error() string { return fmt.Sprintf("the job ended with status %d", e.status) }

// tell prints an error and returns the status it stands for.
func tell(w IO, cmd *cobra.Command, err error) int {
	if err == nil {
		return ExitOK
	}
	say := func(text string) { fmt.Fprintln(w.Err, "guard: "+clean(text)) }
	var (
		api     *wire.Error
		usage   *usageError
		addr    *client.AddrError
		kept    *keptError
		nobody  *client.UnreachableError
		job     *jobError
		silence = errors.Is(err, errSilent)
	)
	switch {
	case errors.As(err, &job):
		return job.status
	case silence:
		return ExitFailed
	case errors.As(err, &kept):
		say(kept.Text)
		fmt.Fprintf(w.Err, "The registration of %s is KEPT in %s, and not carried out yet. The next guard command that reaches guardd delivers it, once (guard spool).\n", clean(kept.id), clean(kept.path))
		return ExitUnreachable
	case errors.As(err, &nobody):
		say(nobody.Text)
		return ExitUnreachable
	case errors.As(err, &addr):
		say(addr.Text)
		return ExitUsage
	case errors.As(err, &usage):
		say(usage.text)
		if cmd != nil {
			fmt.Fprintf(w.Err, "See %s --help\n", cmd.CommandPath())
		}
		return ExitUsage
	case errors.As(err, &api):
		say(api.Message)
		for _, d := range api.Details {
			fmt.Fprintln(w.Err, "  "+clean(d))
		}
		if api.Hint != "" {
			fmt.Fprintln(w.Err, clean(api.Hint))
		}
		if status, ok := exits[api.Kind]; ok {
			return status
		}
		return ExitFailed
	case errors.Is(err, context.Canceled):
		say("interrupted; if something was ordered, guard log tells whether it was taken")
		return ExitFailed
	}
	say(err.Error())
	return ExitFailed
}
