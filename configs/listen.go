package configs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/user"
	"strconv"
	"strings"
)

// defaultSocket is where the API is served unless the file says otherwise.
const defaultSocket = "/run/guard/guard.sock"

// Listen says where the API is served.
type Listen struct {
	// Unix is the socket's path. There is always one: the first token is made there.
	Unix string
	// Group names the group of this machine whose members may open the socket, too;
	// "": only the user that guardd runs as, and root.
	Group string
	// TCP is HOST:PORT for TLS; "": none.
	TCP string
	// Cert and Key are PEM files for TCP; both "" where guardd makes its own.
	Cert, Key string
}

// listen is unix:PATH, tcp:HOST:PORT, or a list of both.
type listen struct{ Unix, TCP string }

// ReadNode implements NodeReader.
func (l *listen) ReadNode(n Node) {
	places := []Node{n}
	if n.IsList() {
		if places = n.Items(); len(places) == 0 {
			n.Problem("is an empty list: write unix:PATH, tcp:HOST:PORT or both")
		}
	}
	given := listen{}
	for _, p := range places {
		text, ok := p.Text()
		if !ok {
			p.Problem("is %s: write unix:PATH, tcp:HOST:PORT, or a list of both", p.Shape())
			continue
		}
		scheme, where, _ := strings.Cut(text, ":")
		var err error
		switch {
		case scheme == "unix" && given.Unix != "":
			err = errors.New("a second socket: guardd listens at one")
		case scheme == "tcp" && given.TCP != "":
			err = errors.New("a second tcp: guardd listens at one, and 0.0.0.0 is every IPv4 address of the machine")
		case scheme == "unix" && where != "":
			given.Unix = where
		case scheme == "unix":
			err = errors.New("write unix:PATH, such as unix:" + defaultSocket)
		case scheme == "tcp":
			given.TCP, err = hostPort(where)
		default:
			err = errors.New("write unix:PATH, such as unix:" + defaultSocket + ", or tcp:HOST:PORT")
		}
		if err != nil {
			p.Problem("%v", err)
		}
	}
	if given.Unix == "" {
		given.Unix = defaultSocket
	}
	*l = given
}

// hostPort checks where TCP is listened on. The host is said aloud, so that nobody
// listens on every address without meaning it.
func hostPort(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", errors.New("write tcp:HOST:PORT, such as tcp:10.0.0.5:7070; an IPv6 address stands in brackets")
	}
	if host == "" {
		return "", errors.New("the host is missing: write the address of this machine that may be reached, or 0.0.0.0 for every one")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%s is not a port: write a number from 1 to 65535", shown(port))
	}
	return net.JoinHostPort(host, port), nil
}

// tlsFile are the files of a certificate that somebody else makes.
type tlsFile struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// listen checks where the API is to be served, as far as that can be told before.
func (d *decoder) listen(f file) Listen {
	l := Listen{Unix: d.path(f.Listen.Unix), Group: f.Group, TCP: f.Listen.TCP, Cert: d.path(f.TLS.Cert), Key: d.path(f.TLS.Key)}
	d.socket(l.Unix)
	if l.Group != "" && d.read("socket_group") {
		if err := group(l.Group); err != nil {
			d.at("socket_group", "%v", err)
		}
	}
	if !d.read("tls") {
		return l
	}
	switch {
	case l.Cert == "" && l.Key == "":
	case l.Cert == "" || l.Key == "":
		d.at("tls", "cert and key belong together: give both files, or neither, and guardd makes its own")
	default:
		if _, err := tls.LoadX509KeyPair(l.Cert, l.Key); err != nil {
			d.at("tls", "the certificate cannot be used: %s", pairError(err))
		}
	}
	return l
}

// socket checks a path against what the kernel takes: sun_path of unix(7) holds
// 108 bytes with the closing zero.
func (d *decoder) socket(path string) {
	const most = 107
	if len(path) > most {
		d.at("listen", "the socket's path has %d bytes, and a Unix socket takes %d: choose a shorter one", len(path), most)
	}
}

// group checks that this machine has a group.
func group(name string) error {
	var unknown user.UnknownGroupError
	switch _, err := user.LookupGroup(name); {
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no group %s on this machine: make it (groupadd) and put guardd's user and your people into it", shown(name))
	case err != nil:
		return fmt.Errorf("the group %s cannot be looked up: %v", shown(name), err)
	}
	return nil
}

// pairError says what is wrong with the files of a certificate, without what is in
// them.
func pairError(err error) string {
	var path *fs.PathError
	var x *x509.CertificateInvalidError
	switch {
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return path.Path + " does not exist"
	case errors.As(err, &path) && errors.Is(err, fs.ErrPermission):
		return path.Path + " may not be read by this user"
	case errors.As(err, &path):
		return path.Path + " cannot be read"
	case errors.As(err, &x):
		return x.Error()
	}
	return strings.TrimPrefix(err.Error(), "tls: ")
}
