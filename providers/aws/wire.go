package aws

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"guard"
	"guard/providers"
)

// throttleWait is how long guard stays away after EC2 throttled a call. EC2 says
// nothing itself; its buckets refill within five to ten seconds.
const throttleWait = 10 * time.Second

// calmly puts the wait that EC2 leaves out into a throttling reply. EC2 throttles
// with status 503, which the transport would otherwise take for a failure to try
// again at once, and so make worse.
type calmly struct{ next http.RoundTripper }

var throttleCodes = [][]byte{
	[]byte("<Code>RequestLimitExceeded</Code>"), []byte("<Code>Throttling</Code>"), []byte("<Code>ThrottlingException</Code>"),
}

// RoundTrip implements http.RoundTripper.
func (c calmly) RoundTrip(req *http.Request) (*http.Response, error) {
	next := c.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err != nil || resp.StatusCode < 400 || resp.Header.Get("Retry-After") != "" {
		return resp, err
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	for _, code := range throttleCodes {
		if bytes.Contains(head, code) {
			resp.Header.Set("Retry-After", strconv.Itoa(int(throttleWait.Seconds())))
			break
		}
	}
	return resp, nil
}

// strictly lets no success pass that is not the answer to its own call. The SDK
// reads an empty body, or XML of any other kind, as a reply with nothing in it: an
// account with no instances. It also moves a wait that only the body of a refusal tells to the
// header, for the SDK keeps no body.
type strictly struct{ transport *providers.Transport }

// Do implements the SDK's HTTP client.
func (s strictly) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.transport.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, &oddReply{"it broke off"}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if wait, ok := providers.Hint(resp, body); ok {
			resp.Header.Set("Retry-After", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
		}
		return resp, nil
	}
	if call := middleware.GetOperationName(req.Context()); rootOf(body) != call+"Response" {
		return nil, &oddReply{"it is empty or something else"}
	}
	return resp, nil
}

// rootOf is the name of an XML document's root element; "" where it is none.
func rootOf(body []byte) string {
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local
		}
	}
}

// waitOf is how long the other side, or guard's own limit, asks to wait.
func waitOf(err error) (time.Duration, bool) {
	if after, ok := guard.RetryAfter(err); ok {
		return after, true
	}
	var reply *awshttp.ResponseError
	if !errors.As(err, &reply) || reply.Response == nil || reply.Response.Response == nil {
		return 0, false
	}
	return providers.Hint(reply.Response.Response, nil)
}
