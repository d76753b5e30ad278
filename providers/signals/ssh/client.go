package ssh

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"guard"
)

const (
	// sessionTimeout bounds all that is done with one machine: nvidia-smi takes two
	// seconds with 8 GPUs, and hangs with a driver that does.
	sessionTimeout = 30 * time.Second
	// maxOutput is the most that one command may print.
	maxOutput = 4 << 20
)

// key reads the private key.
func (c Config) key() (ssh.Signer, error) {
	pem, err := os.ReadFile(c.Key.File)
	if err != nil {
		return nil, fmt.Errorf("%w: key: the file cannot be read", guard.ErrInvalid)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("%w: key: it needs a passphrase, and guardd asks nobody; make a key of its own: ssh-keygen -t ed25519 -N '' -f FILE", guard.ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("%w: key: the file holds no private key", guard.ErrInvalid)
	}
	return signer, nil
}

// hosts reads the keys of the hosts that are known.
func (c Config) hosts() (ssh.HostKeyCallback, error) {
	check, err := knownhosts.New(c.KnownHosts)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: known_hosts: the file does not exist; ssh-keyscan HOST shows a host's keys, and ssh-keygen -lf on the host whether they are its own", guard.ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("%w: known_hosts: the file cannot be read as one", guard.ErrInvalid)
	}
	return check, nil
}

// run runs the command on a machine and returns what it printed.
func (c Config) run(ctx context.Context, addr string) (string, error) {
	signer, err := c.key()
	if err != nil {
		return "", err
	}
	check, err := c.hosts()
	if err != nil {
		return "", err
	}
	began := time.Now()
	dial := net.Dialer{Timeout: sessionTimeout}
	conn, err := dial.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", unreachable(ctx, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(sessionTimeout)); err != nil {
		return "", unreachable(ctx, err)
	}
	checked := &hostKey{check: check, file: c.KnownHosts}
	peer, channels, requests, err := ssh.NewClientConn(conn, addr, &ssh.ClientConfig{
		User: c.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: checked.callback, HostKeyAlgorithms: algorithms(check, addr, conn.RemoteAddr()),
		ClientVersion: "SSH-2.0-guard",
	})
	if err != nil {
		return "", c.refused(ctx, checked, err)
	}
	client := ssh.NewClient(peer, channels, requests) // it closes with conn
	session, err := client.NewSession()
	if err != nil {
		return "", unreachable(ctx, err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return "", unreachable(ctx, err)
	}
	command := c.Command
	if command == "" {
		command = Command
	}
	if err := session.Start(command); err != nil {
		return "", fmt.Errorf("%w: the host runs no command for this user", guard.ErrPermission)
	}
	b, err := io.ReadAll(io.LimitReader(out, maxOutput+1))
	switch {
	case err != nil:
		return "", unreachable(ctx, err)
	case len(b) > maxOutput:
		return "", fmt.Errorf("%w: the command printed more than %d MiB", guard.ErrBadReply, maxOutput>>20)
	}
	// How the command ended is nothing to go by: its output says whether it is whole.
	var lost *ssh.ExitMissingError
	if err := session.Wait(); errors.As(err, &lost) {
		return "", unreachable(ctx, lasted(began, err))
	}
	return string(b), nil
}

// refused is why there is no session: the host's key, ours, or the network.
func (c Config) refused(ctx context.Context, checked *hostKey, err error) error {
	switch {
	case checked.err != nil:
		return checked.err
	case strings.Contains(err.Error(), "unable to authenticate"):
		return fmt.Errorf("%w: the host does not let %s in with this key; put its public key into ~%s/.ssh/authorized_keys there", guard.ErrPermission, c.User, c.User)
	}
	return unreachable(ctx, err)
}

// lasted tells a connection that guard gave up on from one that broke: the library calls
// both the same.
func lasted(began time.Time, err error) error {
	if time.Since(began) >= sessionTimeout {
		return os.ErrDeadlineExceeded
	}
	return err
}

func unreachable(ctx context.Context, err error) error {
	var timeout net.Error
	var dialled *net.OpError
	var name *net.DNSError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: cancelled: %w", guard.ErrUnavailable, ctx.Err())
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: no answer in time", guard.ErrUnavailable)
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Errorf("%w: there is no host of the name %s", guard.ErrUnavailable, name.Name)
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &dialled):
		return fmt.Errorf("%w: nobody listens at %s; is sshd up, and the port right?", guard.ErrUnavailable, dialled.Addr)
	case errors.As(err, &dialled) && dialled.Op == "dial":
		return fmt.Errorf("%w: no connection to the host", guard.ErrUnavailable)
	}
	return fmt.Errorf("%w: the connection broke off", guard.ErrUnavailable)
}

// hostKey checks a host's key and keeps the reason for a refusal, which the library
// wraps into an error of its own.
type hostKey struct {
	check ssh.HostKeyCallback
	file  string
	err   error
}

func (h *hostKey) callback(host string, remote net.Addr, key ssh.PublicKey) error {
	err := h.check(host, remote, key)
	var other *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		h.err = fmt.Errorf("%w: the host's key %s is revoked in known_hosts; nothing of it is believed", guard.ErrRefused, ssh.FingerprintSHA256(key))
	case errors.As(err, &other) && len(other.Want) == 0:
		h.err = fmt.Errorf("%w: the host's key %s is not in known_hosts; compare it with ssh-keygen -lf on the host's own /etc/ssh/*.pub, then add it: ssh-keyscan %s", guard.ErrRefused, ssh.FingerprintSHA256(key), keyscan(host))
	case errors.As(err, &other):
		h.err = fmt.Errorf("%w: the host's key has CHANGED to %s: another machine has its address, or somebody stands in between; if it was made anew, compare the key on the host itself and replace line %d of known_hosts",
			guard.ErrRefused, ssh.FingerprintSHA256(key), other.Want[0].Line)
	default:
		h.err = fmt.Errorf("%w: the host's key cannot be checked", guard.ErrRefused)
	}
	return h.err
}

func keyscan(hostport string) string {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil || port == "22" {
		return strings.TrimSuffix(hostport, ":22")
	}
	return "-p " + port + " " + host
}

// algorithms are the kinds of key that known_hosts has of a host: asked for another one
// it would show a key that is not there. Nil, where it has none, is any.
func algorithms(check ssh.HostKeyCallback, addr string, remote net.Addr) []string {
	nobody, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var known *knownhosts.KeyError
	if !errors.As(check(addr, remote, nobody), &known) {
		return nil
	}
	var out []string
	for _, k := range known.Want {
		kinds := []string{k.Key.Type()}
		if kinds[0] == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, kind := range kinds {
			if !slices.Contains(out, kind) {
				out = append(out, kind)
			}
		}
	}
	return out
}
