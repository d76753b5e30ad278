package release_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"guard"
	"guard/policy/release"
)

var update = flag.Bool("update", false, "write what is said into testdata")

// TestSaid: all that is said of releases is in testdata/said.txt, in each language; in
// Chinese there is no word of English but those that people type, names and IDs.
func TestSaid(t *testing.T) {
	var got strings.Builder
	for _, lang := range guard.Langs {
		fmt.Fprintf(&got, "# %s\n", lang)
		for _, s := range everything(release.Scene{Purpose: "lora 70b", Hourly: guard.MustMoney("3.99 USD"), Lang: lang}) {
			text := s.Title + "\n"
			for _, l := range s.Lines {
				text += "\t" + l + "\n"
			}
			got.WriteString(text)
			if words := leftOver(text); lang == guard.Chinese && len(words) > 0 {
				t.Errorf("%q are English, in:\n%s", words, text)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/said.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/said.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// everything is each text about a release once, with the reasons as the ledger keeps them.
func everything(s release.Scene) []release.Said {
	at := time.Date(2026, 3, 6, 10, 0, 0, 0, time.UTC)
	r := guard.Release{ID: "r-1", Target: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, Action: guard.ActRelease, Cause: guard.CauseBudget,
		Why: "its cap of 20.00 USD is reached (2026-03-06T10:00:00Z)", Due: at, PlannedAt: at.Add(-time.Hour), NoticedAt: at.Add(time.Hour), IssuedAt: at, Attempt: 2, Failures: 3,
		LastError: "it cannot be read: 503 from lab", By: "ana"}
	var out []release.Said
	for _, b := range []struct {
		reason guard.BlockReason
		why    string
	}{
		{guard.BlockPermission, "it cannot be read: 403 from lab"}, {guard.BlockProtected, "the tag guard:keep=true protects it"},
		{guard.BlockAccount, "the credentials belong to another account"}, {guard.BlockProvider, "no account of this name is configured"},
		{guard.BlockNotSame, "the ID names another thing than the one registered"},
		{guard.BlockSurprise, "its deadline has stood since 2026-03-06T09:55:00Z only, not for the grace of 10m0s before it was due, and too many such releases came within an hour"},
		{guard.BlockClock, "guard's machine was started anew, and no provider's own time says yet that it is so late; it is due at 2026-03-06T10:00:00Z"},
		{guard.BlockUnreadable, "it cannot be read: no reason is told"}, {guard.BlockPerson, "the provider's own protection is on"},
	} {
		blocked := r
		blocked.Reason, blocked.LastError = b.reason, b.why
		out = append(out, release.Blocked(blocked, s))
	}
	stop, ceiling, free := r, r, s
	stop.Action, stop.Cause, stop.Why = guard.ActStop, guard.CauseIdle, "idle since 2026-03-06T09:00:00Z, with nothing loaded"
	ceiling.Cause, ceiling.Why = guard.CauseCeiling, "its ceiling of 2d is reached (2026-03-06T10:00:00Z)"
	free.Hourly, free.Purpose = guard.Money{}, ""
	byHand := s
	byHand.ByHand = true
	person := r
	person.Cause, person.Why = guard.CausePerson, "ordered by ana: 70b"
	surprised := stop
	surprised.Reason, surprised.LastError = guard.BlockSurprise, "it is protected"
	out = append(out, release.Failing(r, s), release.Stalled(r, free), release.Renotice(r, s), release.Renotice(stop, s), release.Renotice(ceiling, s),
		release.Blocked(surprised, s), release.Ordered(person, s), release.Ordered(stop, free), release.Ordered(person, byHand), release.Renotice(r, byHand), release.Ordered(stop, byHand))
	for _, why := range []string{"no limit calls for it any more", "it is gone already", "the account is in observe mode", "its lease has ended", "it is protected",
		"it is held until 2026-03-06T12:00:00Z", "it runs again", "its limits were changed by ana", "its limit asks for stop now, not release",
		"the rule idle_empty is vetoed until 2026-03-06T12:00:00Z by ana", "it works again: gpu 97 % at 2026-03-06T10:00:00Z", "whether it is idle cannot be told: util of gpu 0-3 is not told",
		"guard acts nowhere until somebody says guard resume: its ledger was restored from ledger-1.db, whose last entry is of 2026-03-06T10:00:00Z",
		"guard never touches it: may_release of the account asks for the tag team=nlp, which it does not have"} {
		out = append(out, release.Withdrawn(r, why, s))
	}
	out = append(out, release.Withdrawn(stop, "its traffic is down", s))
	receipt := func(c guard.Receipt, r guard.Release) release.Said {
		c.GoneAt, c.ProvenAt = at.Add(time.Minute), at.Add(2*time.Minute)
		r.Receipt = &c
		return release.Released(r, s)
	}
	usd := func(m string) []guard.Money { return []guard.Money{guard.MustMoney(m)} }
	left := []guard.ResourceID{{Account: "lab", Kind: guard.Volume, ID: "v-1"}, {Account: "lab", Kind: guard.Address, ID: "a-1"}}
	return append(out,
		receipt(guard.Receipt{Proof: guard.ProofTerminal, Spend: usd("19.90 USD"), Budget: guard.MustMoney("20 USD"), Unspent: guard.MustMoney("0.10 USD"), Attempts: 2,
			Traffic: usd("1.20 USD"), TrafficAt: at, Leftovers: left}, r),
		receipt(guard.Receipt{Proof: guard.ProofAbsence, Spend: usd("19.90 USD"), Budget: guard.MustMoney("20 USD")}, r),
		receipt(guard.Receipt{Proof: guard.ProofOf("ana"), Spend: usd("19.90 USD")}, r),
		receipt(guard.Receipt{Proof: "seen stopped"}, stop))
}

var (
	typed = regexp.MustCompile(`guard (?:extend|release|hold|veto|protect|unprotect|resume)\b|--[\w-]+`)
	names = regexp.MustCompile(`\S+/[\w.:-]+|[a-z]+_[a-z_]+|\w+:\w+=\w+|\w+=\w+|\b[\w.-]*\d[\w:.-]*\b`)
	word  = regexp.MustCompile(`[A-Za-z][A-Za-z']+`)
)

// leftOver are the words of English in a text, but for names.
func leftOver(text string) []string {
	text = names.ReplaceAllString(typed.ReplaceAllString(text, ""), "")
	return slices.DeleteFunc(word.FindAllString(text, -1), func(w string) bool {
		return slices.Contains(strings.Fields("guard GPU USD ID IP ana lora lab from ceilings"), w)
	})
}

// TestKeptErrors: what a release keeps of an error of somebody else is told as it is.
func TestKeptErrors(t *testing.T) {
	r := guard.Release{Target: guard.ResourceID{Account: "lab", Kind: guard.Instance, ID: "i-1"}, Reason: guard.BlockPermission, LastError: errors.New("UnauthorizedOperation: not allowed").Error()}
	if s := release.Blocked(r, release.Scene{Lang: guard.Chinese}); !slices.Contains(s.Lines, "受阻原因：UnauthorizedOperation: not allowed。") {
		t.Errorf("the provider's own words are told as %q", s.Lines)
	}
}
