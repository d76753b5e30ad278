package configs

import (
	"time"
	_ "time/tzdata" // time_zone must work on a machine without zone files

	"guard"
	"guard/policy"
	"guard/providers"
	"guard/providers/prices"
)

// Config is a whole configuration, checked, with the defaults filled in.
type Config struct {
	// File is the name it was loaded under; messages and relative paths go by it.
	File string
	// Mode is that of every account that names none of its own.
	Mode   guard.Mode
	Ledger Ledger
	Listen Listen
	// TimeZone is for schedules and for what people read; the ledger keeps UTC.
	TimeZone *time.Location
	// Accounts are in the order of the file; their names are unique.
	Accounts []Account
	// Rules are what policy judges by: rules, limits, protection and the
	// defaults of a lease.
	Rules  policy.Rules
	Backup Backup
	// Retention is how long what is over is kept in the ledger.
	Retention time.Duration
	// Signals are where samples of how hard instances work come from.
	Signals Signals
	Notify  Notify
	// Notes are what is allowed and yet worth telling whoever wrote the file.
	Notes []Problem
}

// Ledger says where the ledger is kept.
type Ledger struct {
	Backend string // "bolt"
	Path    string
}

// Account is one configured credential.
type Account struct {
	Name       string
	Provider   string
	Mode       guard.Mode // resolved: its own, or else the global one
	MayRelease providers.MayRelease
	Poll       Schedule // instances
	Sweep      Schedule // volumes, snapshots, images, addresses
	// Prices is the path of the price book; "" where there is none.
	Prices string
	// Book is the price book itself; nil where there is none.
	Book *prices.Book
	// Section is what the account's SectionDecoder made of its own section.
	Section any
	// Line is where the account begins in the file.
	Line int
}

// Account returns the account of a name.
func (c *Config) Account(name string) (Account, bool) {
	for _, a := range c.Accounts {
		if a.Name == name {
			return a, true
		}
	}
	return Account{}, false
}
