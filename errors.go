package guard

import (
	"errors"
	"fmt"
	"time"
)

// The kinds of error. Everything guard returns wraps one of them with a verb
// and a subject; the API maps them to a status and the CLI to an exit code in
// one table each.
var (
	// ErrInvalid: the input is wrong; the message says what would be right.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no such thing, said by the one who would know.
	ErrNotFound = errors.New("not found")
	// ErrConflict: it contradicts what is there already.
	ErrConflict = errors.New("conflict")
	// ErrRefused: understood, and against the rules (may_release, ceilings).
	ErrRefused = errors.New("refused")
	// ErrPermission: the provider or guard says that this caller may not.
	ErrPermission = errors.New("permission denied")
	// ErrProtected: the provider's own protection stands in the way.
	ErrProtected = errors.New("protected by the provider")
	// ErrThrottled: too many calls; RetryAfter may say when to come back.
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: the other side failed or is not reachable; try again.
	ErrUnavailable = errors.New("unavailable")
	// ErrUncertain: a write whose outcome is not known (time-out, lost reply).
	// It is never repeated blindly: look first.
	ErrUncertain = errors.New("outcome unknown")
	// ErrBadReply: a reply that is not what the API promises (HTML, cut JSON).
	ErrBadReply = errors.New("unexpected reply")
	// ErrAccount: the credentials belong to another account than recorded.
	ErrAccount = errors.New("account mismatch")
	// ErrUnsupported: this provider cannot do that.
	ErrUnsupported = errors.New("not supported")
	// ErrCurrency: amounts of different or missing currencies.
	ErrCurrency = errors.New("currency mismatch")
	// ErrDamaged: the ledger's file is not what guard wrote.
	ErrDamaged = errors.New("damaged")
	// ErrLocked: somebody else holds the ledger or the socket.
	ErrLocked = errors.New("in use")
)

// RetryError is an error that says when to come back.
type RetryError struct {
	Err   error
	After time.Duration
}

// Error adds the wait to the message.
func (e *RetryError) Error() string {
	return fmt.Sprintf("%v (asks to wait %s)", e.Err, e.After)
}

// Unwrap gives the error without the wait.
func (e *RetryError) Unwrap() error { return e.Err }

// RetryAfter returns how long err asks to wait, if it does.
func RetryAfter(err error) (time.Duration, bool) {
	var r *RetryError
	if errors.As(err, &r) && r.After > 0 {
		return r.After, true
	}
	return 0, false
}
