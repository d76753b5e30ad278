package guard

import (
	"slices"
	"time"
)

// Role is what somebody may ask of guard.
type Role string

// The roles, each of which may do what the ones before it may. Whoever may see may
// also change what is registered as their own.
const (
	Viewer   Role = "viewer"   // see
	Operator Role = "operator" // register, extend, hold, release
	Admin    Role = "admin"    // protect, switch accounts, hand out tokens, restore
)

// Roles are all of them, from the least.
var Roles = []Role{Viewer, Operator, Admin}

// Covers reports whether r may do what needs the role o. An unknown role covers
// nothing.
func (r Role) Covers(o Role) bool {
	have, need := slices.Index(Roles, r), slices.Index(Roles, o)
	return have >= 0 && need >= 0 && have >= need
}

// Token is what a caller over the network shows. The ledger keeps its hash only.
type Token struct {
	// ID names it in lists and in the journal; it is no secret.
	ID string `json:"id"`
	// Hash is of the secret part (SHA-256, hex): 256 random bits need no slow hash.
	Hash string `json:"hash"`
	// Name is whose or what it is for; calls with it are journalled under it.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Scope is the one ACCOUNT/ID that it is for, as of what runs on that box; "" for
	// all.
	Scope     string    `json:"scope,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	// ExpiresAt is zero where it does not expire.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	RevokedBy string    `json:"revoked_by,omitzero"`
}

// Valid reports whether it opens anything at t.
func (t Token) Valid(at time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(at))
}
