package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"guard"
	"guard/providers"
)

func providersCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "providers [NAME]", Short: "What each provider does: what a stop saves, what a release leaves, what can be read",
		Long: `Print what guard knows of each kind of provider, as its adapter declares it: what a
stop saves, how time is billed, what the release of a machine leaves, what happens
when a balance is used up, and what its API tells. No provider is called, and no
configuration is read.`,
		Example: "  guardd providers\n  guardd providers runpod\n  guardd providers -o json",
		Args: usage(func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("one provider, not %d", len(args))
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := slices.Sorted(maps.Keys(unconfigured))
			if len(args) == 1 {
				if unconfigured[args[0]] == nil {
					return usageError{fmt.Errorf("no provider is called %q: there are %s", args[0], strings.Join(kinds, ", "))}
				}
				kinds = args
			}
			all := make([]declared, 0, len(kinds))
			for _, kind := range kinds {
				all = append(all, declaredBy(kind, unconfigured[kind]))
			}
			switch out := cmd.OutOrStdout(); output {
			case "table":
				return writeDeclared(out, all)
			case "json":
				enc := json.NewEncoder(out)
				enc.SetIndent("", "  ")
				return enc.Encode(all)
			case "markdown":
				_, err := io.WriteString(out, markdown(all))
				return err
			}
			return usageError{fmt.Errorf("-o %s: write -o table, -o json or -o markdown", output)}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table, json or markdown (the README's table)")
	return cmd
}

// declared is what an adapter says of its provider.
type declared struct {
	Provider string       `json:"provider"`
	Truths   guard.Truths `json:"truths"`
	Can      can          `json:"can"`
}

// can is what an adapter does beyond listing, reading and releasing.
type can struct {
	Stop    bool `json:"stop"`
	Tags    bool `json:"tags"`
	Locks   bool `json:"locks"`
	Probe   bool `json:"probe"`
	Signals bool `json:"signals"`
	Timer   bool `json:"timer"`
	Balance bool `json:"balance"`
	Charges bool `json:"charges"`
}

func declaredBy(kind string, p providers.Provider) declared {
	a := providers.NewAccount("", kind, p)
	return declared{kind, p.Truths(), can{
		Stop: a.Stopper != nil, Tags: a.Tagger != nil, Locks: a.Protector != nil, Probe: a.Prober != nil,
		Signals: a.Signals != nil, Timer: a.Timer != nil, Balance: a.Balancer != nil, Charges: a.Biller != nil,
	}}
}

// saves are the effects of a stop in words.
var saves = map[guard.StopEffect]string{
	guard.StopUnknown:      "not known, so nothing",
	guard.StopSavesNothing: "nothing",
	guard.StopSavesCompute: "the machine; disks bill on",
	guard.StopSavesAll:     "everything",
	guard.StopUnsupported:  "there is no stop",
}

// atZero are what happens when a balance is used up.
var atZero = map[guard.AtZero]string{
	guard.ZeroUnknown: "",
	guard.ZeroNothing: "it bills into debt",
	guard.ZeroStops:   "machines are stopped",
	guard.ZeroDeletes: "machines are deleted",
}

// factsOf is one provider, a line for each fact; those without a word are left out.
func factsOf(d declared) [][2]string {
	t := d.Truths
	lines := [][2]string{{"a stop saves", saves[t.Stop]}}
	for _, mode := range slices.Sorted(maps.Keys(t.StopBy)) {
		lines = append(lines, [2]string{"", mode + ": " + saves[t.StopBy[mode]]})
	}
	if t.StoppedEnds > 0 {
		lines = append(lines, [2]string{"stopped", "deleted with its data after " + span(t.StoppedEnds)})
	}
	release := "ends it at once"
	switch {
	case t.ByHand:
		release = "asks a person to"
	case t.StopFirst:
		release = "stops it first"
	}
	if t.ReleaseLead > 0 {
		release += "; billing ends within " + span(t.ReleaseLead)
	}
	proof := "two reads that find nothing"
	switch {
	case t.ByHand:
		proof = "a person's word, with their name"
	case t.TerminalBilling:
		proof = "a state in which nothing bills any more"
	case !t.HasGet:
		proof = "two complete listings without it"
	}
	if t.HasGet && len(t.ListedOnly) > 0 {
		proof += "; of " + names(t.ListedOnly) + " two complete listings"
	}
	price := map[string]string{"machine": "of the whole machine", "gpu": "of one GPU"}[t.PriceUnit]
	limit := "none is kept to"
	if t.CallsPerSecond > 0 {
		limit = strconv.FormatFloat(t.CallsPerSecond, 'g', 3, 64) + " calls a second"
	}
	ids := "may name another thing later"
	if t.ImmutableIDs {
		ids = "never name another thing"
	}
	return append(lines, [][2]string{
		{"a release", release},
		{"it leaves", leaves(t)},
		{"its proof", proof},
		{"a reclaim shows", t.ReclaimShows},
		{"time is billed", billed(t)},
		{"prices", price},
		{"balance", yes(d.Can.Balance)},
		{"balance spent", atZero[t.AtZero]},
		{"charges", yes(d.Can.Charges)},
		{"GPU use", gpuUse(t)},
		{"tags", yes(d.Can.Tags)},
		{"locks", yes(d.Can.Locks)},
		{"a timer", yes(d.Can.Timer)},
		{"IDs", ids},
		{"rate limit", limit},
	}...)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// span is a time as people write it: 1s, 10m, 15d.
func span(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := strings.TrimSuffix(d.String(), "m0s")
	if s != d.String() {
		s += "m"
	}
	if h := strings.TrimSuffix(s, "h0m"); h != s {
		s = h + "h"
	}
	return s
}

func billed(t guard.Truths) string {
	if t.Granularity <= 0 {
		return "in units that are not known"
	}
	s := "by " + span(t.Granularity)
	if unit := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}[t.Granularity]; unit != "" {
		s = "by the " + unit
	}
	if t.Minimum > 0 {
		s += ", " + span(t.Minimum) + " at least"
	}
	return s
}

func leaves(t guard.Truths) string {
	if len(t.DeleteLeaves) == 0 {
		return "nothing"
	}
	return names(t.DeleteLeaves)
}

// names are kinds as people say them.
func names(kinds []guard.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.Plural()
	}
	return strings.Join(names, ", ")
}

func gpuUse(t guard.Truths) string {
	if t.Signals == "" {
		return "not told: from the agent, Prometheus or ssh"
	}
	return t.Signals
}

// columns is how wide a terminal is at least.
const columns = 80

func writeDeclared(w io.Writer, all []declared) error {
	var b strings.Builder
	for i, d := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, d.Provider)
		for _, line := range factsOf(d) {
			if line[1] == "" {
				continue
			}
			for i, text := range fold(line[1], columns-20) {
				label := line[0]
				if i > 0 {
					label = ""
				}
				fmt.Fprintf(&b, "  %-16s  %s\n", label, text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold breaks a text between its words.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// markdown is the README's table of providers.
func markdown(all []declared) string {
	var b strings.Builder
	b.WriteString("| provider | a stop saves | time is billed | a release leaves | a reclaim shows | GPU use | balance | charges | tags | locks |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, d := range all {
		release := leaves(d.Truths)
		if d.Truths.StopFirst {
			release += " (and stops first)"
		}
		cells := []string{
			"`" + d.Provider + "`", saves[d.Truths.Stop], billed(d.Truths), release, d.Truths.ReclaimShows, gpuUse(d.Truths),
			yes(d.Can.Balance), yes(d.Can.Charges), yes(d.Can.Tags), yes(d.Can.Locks),
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
