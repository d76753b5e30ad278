package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard/cmd/guard/cli"
)

// observing is what every first set-up ends with.
const observing = "OBSERVE: guard will not release anything; `guard enforce ACCOUNT` when you trust it"

func initCommand() *cobra.Command {
	s := &setup{env: os.LookupEnv, finders: finders}
	cmd := &cobra.Command{
		Use: "init", Short: "Set guard up: find the accounts, register what runs, write guard.yaml", Args: usage(cobra.NoArgs),
		Long: `Find credentials on this machine, list every box of each account with what it
costs an hour, ask what each is for, how long and up to what cap, write a small
guard.yaml in observe mode, and put the leases into a new ledger. An answer of
Enter takes what stands in brackets, "-" leaves a box unregistered.

Without a terminal nothing is asked: --yes takes every account that is found, and
--register says which boxes are whose. Nothing is written before all of it is
known to be right; an interrupt leaves nothing behind. No secret is printed or
written: guard.yaml says where they are found.`,
		Example: `  guardd init
  guardd init --yes --account research
  guardd init --yes --register i-0abc="lora 70b,24h,200USD,2.50USD/h" --slack-channel "#gpu-cost"
  guardd init --yes --url FEISHU_URL`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.IO = cli.OS()
			s.In, s.Out, s.Err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return s.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.yes, "yes", false, "ask nothing: take the defaults, register what --register names")
	f.StringArrayVar(&s.only, "account", nil, "watch only this one, by `NAME`, or NAME=FOUND to name what was found so; may be repeated")
	f.StringArrayVar(&s.register, "register", nil, "`ID=PURPOSE,TTL,BUDGET[,PRICE]`, such as i-0abc=\"lora 70b,24h,200USD\"; may be repeated")
	f.BoolVar(&s.noGPUOK, "no-gpu-ok", false, "boxes without a GPU may be registered for release, too")
	f.StringVar(&s.prices, "prices", "", "a price book `FILE`, for accounts that tell no prices (aws)")
	f.StringVar(&s.people.channel, "slack-channel", "", "tell people in this Slack channel; the bot's token is in SLACK_BOT_TOKEN")
	f.StringVar(&s.people.variable, "url", "", "tell people at the address in this environment `VARIABLE`, too, such as feishu://… or smtp://…")
	f.StringVar(&s.file, "out", "", "the configuration `FILE` (default /etc/guard/guard.yaml for root, ./guard.yaml for others)")
	f.StringVar(&s.ledger, "ledger", "", "the ledger's `FILE` (default /var/lib/guard/ledger.db, or ~/.local/share/guard/ledger.db)")
	f.StringVar(&s.socket, "socket", "", "the daemon's socket (default /run/guard/guard.sock, or $XDG_RUNTIME_DIR/guard.sock)")
	f.BoolVar(&s.force, "force", false, "write over a configuration that is there; never over a ledger")
	return cmd
}

// setup is one run of init.
type setup struct {
	cli.IO
	env     func(string) (string, bool)
	finders []finder

	yes, noGPUOK, force  bool
	only, register       []string
	prices               string
	people               told
	file, ledger, socket string
	slackEndpoint        string // of tests; "" is Slack

	lines <-chan string // what people type
	undo  []func()      // what takes back what was made, the last one first
}

// run sets guard up, or leaves nothing behind.
func (s *setup) run(ctx context.Context) (err error) {
	wishes, err := s.check()
	if err != nil {
		return err
	}
	done := false
	defer func() {
		for i := len(s.undo) - 1; i >= 0 && !done; i-- {
			s.undo[i]()
		}
		if err != nil {
			if ctx.Err() != nil {
				err = errors.New("interrupted")
			}
			err = fmt.Errorf("%w\nNothing was written", err)
		}
	}()
	if err := s.prepare(); err != nil {
		return err
	}
	accounts, err := s.accounts(ctx)
	if err != nil {
		return err
	}
	h, err := s.look(ctx, accounts)
	if err != nil {
		return err
	}
	leases, err := s.leases(ctx, h, wishes)
	if err := errors.Join(err, h.close()); err != nil {
		return err
	}
	if err := s.slack(ctx); err != nil {
		return err
	}
	if err := s.service(ctx); err != nil {
		return err
	}
	lines, err := s.commit(ctx, h, accounts)
	if err != nil {
		return err
	}
	done = true
	s.next(lines, leases)
	return nil
}

// check refuses flags that cannot be carried out, before anything is asked for.
func (s *setup) check() ([]wish, error) {
	if !s.Ask && !s.yes {
		return nil, usageError{errors.New("there is no terminal to ask on: say --yes, and --register ID=PURPOSE,TTL,BUDGET for each box to register")}
	}
	s.Ask = s.Ask && !s.yes
	wishes := make([]wish, 0, len(s.register))
	for _, text := range s.register {
		w, err := parseWish(text)
		if err != nil {
			return nil, usageError{err}
		}
		wishes = append(wishes, w)
	}
	if _, ok := s.env(slackToken); s.people.channel != "" && !ok {
		return nil, usageError{fmt.Errorf("--slack-channel wants the bot's token in %s, and that is not set", slackToken)}
	}
	if _, ok := s.env(s.people.variable); s.people.variable != "" && !ok {
		return nil, usageError{errors.New("--url wants the name of an environment variable that has the address, and that is not set")}
	}
	return wishes, nil
}

// next says what to do now.
func (s *setup) next(lines, leases int) {
	out := s.Out
	fmt.Fprintf(out, "\n%s has %d lines, the ledger %s %s.\nNext:\n\n", s.file, lines, s.ledger, many(leases, "lease", "leases"))
	fmt.Fprintf(out, "  guardd serve --config %s\n", shell(s.file))
	if s.socket != "/run/guard/guard.sock" {
		fmt.Fprintf(out, "  export GUARD_ADDR=%s\n", shell("unix:"+s.socket))
	}
	fmt.Fprintf(out, "  guard ls\n\n%s\n", observing)
}

func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// shell quotes a word for a shell where it needs that.
func shell(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,", r)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// patiently says what is waited for where that takes more than a moment. fn prints
// nothing to w itself.
func patiently(w io.Writer, doing string, fn func()) {
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		wait := time.NewTimer(2 * time.Second)
		defer wait.Stop()
		select {
		case <-over:
		case <-wait.C:
			fmt.Fprintf(w, "%s …\n", doing)
		}
	}()
	fn()
	close(over)
	<-told
}
