package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"guard"
	"guard/store"
)

// A term is one start of a guard. It stands on a few of the boxes that guard acts on,
// so that a second guard with a copy of the same ledger, whose deployment tag is the
// same, is told from this one (law 11): each finds a term there that it never had.

const (
	// witnesses is how many boxes of an account carry the term: a few calls a start.
	// Every box is looked at for another's.
	witnesses = 3
	// termsKept is how many of its own terms a guard knows again. A box that has an old
	// one gets the present one, so that none of them is older than a few starts.
	termsKept = 500
	// sure is in how many polls another's term is seen before it is believed.
	sure = 2
)

// termsName is the ledger's value with the terms that guard knows.
const termsName = "observe/terms"

// terms are what guard knows of terms.
type terms struct {
	Ours []string `json:"ours,omitzero"`
	// Strange are others' that were seen while guard was paused: a restored ledger has
	// forgotten some of its own. Resuming makes them ours.
	Strange []string `json:"strange,omitzero"`
}

func (t terms) own(term string) bool { return slices.Contains(t.Ours, term) }

// Forgive makes ours what was seen while guard was paused: an admin says that no
// other guard is alive. Guard goes on under a new term, so that another that is alive
// all the same is found again.
func Forgive(tx *store.Tx) error {
	return changeTerms(tx, func(t *terms) {
		t.add(t.Strange...)
		t.Strange = nil
	})
}

func (t *terms) add(own ...string) {
	t.Ours = append(t.Ours, own...)
	t.Ours = t.Ours[max(0, len(t.Ours)-termsKept):]
}

// note keeps another's term. Whoever may tag boxes may make up as many as they like.
func (t *terms) note(term string) {
	t.Strange = append(t.Strange, term)
	t.Strange = t.Strange[max(0, len(t.Strange)-termsKept):]
}

func changeTerms(tx *store.Tx, change func(*terms)) error {
	var t terms
	if _, err := tx.Value(termsName, &t); err != nil {
		return err
	}
	change(&t)
	return tx.SetValue(termsName, t)
}

// term looks for another guard's terms, and keeps ours on the witnesses.
func (r *round) term(ctx context.Context) error {
	l := r.l
	if l.term == "" || l.account.Tagger == nil {
		return nil
	}
	var t terms
	var p guard.Pause
	err := l.ledger.View(ctx, func(v *store.View) error {
		t, p = terms{}, guard.Pause{}
		if _, err := v.Value(termsName, &t); err != nil {
			return err
		}
		_, err := v.Value(guard.PauseName, &p)
		return err
	})
	if err != nil {
		return wrap("read whose terms are known", err)
	}
	strange := map[string]guard.ResourceID{} // the term's first box
	for _, key := range slices.Sorted(maps.Keys(r.alive)) {
		res := r.alive[key]
		term := res.Tags[guard.TagTerm]
		if _, twice := strange[term]; term != "" && !t.own(term) && !twice && res.Tags[guard.TagDeployment] == l.ledger.Deployment() {
			strange[term] = res.ID
		}
	}
	maps.DeleteFunc(l.strange, func(term string, _ int) bool { _, still := strange[term]; return !still })
	for _, term := range slices.Sorted(maps.Keys(strange)) {
		switch l.strange[term]++; {
		case slices.Contains(t.Strange, term):
		case p.On():
			err = l.ledger.Update(ctx, func(tx *store.Tx) error {
				return changeTerms(tx, func(t *terms) { t.note(term) })
			})
		case l.strange[term] >= sure:
			return r.rival(ctx, term, strange[term])
		}
		if err != nil {
			return wrap("note a term", err)
		}
	}
	return r.mark(ctx, t)
}

// mark writes the present term on the witnesses, and over older ones of ours, but over
// no other guard's.
func (r *round) mark(ctx context.Context, t terms) error {
	l := r.l
	if l.account.Mode != guard.Enforce {
		return nil
	}
	marked, calls := 0, 0
	for _, key := range slices.Sorted(maps.Keys(r.alive)) {
		res := r.alive[key]
		if !res.Live() || res.Tags[guard.TagDeployment] != l.ledger.Deployment() || calls == tagsPerRun {
			continue
		}
		on := res.Tags[guard.TagTerm]
		if l.leased[key] {
			marked++
		}
		if on == l.term || on != "" && !t.own(on) || on == "" && (!l.leased[key] || marked > witnesses) {
			continue
		}
		if !t.own(l.term) { // known again before it stands anywhere
			t.add(l.term)
			if err := l.ledger.Update(ctx, func(tx *store.Tx) error {
				return changeTerms(tx, func(t *terms) { t.add(l.term) })
			}); err != nil {
				return wrap("begin a term", err)
			}
		}
		calls++
		if err := l.account.Tagger.Tag(ctx, res.ID, map[string]string{guard.TagTerm: l.term}); err != nil {
			if err.Error() != l.termError {
				l.log.Warn("term not written", "id", res.ID.ID, "error", err)
			}
			l.termError = err.Error()
			return nil // all else works without it, and the next poll tries again
		}
	}
	return nil
}

// rival pauses guard because another one acts with a copy of its ledger, and answers
// with a term that the other never had, so that it does the same.
func (r *round) rival(ctx context.Context, term string, on guard.ResourceID) error {
	l := r.l
	answer := l.term + "-answer"
	why := fmt.Sprintf("another guard with a copy of its ledger acts in account %s: its mark (%s %s) is on %s", l.account.Name, guard.TagTerm, clip(term), on)
	err := l.ledger.Update(ctx, func(tx *store.Tx) error {
		var p guard.Pause
		if _, err := tx.Value(guard.PauseName, &p); err != nil || p.On() {
			return err
		}
		if err := tx.SetValue(guard.PauseName, guard.Pause{Cause: guard.PauseRival, Why: why, Since: r.at.Wall}); err != nil {
			return err
		}
		if err := changeTerms(tx, func(t *terms) { t.add(answer); t.note(term) }); err != nil {
			return err
		}
		return tx.Journal(guard.JournalEntry{At: r.at.Wall, Who: "guard", Verb: "paused", Subject: l.account.Name,
			Text: "guard acts nowhere until somebody says guard resume: " + why})
	})
	if err != nil {
		return wrap("pause guard", err)
	}
	l.log.Error("another guard acts with a copy of this ledger", "account", l.account.Name, "on", on.ID, "term", clip(term))
	if err := l.account.Tagger.Tag(ctx, on, map[string]string{guard.TagTerm: answer}); err != nil {
		l.log.Warn("the other guard is not answered", "id", on.ID, "error", err)
	}
	l.rival()
	return nil
}
