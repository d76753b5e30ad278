package decide

import (
	"time"

	"guard"
	"guard/store"
)

// GiveNotice makes everything overdue in accounts get fresh notice from now on
// (law 8), where guard acts there by a person's word or by a new configuration: it
// does not depend on whether a run of the loop has seen them in observe mode.
func GiveNotice(tx *store.Tx, now time.Time, why string, accounts ...string) error {
	modes := map[string]guard.Mode{}
	if _, err := tx.Value(modesValue, &modes); err != nil {
		return err
	}
	for _, name := range accounts {
		status, _, err := tx.Accounts.Get(name)
		if err != nil {
			return err
		}
		status.Name = name
		status.FreshFrom, status.FreshWhy = now, why
		if err := tx.Accounts.Put(status); err != nil {
			return err
		}
		if err := tx.Journal(freshEntry(name, why, now)); err != nil {
			return err
		}
		modes[name] = guard.Enforce
	}
	if len(accounts) == 0 {
		return nil
	}
	return tx.SetValue(modesValue, modes)
}

func freshEntry(account, why string, now time.Time) guard.JournalEntry {
	return guard.JournalEntry{At: now, Who: "guard", Verb: "fresh_notice", Subject: account,
		Text: "limits that are overdue get fresh notice: " + why}
}
