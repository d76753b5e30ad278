package api

import (
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"guard"
	"guard/daemon/wire"
)

// What one caller may ask. Admins at the Unix socket, and callers inside the
// process, are not counted.
const (
	// mostBody is the largest body of a request, in bytes.
	mostBody = 1 << 20
	// perSecond and burst bound the requests of one caller.
	perSecond = 20
	burst     = 100
	// refusalsPerSecond and refusalBurst bound, for each address, the refusals that
	// are told and logged one by one. A secret of 256 bits is not guessed, so whoever
	// has one gets in all the same.
	refusalsPerSecond = 0.2
	refusalBurst      = 10
	// mostBuckets bounds the memory of who has asked.
	mostBuckets = 4096
)

// gate lets in whom guardd knows, as often as they may ask. A token that is shown
// says who calls, on every connection; without one it is the connection that says.
func (s *server) gate(next http.Handler) http.Handler {
	calls := &buckets{limit: perSecond, burst: burst}
	refusals := &buckets{limit: refusalsPerSecond, burst: refusalBurst}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := s.Now()
		c, known := r.Context().Value(callerKey{}).(Caller)
		if _, shown := r.Header["Authorization"]; shown || !known {
			var err error
			if c, err = s.stranger(r, at, shown); err != nil {
				s.turnAway(w, r, refusals, at, err)
				return
			}
		}
		if c.bucket != "" {
			if wait, ok := calls.take(c.bucket, at); !ok {
				throttle(w, wait, faultf(guard.ErrThrottled, "%s asks too often: more than %d requests in a row, and %d a second", c.Name, burst, perSecond))
				return
			}
		}
		if how := r.Header.Get("Content-Encoding"); how != "" {
			w.Header().Set("Connection", "close")
			writeProblem(w, packed(how))
			return
		}
		if r.ContentLength > mostBody {
			w.Header().Set("Connection", "close") // what it sends is not read
			writeProblem(w, tooLarge())
			return
		}
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), c)))
	})
}

func tooLarge() *problem {
	return &problem{wireError{Kind: wire.KindInvalid, Message: "the request is larger than 1 MiB, and was not read"}, http.StatusRequestEntityTooLarge}
}

func packed(how string) *problem {
	return &problem{wireError{Kind: wire.KindInvalid, Message: "guardd reads no packed bodies, and this one is " + clip(how) + ": send it as it is"}, http.StatusUnsupportedMediaType}
}

// stranger is the caller that no connection vouches for.
func (s *server) stranger(r *http.Request, at guard.Instant, shown bool) (Caller, error) {
	if !shown {
		return Caller{}, faultf(errToken, "guardd wants a token here").
			hinted("An admin makes one on guardd's machine: guard token create NAME --role viewer. Then put it into a file and set GUARD_TOKEN_FILE, or GUARD_TOKEN.")
	}
	return s.authenticate(guard.WithInstant(r.Context(), at), r.Header, at)
}

// turnAway answers and logs a refusal, as long as there are few of them.
func (s *server) turnAway(w http.ResponseWriter, r *http.Request, refusals *buckets, at guard.Instant, err error) {
	if !errors.Is(err, errToken) {
		writeProblem(w, newProblem(err))
		return
	}
	from := address(r.RemoteAddr)
	if wait, ok := refusals.take(from, at); !ok {
		throttle(w, wait, faultf(guard.ErrThrottled, "too many requests without a token that is known here"))
		return
	}
	s.Log.Warn("api caller refused", "from", from, "why", err.Error())
	w.Header().Set("WWW-Authenticate", `Bearer realm="guard"`)
	p := newProblem(err)
	p.Kind, p.status = wire.KindToken, http.StatusUnauthorized
	writeProblem(w, p)
}

func throttle(w http.ResponseWriter, wait time.Duration, err *fault) {
	seconds := int(math.Ceil(wait.Seconds()))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	writeProblem(w, newProblem(err.hinted("Try again in %d s.", seconds)))
}

// address is what refusals are counted under: a host, or of IPv6 its network, out
// of which one host may choose any address.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return "unix"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// buckets count requests by who sends them.
type buckets struct {
	limit rate.Limit
	burst int
	mu    sync.Mutex
	of    map[string]*rate.Limiter
}

// take counts one request, or tells how long to wait.
func (b *buckets) take(key string, at guard.Instant) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Unix(0, 0).Add(at.Elapsed) // a stepped clock gives nothing away
	l, ok := b.of[key]
	if !ok {
		if len(b.of) >= mostBuckets {
			b.forget(now)
		}
		if len(b.of) >= mostBuckets {
			return time.Second, false
		}
		if b.of == nil {
			b.of = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(b.limit, b.burst)
		b.of[key] = l
	}
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait, wait == 0
}

// forget drops whoever has not asked for so long that nothing is held against them.
func (b *buckets) forget(now time.Time) {
	for key, l := range b.of {
		if l.TokensAt(now) >= float64(b.burst) {
			delete(b.of, key)
		}
	}
}
