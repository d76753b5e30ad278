package prometheus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"guard"
	"guard/providers"
)

// maxReply is the most that one reply may have: two hours of a thousand GPUs.
const maxReply = 16 << 20

// replyTimeout bounds each call.
const replyTimeout = 15 * time.Second

// transport makes the HTTP client of a source. The CA file is read now.
func (a Access) transport(base http.RoundTripper) (*providers.Transport, error) {
	if a.CA != "" && base == nil {
		pem, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: the file of certificates cannot be read", guard.ErrInvalid)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: the file holds no certificate in PEM", guard.ErrInvalid)
		}
		own := &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
		}
		base = own
	}
	return providers.NewTransport(providers.TransportConfig{Next: base, Timeout: replyTimeout, MaxBody: maxReply}), nil
}

// sign says who asks.
func (a Access) sign(req *http.Request) {
	switch {
	case a.Token.IsSet():
		req.Header.Set("Authorization", "Bearer "+a.Token.Reveal())
	case a.User != "":
		req.SetBasicAuth(a.User, a.Password.Reveal())
	}
	req.Header.Set("User-Agent", "guard")
}

// client is the api.Client of Prometheus's library on our transport.
type client struct {
	base      *url.URL
	access    Access
	transport *providers.Transport
}

// URL implements api.Client for calls without parts in their path.
func (c *client) URL(endpoint string, _ map[string]string) *url.URL {
	return c.base.JoinPath(endpoint)
}

// Do implements api.Client. A refusal that is not Prometheus's own words is an error
// already.
func (c *client) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	req = req.WithContext(providers.Read(ctx))
	c.access.sign(req)
	resp, err := c.transport.Do(req) //nolint:bodyclose // Do has read and closed it
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the reply broke off", guard.ErrUnavailable)
	}
	resp.Request = req
	if err := providers.StatusError(resp, body); err != nil && !ownWords(resp.StatusCode, body) {
		// The library asks again with GET where a proxy takes no POST, and looks at the
		// status for that.
		return resp, nil, err
	}
	return resp, body, nil
}

// ownWords reports a refusal that the library takes Prometheus's own reason out of.
func ownWords(status int, body []byte) bool {
	return (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) && json.Valid(body)
}

// failed is what a call to the library ended with, in our words. Text of the server's is
// quoted without what looks like a secret.
func failed(what string, err error, a Access) error {
	if err == nil {
		return nil
	}
	var own *v1.Error
	if !errors.As(err, &own) {
		var call *providers.CallError
		if errors.As(err, &call) || errors.Is(err, guard.ErrUnavailable) {
			return fmt.Errorf("%s: %w", what, err)
		}
		return fmt.Errorf("%s: %w", what, providers.Redact(err, a.Token, a.Password))
	}
	kind := guard.ErrUnavailable
	switch own.Type {
	case v1.ErrBadData:
		kind = guard.ErrInvalid
	case v1.ErrBadResponse:
		return fmt.Errorf("%s: %w: this is not an answer of Prometheus; check the URL", what, guard.ErrBadReply)
	}
	return fmt.Errorf("%s: %w: Prometheus says: %s", what, kind, providers.Scrub(own.Msg, a.Token, a.Password))
}
