package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"guard"
)

type callerKey struct{}

// nobody is who calls where nothing is known.
const nobody = "somebody"

// Caller is who a request comes from, and what they may do.
type Caller struct {
	Name string
	Role guard.Role
	// Scope is the one ACCOUNT/ID that they may ask about; "": all.
	Scope string
	// Token is the ID of the token that they showed; "": none.
	Token string
	// Data is what else is known of them; it stands in the journal with all that they do.
	Data map[string]string
	// Once makes a change one that is made once: a later request with the same text is
	// refused with ErrConflict. "": every request counts.
	Once string
	// bucket is what their requests are counted under; "": they are not counted.
	bucket string
}

// WithCaller says who a request comes from.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// As serves every request of h as one from that caller, for demo and simulation.
func As(c Caller, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), c)))
	})
}

// ConnContext is the http.Server's hook that names the caller of a Unix socket:
// the user whose process connected, as the kernel says (SO_PEERCRED). Root and the
// user that guardd runs as are admins; whoever else the socket's mode lets in is
// an operator. A user without a name is "uid N"; on other connections nobody is
// named.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || credErr != nil {
		return ctx
	}
	return WithCaller(ctx, peer(cred.Uid, os.Geteuid()))
}

// peer is the caller that a user of this machine is to a daemon run by another.
func peer(uid uint32, daemon int) Caller {
	id := strconv.FormatUint(uint64(uid), 10)
	name := "uid " + id
	if who, err := user.LookupId(id); err == nil && who.Username != "" {
		name = who.Username
	}
	if uid == 0 || int(uid) == daemon {
		return Caller{Name: name, Role: guard.Admin}
	}
	return Caller{Name: name, Role: guard.Operator, bucket: "uid " + id}
}

// callerOf is everything that is known of who a request comes from.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	if c.Name == "" {
		c.Name = nobody
	}
	return c
}

// caller is who a request comes from.
func caller(ctx context.Context) string { return callerOf(ctx).Name }
