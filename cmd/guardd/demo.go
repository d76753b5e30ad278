package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"guard/configs"
	"guard/daemon"
	notifylog "guard/daemon/notify/log"
	"guard/daemon/simulate"
)

// demoSpeed is how much faster than real the demo's time runs: its story of an
// hour takes a minute.
const demoSpeed = 60

func demoCommand() *cobra.Command {
	var once bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Play a story of a minute: no account, no key, no server", Args: usage(cobra.NoArgs),
		Long: fmt.Sprintf(`Run the real daemon against a fake cloud, with time sped up %d times, and play a
story: a forgotten box is warned about and released under its cap, a spot
reclaim leaves a disk behind, an unregistered box is found. Messages appear as
they would in Slack. Afterwards the daemon goes on, for you to try guard on.

The story is configs/scenarios/demo.yaml; guardd simulate plays others.`, demoSpeed),
		Example: "  guardd demo\n  guardd demo --once",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), demoSpeed, once)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "end with the story; exit 0 if all went as told")
	return cmd
}

// demo plays the shipped story for people to watch.
func demo(ctx context.Context, out io.Writer, speed int, once bool) (err error) {
	story, err := simulate.Parse(configs.Demo, "demo.yaml", sections)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "guard-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	listener, err := daemon.ListenUnix(ctx, filepath.Join(dir, "guard.sock"), "")
	if err != nil {
		return err
	}
	addr := "unix:" + listener.Addr().String()

	stage := simulate.NewStage(speed, notifylog.NewPretty(out, "terminal", nil, colored(out)))
	stage.Said = func(offset time.Duration, text string) {
		fmt.Fprintf(out, "\n── %02d:%02d ── %s\n", int(offset.Hours()), int(offset.Minutes())%60, text)
	}
	stage.Ran = func(command, printed string) { fmt.Fprintf(out, "\n$ %s\n%s", command, printed) }
	stage.Ended = func(r *simulate.Result) bool {
		if len(r.Failures) > 0 {
			return false
		}
		fmt.Fprintf(out, "\nAll went as told (%d expectations): lab/trainer was released under its cap, the\n", r.Passed)
		fmt.Fprintln(out, "disk that the spot box left behind and the box that nobody registered were found.")
		if !once {
			invite(out, addr)
		}
		return !once
	}
	server := newServer(ctx, stage)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	fmt.Fprintf(out, "guard on a fake cloud. One minute here is a second of yours; the story takes %s.\n",
		(story.Length() / time.Duration(speed)).Round(time.Second))
	result, err := story.Run(ctx, simulate.Options{Run: inStory(80), Seed: 1, Stage: stage})
	if closing := errors.Join(server.Close(), <-served); !errors.Is(closing, http.ErrServerClosed) {
		err = errors.Join(err, closing)
	}
	switch {
	case !once && errors.Is(err, context.Canceled):
		return nil // whoever watched has seen enough
	case err != nil:
		return err
	case len(result.Failures) > 0:
		fmt.Fprintln(out)
		result.Told(out, story.File)
		return errNotAsExpected
	}
	return nil
}

func invite(out io.Writer, addr string) {
	fmt.Fprintf(out, "\nThe daemon goes on. In another terminal:\n\n")
	for _, args := range []string{"ls", "why lab/stray", `register lab/stray --purpose "try vllm" --ttl 2h`, "findings", "release lab/stray", "log"} {
		fmt.Fprintf(out, "  go run ./cmd/guard --addr %s %s\n", addr, args)
	}
	fmt.Fprintln(out, "\nCtrl-C ends it.")
}

// colored reports whether what is written there may have colors.
func colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}
