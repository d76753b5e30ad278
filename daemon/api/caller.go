package api

import (
	"context"
	"net"
	"net/http"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

type callerKey struct{}

// nobody is who calls where nothing is known.
const nobody = "somebody"

// WithCaller names who a request comes from.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// As serves every request of h as one from that caller, for demo and simulation.
func As(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), name)))
	})
}

// ConnContext is the http.Server's hook that names the caller of a Unix socket:
// the user whose process connected, as the kernel says (SO_PEERCRED). A user
// without a name is "uid N"; on other connections nobody is named.
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
	id := strconv.FormatUint(uint64(cred.Uid), 10)
	name := "uid " + id
	if who, err := user.LookupId(id); err == nil && who.Username != "" {
		name = who.Username
	}
	return WithCaller(ctx, name)
}

// caller is who a request comes from. Everyone who can open the socket is an
// admin for now.
func caller(ctx context.Context) string {
	if name, ok := ctx.Value(callerKey{}).(string); ok && name != "" {
		return name
	}
	return nobody
}
