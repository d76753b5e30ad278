package store

import (
	"time"

	"guard"
)

// View reads a snapshot of the ledger inside [Ledger.View]. It is valid inside
// that function only.
type View struct {
	Leases   Table[guard.Lease]         // key Lease.ID
	Observed Table[guard.Observed]      // key Resource.ID.Key(): prefix "ACCOUNT/" or "ACCOUNT/instance/"
	Metered  Table[guard.Metered]       // key Resource.Key()
	Plans    Table[guard.Plan]          // key Lease
	Findings Table[guard.Finding]       // open ones, key Finding.Key()
	Releases Table[guard.Release]       // open ones, key Target.Key()
	Outbox   Table[guard.Message]       // pending ones, key Message.ID
	Scopes   Table[guard.ScopeStatus]   // key ScopeKey
	Accounts Table[guard.AccountStatus] // key Name
	Mutes    Table[guard.Mute]          // key Mute.Key()
	Tokens   Table[guard.Token]         // key ID
	Egress   Table[guard.Egress]        // key Resource.Key()
	Wallets  Table[guard.Wallet]        // key Account
	Bills    Table[guard.Bill]          // key Resource.Key()

	ClosedFindings Table[guard.Finding] // key Finding.ID
	EndedReleases  Table[guard.Release] // key Release.ID
	SentMessages   Table[guard.Message] // key Message.ID

	leaseIndex Table[leaseRefs]
	s          *snapshot
}

// Acked is when a channel acknowledged a message; zero while none has.
func (v *View) Acked(id string) (time.Time, error) {
	m, _, err := v.SentMessages.Get(id)
	return m.Acked, err
}

func newView(r Reader, i *image) *View {
	s := &snapshot{r, i}
	v := &View{s: s}
	v.Leases = Table[guard.Lease]{leases, s}
	v.leaseIndex = Table[leaseRefs]{leaseIndex, s}
	v.Observed = Table[guard.Observed]{observed, s}
	v.Metered = Table[guard.Metered]{metered, s}
	v.Plans = Table[guard.Plan]{plans, s}
	v.Findings = Table[guard.Finding]{findings, s}
	v.Releases = Table[guard.Release]{releases, s}
	v.Outbox = Table[guard.Message]{outbox, s}
	v.Scopes = Table[guard.ScopeStatus]{scopes, s}
	v.Accounts = Table[guard.AccountStatus]{accounts, s}
	v.Mutes = Table[guard.Mute]{mutes, s}
	v.Tokens = Table[guard.Token]{tokens, s}
	v.Egress = Table[guard.Egress]{egress, s}
	v.Wallets = Table[guard.Wallet]{wallets, s}
	v.Bills = Table[guard.Bill]{bills, s}
	v.ClosedFindings = Table[guard.Finding]{closedFindings, s}
	v.EndedReleases = Table[guard.Release]{endedReleases, s}
	v.SentMessages = Table[guard.Message]{sentMessages, s}
	return v
}

// Version is how many updates the open tables of this View have seen.
func (v *View) Version() Version {
	if v.s.i == nil {
		return 0
	}
	return v.s.i.version
}

// Value reads the value of a name into the pointer p, and tells whether there is
// one.
func (v *View) Value(name string, p any) (bool, error) { return value(v.s, name, p) }

// Find looks an ID up as people type it, without a kind: instances first.
func (v *View) Find(account, id string) (guard.Observed, bool, error) {
	for _, k := range guard.Kinds {
		o, ok, err := v.Observed.Get(guard.ResourceID{Account: account, Kind: k, ID: id}.Key())
		if err != nil || ok {
			return o, ok, err
		}
	}
	return guard.Observed{}, false, nil
}
