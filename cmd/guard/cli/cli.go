// Package cli is the command tree of guard: a thin client of guardd's API. It
// judges nothing and parses no limits, so that every caller of the API is told
// the same. What was asked for goes to stdout, talk and warnings to stderr.
//
// The tree is a function, so that the demo and the simulation run the very
// same commands inside their own process.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"guard/daemon/client"
)

// IO is what the commands touch of the world. The zero value of each field but
// Out and Err is useful.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	// Env looks a variable of the environment up; nil: there are none.
	Env func(name string) string
	// Dial makes the client of an address; nil: one that goes by Env.
	Dial func(addr string) (*client.Client, error)
	// Width is how many columns a table may take; 0: as many as it needs.
	Width int
	// Ask tells that a person sits at In and reads Err.
	Ask bool
	// Spool: what cannot reach the daemon may be kept in files, and what is kept there
	// is delivered.
	Spool bool
	// Machine reads a file of the machine that this runs on; nil: this may not be asked.
	Machine func(name string) ([]byte, error)
	// Colour tells that Err is a terminal that wants colours.
	Colour bool
}

// OS is the process's own IO.
func OS() IO {
	w := IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv, Spool: true, Machine: machineFile}
	isTerm := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	w.Ask = isTerm(os.Stdin) && isTerm(os.Stderr)
	w.Colour = isTerm(os.Stderr) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		w.Width = n
	} else if isTerm(os.Stdout) {
		if n, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			w.Width = n
		}
	}
	return w
}

// Main runs one command of the process and returns its exit status.
func Main(args ...string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, OS(), args...)
}

// Run runs one command, tells an error on w.Err and returns the exit status.
func Run(ctx context.Context, w IO, args ...string) int {
	cmd := tree(w, len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd))
	cmd.SetArgs(args)
	ran, err := cmd.ExecuteContextC(ctx)
	return tell(w, ran, err)
}

// patience is how long a silent daemon is waited for: nobody waits longer than five
// seconds, the start of the process and what is then kept in a file included.
const patience = 4 * time.Second

// app is what the commands of one tree share.
type app struct {
	IO
	addr   string
	output string
	lines  *bufio.Reader // of In
	tried  bool          // to deliver what is kept
	loose  bool          // that others may read the token was told

	completes bool // a shell asks what could be typed
}

// New returns the command tree. Errors are returned, not printed; Run prints
// them and knows the exit status.
func New(w IO) *cobra.Command { return tree(w, true) }

// tree is the commands. What completes their flags cobra keeps for ever, and with it all
// that they reach: only where a shell asks is there any, for a story runs hundreds of
// commands in one process.
func tree(w IO, completes bool) *cobra.Command {
	a := &app{IO: w, completes: completes}
	if a.Env == nil {
		a.Env = func(string) string { return "" }
	}
	if a.In == nil {
		a.In = strings.NewReader("")
	}
	if a.Dial == nil {
		a.Dial = a.connect
	}
	root := &cobra.Command{
		Use:   "guard",
		Short: "Register rented GPU machines, see what they cost, release them",
		Long: `guard speaks to guardd, which watches the accounts, counts the money and
releases what has crossed its limit. Resources are named ACCOUNT/ID.

Exit status:
  0  done
  1  failed or refused, or (guard status) something needs a person
  2  wrong usage: a flag, an amount, a time
  3  guardd cannot be reached`,
		Example: `  guard register research/i-0abc --purpose "lora 70b" --ttl 10h --budget 40USD
  guard ls
  guard why research/i-0abc
  guard extend research/i-0abc --by 2h`,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.output != "table" && a.output != "json" {
				return usagef("-o %s: write -o table or -o json", a.output)
			}
			return nil
		},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err.Error()} })
	f := root.PersistentFlags()
	f.StringVar(&a.addr, "addr", "", "guardd's address, unix:PATH or https://HOST:PORT\n(default $GUARD_ADDR, then "+client.DefaultAddr+")")
	f.StringVarP(&a.output, "output", "o", "table", "table or json")
	root.AddCommand(a.register(), a.ls(), a.show(), a.why(), a.extend(), a.release(), a.hold(), a.unhold(), a.veto(), a.unveto(), a.snooze(), a.unsnooze(), a.ack(),
		a.protect(), a.unprotect(), a.enforce(), a.observe(), a.resume(), a.reload(), a.findings(), a.report(), a.egress(), a.log(), a.status(), a.doctor(), a.token(), a.spool(), a.agent(), a.run(), a.version())
	return root
}

// where is the daemon's address.
func (a *app) where() string {
	return cmp.Or(a.addr, a.Env("GUARD_ADDR"), client.DefaultAddr)
}

// dial makes the client.
func (a *app) dial() (*client.Client, error) { return a.Dial(a.where()) }

// ask calls the daemon; where a person waits longer than a moment they are told
// what for. What was kept while it could not be reached is delivered first.
func ask[T any](a *app, cmd *cobra.Command, doing string, call func(context.Context, *client.Client) (T, error)) (T, error) {
	c, err := a.dial()
	if err != nil {
		var none T
		return none, err
	}
	if a.Ask {
		wait := time.AfterFunc(2*time.Second, func() { fmt.Fprintf(a.Err, "%s …\n", doing) })
		defer wait.Stop()
	}
	if a.Spool && !a.tried {
		a.tried = true
		if err := a.deliver(cmd.Context(), c, false); err != nil {
			var none T
			return none, err
		}
	}
	return call(cmd.Context(), c)
}

// json writes v to stdout if that is the format asked for.
func (a *app) json(v any) (bool, error) {
	if a.output != "json" {
		return false, nil
	}
	e := json.NewEncoder(a.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return true, e.Encode(v)
}

// usageError is a command line that cannot be carried out.
type usageError struct{ text string }

// Error is the sentence.
func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// usageArgs makes the complaint of a cobra check a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			if cmd.HasSubCommands() && len(args) > 0 {
				return usagef("guard has no command %q%s", clean(args[0]), suggest(cmd, args[0]))
			}
			if len(args) > 0 && !isUsage(err) {
				return usagef("%s takes no arguments, and was given %q", cmd.CommandPath(), clean(args[0]))
			}
			return &usageError{err.Error()}
		}
		return nil
	}
}

func suggest(cmd *cobra.Command, arg string) string {
	cmd.SuggestionsMinimumDistance = 2
	if s := cmd.SuggestionsFor(arg); len(s) > 0 {
		return ": did you mean " + strings.Join(s, " or ") + "?"
	}
	return ""
}

// oneID is the check of the commands that take exactly one resource.
func oneID(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("which one? Name it as ACCOUNT/ID (guard ls shows them)")
	case 1:
		return checkID(args[0])
	}
	return usagef("one ACCOUNT/ID at a time, not %d", len(args))
}

func checkID(s string) error {
	account, id, ok := strings.Cut(s, "/")
	if !ok || account == "" || id == "" {
		return usagef("%q is not ACCOUNT/ID, such as research/i-0abc (guard ls shows them)", clean(s))
	}
	return nil
}

// tagsOf reads KEY=VALUE flags.
func tagsOf(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	tags := make(map[string]string, len(pairs))
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, usagef("--%s %q: write KEY=VALUE", flag, clean(p))
		}
		if old, twice := tags[k]; twice && old != v {
			return nil, usagef("--%s %s is given twice, as %q and %q", flag, clean(k), clean(old), clean(v))
		}
		tags[k] = v
	}
	return tags, nil
}

func isUsage(err error) bool {
	var u *usageError
	return errors.As(err, &u)
}

var errSilent = errors.New("told already")
