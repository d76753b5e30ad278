package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard"
	"guard/daemon/client"
	"guard/daemon/wire"
)

// completeFor bounds what a shell waits for: it answers within it, or not at all.
const completeFor = 700 * time.Millisecond

// suggestion gives what could be typed; what goes wrong gives nothing.
type suggestion func(context.Context, *client.Client) []string

// complete suggests the arguments of a command, one function each; the last stands
// for all that follow.
func (a *app) complete(each ...suggestion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.suggest(each[len(args)], args, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeMany suggests any number of the same arguments, each once.
func (a *app) completeMany(s suggestion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.suggest(s, args, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeFlag(cmd *cobra.Command, flag string, s suggestion) {
	if !a.completes {
		return
	}
	// The only error is a flag that is not there, which a test would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.suggest(s, nil, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *app) suggest(s suggestion, not []string, typed string) []string {
	c, err := a.dial()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeFor)
	defer cancel()
	var out []string
	for _, word := range s(ctx, c) {
		plain, _, _ := strings.Cut(word, "\t")
		if strings.HasPrefix(plain, typed) && !slices.Contains(not, plain) && clean(plain) == plain && !strings.Contains(plain, " ") {
			out = append(out, word)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// words suggests what is fixed.
func words(all ...string) suggestion {
	return func(context.Context, *client.Client) []string { return all }
}

// resources suggests what guard knows of, with its name.
func (a *app) resources(ctx context.Context, c *client.Client) []string {
	list, err := c.List(ctx, client.Filter{})
	if err != nil {
		return nil
	}
	var out []string
	for _, it := range list.Items {
		word := it.Account + "/" + it.ID
		if about := clean(strings.TrimSpace(it.Name + " " + it.Purpose)); about != "" {
			word += "\t" + about
		}
		out = append(out, word)
	}
	return out
}

// unclaimed suggests what nobody has registered, and all that there is where everything is.
func (a *app) unclaimed(ctx context.Context, c *client.Client) []string {
	list, err := c.List(ctx, client.Filter{Kind: "instance"})
	if err != nil {
		return nil
	}
	var out []string
	for _, it := range list.Items {
		if !claimed(it) {
			out = append(out, strings.TrimSuffix(it.Account+"/"+it.ID+"\t"+clean(strings.TrimSpace(it.Name+" "+it.Type)), "\t"))
		}
	}
	if len(out) == 0 {
		return a.resources(ctx, c)
	}
	return out
}

// alone suggests the IDs of what nobody has registered that will do without the account, for
// only one has them.
func (a *app) alone(ctx context.Context, c *client.Client) []string {
	list, err := c.List(ctx, client.Filter{Kind: "instance"})
	if err != nil {
		return nil
	}
	var out []string
	have := map[string]int{}
	for _, it := range list.Items {
		if it.EndedAt == nil && it.Expect == nil {
			have[it.ID]++
		}
	}
	for _, it := range list.Items {
		if !claimed(it) && have[it.ID] == 1 && !strings.Contains(it.ID, "/") {
			out = append(out, it.ID+"\t"+clean(strings.TrimSpace(it.Account+" "+it.Name+" "+it.Type)))
		}
	}
	return out
}

// accounts suggests the configured ones.
func (a *app) accounts(ctx context.Context, c *client.Client) []string {
	status, err := c.Status(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, x := range status.Accounts {
		out = append(out, x.Name)
	}
	return out
}

// owners suggests whoever has registered something.
func (a *app) owners(ctx context.Context, c *client.Client) []string {
	list, err := c.List(ctx, client.Filter{})
	if err != nil {
		return nil
	}
	var out []string
	for _, it := range list.Items {
		out = append(out, it.Owner)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// tokenNames suggests the names and IDs of those that open something.
func (a *app) tokenNames(ctx context.Context, c *client.Client) []string {
	list, err := c.Tokens(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range list.Tokens {
		if t.State == wire.TokenValid {
			out = append(out, t.Name, t.ID+"\t"+clean(t.Name))
		}
	}
	return out
}

// vetoable suggests the rules that a veto can keep from something.
func (a *app) vetoable(context.Context, *client.Client) []string {
	out := make([]string, 0, len(vetoable))
	for _, r := range vetoable {
		out = append(out, string(r))
	}
	return out
}

// vetoable is what package policy says of it, which this binary goes without.
var vetoable = []guard.Rule{guard.RuleExpired, guard.RuleBudgetExceeded, guard.RuleUnregistered, guard.RuleEgressSpike, guard.RuleStoppedBilling,
	guard.RuleIdleEmpty, guard.RuleIdleResident, guard.RuleIdleBlind, guard.RuleParked, guard.RuleHung, guard.RuleUnderused,
	guard.RuleOrphanVolume, guard.RuleOrphanSnapshot, guard.RuleOrphanImage, guard.RuleOrphanAddress, guard.RuleOrphanFilesystem}
