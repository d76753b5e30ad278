package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"guard"
	"guard/providers/fake"
)

// What a request tells the cloud besides itself.
const (
	headAccount = "Bench-Account"
	headWall    = "Bench-Wall"    // the instant of the run, ns since 1970
	headElapsed = "Bench-Elapsed" // ns
)

const usagePath = "/bench/usage"

// ready is the line that a cloud writes when it can be asked.
const ready = "the cloud serves"

// Serve is the cloud of a fleet: it answers on a Unix socket until in ends, which
// is when whoever started it has gone.
func Serve(ctx context.Context, f Fleet, socket string, in io.Reader, out io.Writer) error {
	clouds := map[string]http.RoundTripper{}
	for i := range f.Accounts {
		script, _ := f.account(i)
		c, err := fake.NewCloud(script)
		if err != nil {
			return err
		}
		clouds[accountName(i)] = c.RoundTripper()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("serve the cloud: %w", err)
	}
	srv := &http.Server{Handler: handler(clouds), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = srv.Close()
	}()
	fmt.Fprintln(out, ready)
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the cloud: %w", err)
	}
	return nil
}

func handler(clouds map[string]http.RoundTripper) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == usagePath {
			u, err := used()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(u)
			return
		}
		wall, err := strconv.ParseInt(r.Header.Get(headWall), 10, 64)
		elapsed, err2 := strconv.ParseInt(r.Header.Get(headElapsed), 10, 64)
		cloud := clouds[r.Header.Get(headAccount)]
		if err != nil || err2 != nil || cloud == nil {
			http.Error(w, "not a request of bench", http.StatusBadRequest)
			return
		}
		at := guard.Instant{Wall: time.Unix(0, wall).UTC(), Elapsed: time.Duration(elapsed)}
		resp, err := cloud.RoundTrip(r.WithContext(guard.WithInstant(r.Context(), at)))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body) // who hung up misses nothing
	}
}

// mostSocket is how long a socket's path may be: the kernel keeps it in 108 bytes, others in
// 104, the closing zero included.
const mostSocket = 103

// socketIn is the path of the cloud's socket in a folder, or, where that lies too deep, in
// one of its own; remove takes that away again.
func socketIn(dir string) (path string, remove func() error, err error) {
	const name = "cloud.sock"
	if path = filepath.Join(dir, name); len(path) <= mostSocket {
		return path, func() error { return nil }, nil
	}
	if dir, err = os.MkdirTemp("/tmp", "guard-bench-"); err != nil {
		return "", nil, err
	}
	return filepath.Join(dir, name), func() error { return os.RemoveAll(dir) }, nil
}

// cloud is the way to a Serve in another process.
type cloud struct {
	cmd  *exec.Cmd
	in   io.Closer
	http *http.Transport
	// writes counts the calls that ask for a change: a quiet fleet makes none.
	writes atomic.Int64
}

// startCloud runs the command and waits until it serves.
func startCloud(cmd *exec.Cmd, socket string) (*cloud, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var told strings.Builder
	cmd.Stderr = &told
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the fake cloud: %w", err)
	}
	c := &cloud{cmd: cmd, in: in, http: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != ready {
		err := c.close() // only then is all told
		return nil, fmt.Errorf("%w: the fake cloud does not start: %v: %s", guard.ErrUnavailable, err, strings.TrimSpace(told.String()))
	}
	return c, nil
}

func (c *cloud) close() error {
	c.http.CloseIdleConnections()
	return errors.Join(c.in.Close(), c.cmd.Wait())
}

// used is what the cloud's process has used.
func (c *cloud) used(ctx context.Context) (usage, error) {
	var u usage
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fake.invalid"+usagePath, nil)
	if err != nil {
		return u, err
	}
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return u, fmt.Errorf("ask the fake cloud what it used: %w", err)
	}
	defer resp.Body.Close()
	return u, json.NewDecoder(resp.Body).Decode(&u)
}

// provider is the ordinary adapter of an account of the cloud. It keeps no page: every one
// is read, by the baseline and by the daemon alike.
func (c *cloud) provider(account string) (*fake.Provider, error) {
	truths := fake.MustCloud(fake.Script{}).Truths()
	return fake.New(fake.Config{Account: account, Scopes: scopes, Truths: truths, Next: way{c, account}, Anew: true})
}

// way is the way to one account.
type way struct {
	cloud   *cloud
	account string
}

// RoundTrip implements http.RoundTripper.
func (w way) RoundTrip(r *http.Request) (*http.Response, error) {
	at, ok := guard.InstantFrom(r.Context())
	if !ok {
		return nil, fmt.Errorf("%w: a call to the fake cloud without an instant", guard.ErrInvalid)
	}
	if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/lookup") && !strings.HasSuffix(r.URL.Path, "/signals") {
		w.cloud.writes.Add(1)
	}
	r = r.Clone(r.Context())
	r.Header.Set(headAccount, w.account)
	r.Header.Set(headWall, strconv.FormatInt(at.Wall.UnixNano(), 10))
	r.Header.Set(headElapsed, strconv.FormatInt(int64(at.Elapsed), 10))
	return w.cloud.http.RoundTrip(r)
}
