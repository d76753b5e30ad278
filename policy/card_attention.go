package policy

import (
	"slices"
	"strings"

	"guard"
)

// StageOver is the stage of the message that a finding is over, and stageReceipt of the one
// that a release is done.
const (
	StageOver    = "over"
	stageReceipt = "released"
)

// asks are the rules whose findings want something of whoever owns the thing.
var asks = append([]guard.Rule{guard.RuleExpired, guard.RuleBudgetWarning, guard.RuleBudgetExceeded, guard.RuleCeilingReached,
	guard.RuleReleaseBlocked, guard.RuleReleaseStalled, guard.RuleStoppedBilling, guard.RuleEgressSpike, guard.RulePhantom,
	guard.RuleProviderReclaim, guard.RuleRenewsSoon, guard.RuleReclaimed, guard.RuleExpectedMissing}, judgements...)

// Mentions are those of whom a message about the subject wants something, by their names
// as owners. A receipt wants nothing of anybody, and neither does what is over.
func Mentions(f Facts, m guard.Message, stage string) []string {
	claim, notice := f.claim(), m.Release != "" && strings.HasPrefix(stage, "notice")
	if claim == nil || claim.Owner == "" || stage == StageOver {
		return nil
	}
	switch owner := claim.Owner; {
	case f.Release != nil && f.Release.Cause == guard.CausePerson && f.Release.By == owner && notice:
		// It was their own word.
	case notice || slices.Contains(asks, m.Rule) || orphanKind(m.Rule) != "" && m.Release != "":
		return []string{owner}
	}
	return nil
}

// notes are the rules whose findings cost nobody more in the morning than at night.
var notes = []guard.Rule{guard.RuleUnderused, guard.RulePriceChanged, guard.RuleChargeMismatch, guard.RuleCounterJump, guard.RuleCeilingBlind,
	guard.RuleProtectAmbiguous}

// Waits reports whether a message about the subject may be told in the morning only. What
// is urgent never may, nor the notice of a release, nor a limit that is reached within a
// day, nor what bills without a limit.
func Waits(r Rules, f Facts, m guard.Message, stage string) bool {
	switch {
	case m.Urgent:
		return false
	case stage == stageReceipt:
		return true
	case stage == StageOver:
		return m.Release == "" // else what was about to be done will not be, and its meter goes on
	case m.Release != "":
		return false
	case m.Rule == guard.RuleBudgetWarning:
		at, _, _ := f.coming(r)
		return !at.IsZero() && at.Sub(f.At) > near
	}
	return orphanKind(m.Rule) != "" || slices.Contains(notes, m.Rule)
}
