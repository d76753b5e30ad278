package release

import (
	"fmt"
	"strings"
	"time"

	"guard"
	"guard/policy/say"
)

// Said is what people are told about a release.
type Said struct {
	// Stage makes the message's ID, together with the release's.
	Stage  string
	Rule   guard.Rule // the finding's, where there is one
	Urgent bool
	Title  string
	Lines  []string
}

// Scene is what the texts need beside the release.
type Scene struct {
	Purpose string
	// Hourly is what it bills per hour; unset where unknown.
	Hourly guard.Money
	Zone   *time.Location
	// Lang is what people read.
	Lang guard.Lang
	// ByHand: only people can end it, so that a release asks them to.
	ByHand bool
}

func (s Scene) say(format string, args ...any) string { return say.In(s.Lang, format, args...) }

// kept puts what the release keeps in English into the language that people read.
func (s Scene) kept(text string) string { return say.Kept(s.Lang, text) }

func (s Scene) stamp(t time.Time) string {
	zone := s.Zone
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

func (s Scene) name(r guard.Release) string {
	if s.Purpose == "" {
		return r.Target.String()
	}
	return s.say("%s (%s)", r.Target, s.Purpose)
}

func (s Scene) bills() string {
	if s.Hourly.IsSet() {
		return s.say("It goes on billing %s per hour.", s.Hourly.Round())
	}
	return s.say("It goes on billing, at a price that is not known.")
}

// verbs of an action: what is to be done, and what was done.
func (s Scene) verbs(a guard.Action) (do, done string) {
	if a == guard.ActStop {
		return s.say("stop"), s.say("stopped")
	}
	return s.say("release"), s.say("released")
}

// todo is what guard does by itself: where only people can end a thing, it asks them.
func (s Scene) todo(a guard.Action) string {
	if s.ByHand && a == guard.ActRelease {
		return s.say("ask people to end")
	}
	do, _ := s.verbs(a)
	return do
}

func (s Scene) wasDue(r guard.Release) string {
	return s.say("It was due at %s: %s.", s.stamp(r.Due), s.kept(r.Why))
}

// Blocked says that a release cannot go on, and what a person can do.
func Blocked(r guard.Release, s Scene) Said {
	do, _ := s.verbs(r.Action)
	lines := []string{
		s.wasDue(r),
		s.say("What stands in the way: %s.", strings.TrimSuffix(s.kept(clip(r.LastError)), ".")),
		s.bills(),
	}
	stage := "blocked " + string(r.Reason)
	if !r.Paged.IsZero() {
		stage += " " + r.Paged.UTC().Format(time.RFC3339)
	}
	return Said{Stage: stage, Rule: guard.RuleReleaseBlocked, Urgent: true,
		Title: s.say("%s: guard cannot %s it: %s", s.name(r), do, s.reasonWord(r.Reason)),
		Lines: append(lines, s.remedy(r)...)}
}

func (s Scene) reasonWord(b guard.BlockReason) string {
	switch b {
	case guard.BlockPermission:
		return s.say("permission denied")
	case guard.BlockProtected:
		return s.say("it is protected")
	case guard.BlockAccount:
		return s.say("the credentials belong to another account")
	case guard.BlockProvider:
		return s.say("its account is not configured any more")
	case guard.BlockNotSame:
		return s.say("the ID names another thing now")
	case guard.BlockSurprise:
		return s.say("too many releases that nobody could foresee")
	case guard.BlockClock:
		return s.say("guard's clock is not to be trusted")
	case guard.BlockUnreadable:
		return s.say("it cannot be read")
	case guard.BlockPerson:
		return s.say("only a person can")
	}
	return string(b)
}

// remedy is what a person can do, and what guard does meanwhile.
func (s Scene) remedy(r guard.Release) []string {
	id := r.Target.String()
	switch r.Reason {
	case guard.BlockPermission:
		return []string{s.say("Give guard's credentials the permission that the provider's message names; guard tries again every 5 minutes."),
			s.say("Or end it at the provider.")}
	case guard.BlockProtected:
		return []string{s.say("If it may go: take the protection off (guard unprotect %s, the tag, or the provider's own lock); guard goes on by itself.", id)}
	case guard.BlockAccount:
		return []string{s.say("Put the right credentials for the account %s back; guard goes on by itself.", r.Target.Account)}
	case guard.BlockProvider:
		return []string{s.say("Put the account %s back into the configuration, or end it at the provider.", r.Target.Account)}
	case guard.BlockNotSame:
		return []string{s.say("guard does not touch what was not registered. Look at it at the provider; if it is yours, register it anew.")}
	case guard.BlockSurprise:
		return []string{s.say("If it is right: guard release %s lets this one go.", id), s.say("If it is not: %s", s.keep(r))}
	case guard.BlockClock:
		return []string{s.say("Set the clock of guard's machine right; guard goes on once a provider's own time agrees.")}
	case guard.BlockUnreadable:
		return []string{s.say("guard does not act on what it cannot see; it tries again every minute. If it must end now, end it at the provider.")}
	case guard.BlockPerson:
		return []string{s.say("Somebody has to do it. Where nobody but you can tell that it is done: guard release %s --confirm-gone", id)}
	}
	return nil
}

// Failing says that a release has failed several times.
func Failing(r guard.Release, s Scene) Said {
	do, _ := s.verbs(r.Action)
	return Said{Stage: "failing", Rule: guard.RuleReleaseBlocked, Urgent: true,
		Title: s.say("%s: cannot %s it yet, %d tries failed", s.name(r), do, r.Failures),
		Lines: []string{
			s.wasDue(r),
			s.say("The last error: %s.", strings.TrimSuffix(s.kept(clip(r.LastError)), ".")),
			s.bills(),
			s.say("guard goes on trying for ever."),
		}}
}

// Stalled says that an accepted release had no effect in time.
func Stalled(r guard.Release, s Scene) Said {
	do, _ := s.verbs(r.Action)
	return Said{Stage: fmt.Sprintf("stalled %d", r.Attempt), Rule: guard.RuleReleaseStalled, Urgent: true,
		Title: s.say("%s: the provider accepted to %s it, and it is still alive", s.name(r), do),
		Lines: []string{s.say("Accepted at %s.", s.stamp(r.IssuedAt)), s.bills(), s.say("guard asks again.")}}
}

// Renotice is the notice after a block that made the first one stale.
func Renotice(r guard.Release, s Scene) Said {
	return Said{Stage: fmt.Sprintf("notice %d", r.NoticedAt.Unix()),
		Title: s.say("%s: what kept guard from it is gone, so guard will %s it after its notice", s.name(r), s.todo(r.Action)),
		Lines: []string{s.wasDue(r), s.bills(),
			s.say("To keep it: %s", s.keep(r))}}
}

// keep is what keeps a resource from its release.
func (s Scene) keep(r guard.Release) string {
	if r.Cause == guard.CauseCeiling {
		return s.say("an admin raises ceilings in guard's configuration, or protects it: guard protect %s", r.Target)
	}
	if r.Cause.Stops() {
		return fmt.Sprintf("guard hold %s --for 4h", r.Target)
	}
	if r.Cause.Judgement() {
		return fmt.Sprintf("guard veto %s", r.Target)
	}
	return fmt.Sprintf("guard extend %s --by 2h", r.Target)
}

// Released is the receipt.
func Released(r guard.Release, s Scene) Said {
	_, done := s.verbs(r.Action)
	out := Said{Stage: "released", Title: s.say("%s: %s, with proof", s.name(r), done)}
	c := r.Receipt
	if c == nil {
		return out
	}
	out.Lines = append(out.Lines, s.say("Why: %s.", s.kept(r.Why)))
	switch {
	case r.Action == guard.ActStop:
		out.Lines = append(out.Lines, s.say("It is stopped, seen at %s.", s.stamp(c.ProvenAt)))
	case strings.HasPrefix(c.Proof, guard.ProofOf("")):
		out.Lines = append(out.Lines, s.say("Gone at %s, or before that; proof: %s, and nothing else.", s.stamp(c.GoneAt), s.kept(c.Proof)))
	case c.Proof == guard.ProofAbsence:
		out.Lines = append(out.Lines, s.say("Gone at %s; proof: absence only (the provider shows it no more; its bill has the last word).", s.stamp(c.GoneAt)))
	default:
		out.Lines = append(out.Lines, s.say("Gone at %s; proof: %s, read twice, last at %s.", s.stamp(c.GoneAt), s.kept(c.Proof), s.stamp(c.ProvenAt)))
	}
	spent := say.Amounts(c.Spend)
	switch {
	case spent != "" && c.Budget.IsSet() && c.Unspent.IsSet():
		out.Lines = append(out.Lines, s.say("Spent %s of %s; %s left.", spent, c.Budget.Round(), c.Unspent.Round()))
	case spent != "" && c.Budget.IsSet():
		out.Lines = append(out.Lines, s.say("Spent at least %s of %s.", spent, c.Budget.Round()))
	case spent != "":
		out.Lines = append(out.Lines, s.say("Spent %s.", spent))
	default:
		out.Lines = append(out.Lines, s.say("What it cost is not known."))
	}
	if traffic := say.Amounts(c.Traffic); traffic != "" {
		out.Lines = append(out.Lines, s.say("%s of that is for traffic, as far as it was told by %s; what was sent after that is not in it.", traffic, s.stamp(c.TrafficAt)))
	}
	if len(c.Leftovers) > 0 {
		var ids []string
		for _, id := range c.Leftovers {
			ids = append(ids, s.kept(string(id.Kind))+" "+id.ID)
		}
		out.Lines = append(out.Lines, s.say("Left behind and still billing, as far as is known: %s.", strings.Join(ids, s.say(", "))))
	}
	if c.Attempts > 1 {
		out.Lines = append(out.Lines, s.say("It took %d attempts.", c.Attempts))
	}
	return out
}

// Withdrawn says that it will not happen after all.
func Withdrawn(r guard.Release, why string, s Scene) Said {
	out := Said{Stage: "withdrawn", Title: s.say("%s: it will not be released now: %s", s.name(r), s.kept(why))}
	if r.Action == guard.ActStop {
		out.Title = s.say("%s: it will not be stopped now: %s", s.name(r), s.kept(why))
	}
	return out
}

// Ordered is the notice of a person's own order.
func Ordered(r guard.Release, s Scene) Said {
	return Said{Stage: "notice", Title: s.say("%s: guard is about to %s it: %s", s.name(r), s.todo(r.Action), s.kept(r.Why)),
		Lines: []string{s.say("Ordered by %s at %s.", r.By, s.stamp(r.PlannedAt))}}
}

// Message is what is said as a message, not yet for any channel.
func (s Said) Message(r guard.Release, finding string, at time.Time) guard.Message {
	return guard.Message{Thread: r.Target.Key(), About: []guard.ResourceID{r.Target}, Rule: s.Rule, Finding: finding, Release: r.ID,
		Urgent: s.Urgent, Title: s.Title, Lines: s.Lines, CreatedAt: at}
}

// clip keeps a message readable when an error in it came from outside.
func clip(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
