package wire

import "time"

// TokenRequest is the body of POST /v1/token.
type TokenRequest struct {
	// Name is whose or what the token is for; calls with it are journalled under it.
	Name string `json:"name"`
	// Role is viewer, operator or admin.
	Role string `json:"role"`
	// Scope is the one ACCOUNT/ID that it is for; empty: all.
	Scope string `json:"scope,omitempty"`
	// TTL is how long it lives ("90d"); empty: until it is revoked.
	TTL string `json:"ttl,omitempty"`
}

// TokenMade is the answer to POST /v1/token: the only one that ever has the secret.
type TokenMade struct {
	Now   time.Time `json:"now"`
	Token Token     `json:"token"`
	// Secret is what the caller shows: the whole text, prefix included.
	Secret string `json:"secret"`
}

// Token is one token without its secret.
type Token struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Role  string `json:"role"`
	Scope string `json:"scope,omitempty"`
	// State is valid, expired or revoked.
	State     string     `json:"state"`
	CreatedAt time.Time  `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	RevokedBy string     `json:"revoked_by,omitempty"`
}

// The states of a Token.
const (
	TokenValid   = "valid"
	TokenExpired = "expired"
	TokenRevoked = "revoked"
)

// Tokens is the answer to GET /v1/tokens and, of the ones it ended, to POST
// /v1/revoke.
type Tokens struct {
	Now    time.Time `json:"now"`
	Tokens []Token   `json:"tokens"`
}

// RevokeRequest is the body of POST /v1/revoke.
type RevokeRequest struct {
	// Token is an ID, or a name: then all of its tokens end.
	Token string `json:"token"`
}
