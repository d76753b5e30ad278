package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"syscall"
)

// unreachable turns an error of the network into what a person can check.
func (c *Client) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL of a socket says nothing
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	say := func(text string) error {
		return &UnreachableError{Addr: c.addr, Text: "cannot reach guardd at " + c.addr + ": " + text, Err: err}
	}
	const other = " If it listens elsewhere, say so with --addr or GUARD_ADDR"
	unix := strings.HasPrefix(c.addr, "unix:") || strings.HasPrefix(c.addr, "/")
	switch {
	case unix && errors.Is(err, fs.ErrNotExist):
		return say("there is no such socket. Is guardd running (systemctl status guardd)?" + other)
	case unix && errors.Is(err, syscall.ECONNREFUSED):
		return say("the socket is there but nobody listens: guardd has ended. Start it (systemctl start guardd) and look at why (journalctl -u guardd)." + other)
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("nobody listens there. Is guardd running, and is the address the one under listen: in its configuration?")
	case errors.Is(err, fs.ErrPermission):
		return say("you may not open the socket. Ask to be put into its group (socket_group in the configuration), or run as the user that owns it")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return say("it closed the connection before it answered, so what became of the request is not known: look at it with guard log before you try again")
	case timedOut(err):
		return say(fmt.Sprintf("no answer within %s. It hangs or is stopped: look at it (systemctl status guardd, journalctl -u guardd)", c.timeout))
	}
	return say(err.Error())
}
