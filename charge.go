package guard

import "time"

// Lump is money that is paid at once for a time ahead: a prepaid month, a setup fee.
// Ending the thing gives none of it back. The zero Lump is none.
type Lump struct {
	Amount Money `json:"amount"`
	// From and Until are what it covers, UTC. Until is zero for what covers nothing, a fee.
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
	// Renews is whether the same is paid again at Until by itself.
	Renews Tri `json:"renews,omitzero"`
	// Source says who told: "api", "price book", "person".
	Source string `json:"source,omitzero"`
}

// IsZero reports whether nothing was paid ahead. A lump whose amount is not known is one.
func (l Lump) IsZero() bool { return l.From.IsZero() && l.Until.IsZero() && !l.Amount.IsSet() }

// Paid is a lump as the meter counts it, once.
type Paid struct {
	Lump Lump `json:"lump"`
	// Lease is whose budget it counts to; "" for an unregistered resource.
	Lease string `json:"lease,omitzero"`
}

// Charge is one line of a provider's own bill.
type Charge struct {
	// Resource is what it is for; zero where the bill names none.
	Resource ResourceID `json:"resource,omitzero"`
	// What is the bill's own word for it: gpu, disk, traffic. One resource has at most one
	// charge for each What and From: a later reading of it replaces the earlier.
	What string `json:"what,omitzero"`
	// From and To are the time that it covers, UTC; bills lag, and the last one of a
	// running thing may still grow.
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Amount Money     `json:"amount"`
}

// Billed is what the provider's own bill came to for one resource, as it was read once.
type Billed struct {
	// From and To are the time that its lines cover, and Amount is their sum; unset where
	// they are in several currencies.
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Amount Money     `json:"amount"`
	Read   time.Time `json:"read"`
}

// Bill is what the ledger knows of the provider's own bill for one resource.
type Bill struct {
	Resource ResourceID `json:"resource"`
	// Last is the newest reading, and Before the one before it.
	Last   Billed `json:"last"`
	Before Billed `json:"before,omitzero"`
}

// BillStatus is how well guard reads an account's own bill; the zero value where the
// provider tells none, or it was never read.
type BillStatus struct {
	// Since is when it was first read, and Read when it was last, UTC. Failing is the first
	// failure since then, and Error the last.
	Since   time.Time `json:"since,omitzero"`
	Read    time.Time `json:"read,omitzero"`
	Failing time.Time `json:"failing,omitzero"`
	Error   string    `json:"error,omitzero"`
	// Unseen are the first of the things that it bills since Since and guard never saw, Count
	// is how many there are, Sum what they came to, one amount a currency, and Found since
	// when there are any.
	Unseen []ResourceID `json:"unseen,omitzero"`
	Count  int          `json:"count,omitzero"`
	Sum    []Money      `json:"sum,omitzero"`
	Found  time.Time    `json:"found,omitzero"`
}

// Balance is what is left in an account that pays ahead, as the provider tells it.
type Balance struct {
	// Amount may be below zero.
	Amount Money `json:"amount"`
	// At is when that was so, UTC; zero where only the reading's own time is known.
	At time.Time `json:"at,omitzero"`
	// Credit is what the provider lends beyond it before it acts; unset where none is known.
	Credit Money `json:"credit,omitzero"`
}

// Wallet is what the ledger knows of the balance of one account.
type Wallet struct {
	Account string  `json:"account"`
	Balance Balance `json:"balance,omitzero"`
	// Read is when it was last told; zero: never. Failing is the first failure since then,
	// and Error the last: until it can be read again nobody knows what is left.
	Read    time.Time `json:"read,omitzero"`
	Failing time.Time `json:"failing,omitzero"`
	Error   string    `json:"error,omitzero"`
}

// At is when the balance was as it says.
func (w Wallet) At() time.Time {
	if at := w.Balance.At; !at.IsZero() && at.Before(w.Read) {
		return at
	}
	return w.Read
}

// Left is what can be drawn before the provider acts, as of the last reading.
func (w Wallet) Left() Money {
	if sum, err := w.Balance.Amount.Add(w.Balance.Credit); err == nil {
		return sum
	}
	return w.Balance.Amount
}

// UsedUp reports whether nothing is left, by the last reading.
func (w Wallet) UsedUp() bool { return w.Balance.Amount.IsSet() && !w.Left().IsPositive() }

// AtZero is what a provider does to what runs when the balance is used up.
type AtZero string

// The answers. The zero value is not known.
const (
	ZeroUnknown AtZero = ""
	ZeroNothing AtZero = "nothing" // it bills into debt
	ZeroStops   AtZero = "stop"
	ZeroDeletes AtZero = "destroy"
)

// PlatformEnd is when the provider itself will delete a thing, with its data: stopped for
// too long, paid until then and not renewed. The zero value is that nothing is known of one.
type PlatformEnd struct {
	At  time.Time `json:"at"`
	Why string    `json:"why,omitzero"` // in our words: "stopped for 15 days"
}
