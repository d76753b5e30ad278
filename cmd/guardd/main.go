// Command guardd is the daemon: it watches the configured accounts, counts what
// their machines cost, tells people, and releases what has crossed its limit.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit statuses of guardd.
const (
	exitRight  = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or a wrong file
	exitNobody = 3 // the daemon is not reachable
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status := run(ctx, os.Stdout, os.Stderr, os.Args[1:]...)
	programs.Close()
	os.Exit(status)
}

// usageError is a command line or a file that cannot be used.
type usageError struct{ error }

// run runs one command and returns its exit status.
func run(ctx context.Context, out, errOut io.Writer, args ...string) int {
	root := &cobra.Command{
		Use:   "guardd",
		Short: "The cost guard's daemon",
		Long: `guardd watches rented GPU machines, counts what they cost, tells people, and
releases what has crossed its budget or its time, with proof.

Exit status:
  0  right
  1  failed
  2  wrong usage or a wrong file
  3  the daemon is not reachable`,
		Example: `  guardd demo
  guardd init
  guardd doctor --config /etc/guard/guard.yaml
  guardd check --config /etc/guard/guard.yaml
  guardd notify test --config /etc/guard/guard.yaml
  guardd serve --config /etc/guard/guard.yaml
  guardd backup --config /etc/guard/guard.yaml /backup/ledger-monday.db`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(initCommand(), serveCommand(), checkCommand(), providersCommand(), backupCommand(), restoreCommand(), doctorCommand(), notifyCommand(), demoCommand(), simulateCommand(), benchCommand(), versionCommand())
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitRight
	}
	if errors.Is(err, errUnwell) {
		return exitFailed // it has been told
	}
	fmt.Fprintf(errOut, "guardd: %v\n", err)
	var u usageError
	switch {
	case errors.As(err, &u):
		fmt.Fprintf(errOut, "See '%s --help'.\n", cmd.CommandPath())
		return exitUsage
	case errors.Is(err, errNobody):
		return exitNobody
	case errors.Is(err, errFile):
		return exitUsage
	}
	return exitFailed
}

var (
	// errFile marks a configuration that cannot be used.
	errFile = errors.New("the configuration cannot be used")
	// errNobody marks a daemon that cannot be reached.
	errNobody = errors.New("guardd cannot be reached")
)

// usage makes a complaint about arguments a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			if len(args) > 0 && !cmd.HasSubCommands() && strings.HasPrefix(err.Error(), "unknown command") {
				err = fmt.Errorf("%s takes no arguments, and was given %q", cmd.CommandPath(), args[0])
			}
			return usageError{err}
		}
		return nil
	}
}

// version is the module's, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && (v == "" || v == "(devel)") {
			v = s.Value[:12]
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return v
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "guardd", version())
			return err
		},
	}
}

// newLog writes the log as text: time, level, a constant message, fields.
func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
