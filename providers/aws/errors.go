package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"guard"
	"guard/providers"
)

// intent tells what a failure leaves open: after a write, whether it was done.
type intent bool

const (
	reading intent = false
	writing intent = true
)

// codes is the one table from EC2's error codes ("Error codes for the Amazon EC2
// API") to ours. Codes that end in .NotFound and .Malformed need no line.
var codes = map[string]error{
	"UnauthorizedOperation":       guard.ErrPermission,
	"AuthFailure":                 guard.ErrPermission,
	"AccessDenied":                guard.ErrPermission,
	"AccessDeniedException":       guard.ErrPermission,
	"InvalidClientTokenId":        guard.ErrPermission,
	"UnrecognizedClientException": guard.ErrPermission,
	"SignatureDoesNotMatch":       guard.ErrPermission,
	"IncompleteSignature":         guard.ErrPermission,
	"MissingAuthenticationToken":  guard.ErrPermission,
	"ExpiredToken":                guard.ErrPermission,
	"ExpiredTokenException":       guard.ErrPermission,
	"RequestExpired":              guard.ErrPermission,
	"OptInRequired":               guard.ErrPermission,
	"PendingVerification":         guard.ErrPermission,
	"Blocked":                     guard.ErrPermission,

	"OperationNotPermitted": guard.ErrProtected,

	"RequestLimitExceeded":     guard.ErrThrottled,
	"Throttling":               guard.ErrThrottled,
	"ThrottlingException":      guard.ErrThrottled,
	"RequestThrottled":         guard.ErrThrottled,
	"EC2ThrottledException":    guard.ErrThrottled,
	"TooManyRequestsException": guard.ErrThrottled,

	"IncorrectInstanceState":    guard.ErrConflict,
	"IncorrectState":            guard.ErrConflict,
	"VolumeInUse":               guard.ErrConflict,
	"InvalidSnapshot.InUse":     guard.ErrConflict,
	"InvalidIPAddress.InUse":    guard.ErrConflict,
	"InvalidAMIID.Unavailable":  guard.ErrNotFound,
	"IncorrectSpotRequestState": guard.ErrConflict,
	"ScalingActivityInProgress": guard.ErrConflict,
	"ResourceContention":        guard.ErrConflict,

	"UnsupportedOperation":                guard.ErrUnsupported,
	"Unsupported":                         guard.ErrUnsupported,
	"UnsupportedHibernationConfiguration": guard.ErrUnsupported,
	"InvalidAction":                       guard.ErrUnsupported,

	"InvalidParameter":            guard.ErrInvalid,
	"InvalidParameterValue":       guard.ErrInvalid,
	"InvalidParameterCombination": guard.ErrInvalid,
	"MissingParameter":            guard.ErrInvalid,
	"UnknownParameter":            guard.ErrInvalid,
	"ValidationError":             guard.ErrInvalid,
	"TagLimitExceeded":            guard.ErrInvalid,

	"InternalError":      guard.ErrUnavailable,
	"InternalFailure":    guard.ErrUnavailable,
	"ServerInternal":     guard.ErrUnavailable,
	"ServiceUnavailable": guard.ErrUnavailable,
	"Unavailable":        guard.ErrUnavailable,
	"RequestTimeout":     guard.ErrUnavailable,
}

// leavesOpen are the codes after which a write may have been done all the same.
var leavesOpen = map[string]bool{"InternalError": true, "InternalFailure": true, "ServerInternal": true, "RequestTimeout": true}

// says is what a person can make of a kind; %s is the call.
var says = map[error]string{
	guard.ErrPermission:  "these credentials may not call %s; check the keys and the policy",
	guard.ErrProtected:   "termination or stop protection is on; lift it in EC2 if this should go",
	guard.ErrThrottled:   "too many calls of %s; guard comes back later",
	guard.ErrConflict:    "its state does not allow %s now; guard tries again",
	guard.ErrUnsupported: "EC2 cannot do %s with this one",
	guard.ErrInvalid:     "EC2 does not accept this call of %s",
	guard.ErrUnavailable: "EC2 failed at %s; guard tries again",
	guard.ErrNotFound:    "EC2 knows no such thing here",
	guard.ErrBadReply:    "the answer to %s is not EC2's; check the endpoint and any proxy",
}

// fail turns whatever a call ended with into an error of ours: verb, subject, a
// kind, EC2's code and request ID. Nothing of EC2's own text is in it, for that
// can quote what was signed, session tokens included.
func (p *Provider) fail(err error, verb, subject, call string, w intent) error {
	kinds, what := p.judge(err, call, w)
	out := error(&failure{text: verb + " " + subject + ": " + what, kinds: kinds})
	if after, ok := waitOf(err); ok {
		return &guard.RetryError{Err: out, After: after}
	}
	return out
}

func (p *Provider) judge(err error, call string, w intent) (kinds []error, what string) {
	var (
		sent  *providers.CallError // the transport's own word
		creds *credentialsError
		api   smithy.APIError
		reply *awshttp.ResponseError
		cut   *smithy.DeserializationError
		odd   *oddReply
	)
	open := func(kind error) []error {
		if w == writing {
			return []error{guard.ErrUncertain, kind}
		}
		return []error{kind}
	}
	status := 0
	if errors.As(err, &reply) {
		status = reply.HTTPStatusCode()
	}
	switch {
	case errors.As(err, &sent):
		return sent.Unwrap(), sent.Error()
	case errors.As(err, &odd):
		return open(guard.ErrBadReply), fmt.Sprintf("%v: the answer to %s is not to be believed: %s", guard.ErrBadReply, call, odd.what)
	case errors.As(err, &creds):
		return []error{creds.kind}, creds.Error()
	case errors.As(err, &api) && kindOfCode(api.ErrorCode()) != nil:
		kind := kindOfCode(api.ErrorCode())
		what = fmt.Sprintf("%v: %s (%s%s)", kind, say(kind, call), api.ErrorCode(), requestID(reply))
		if leavesOpen[api.ErrorCode()] {
			return open(kind), what
		}
		return []error{kind}, what
	case errors.As(err, &cut) && status == 0, status >= 200 && status < 300, status == http.StatusNotFound, status == http.StatusGone:
		// No code of EC2's stands behind it: a bare 404 is no word on anything.
		return open(guard.ErrBadReply), fmt.Sprintf("%v: %s", guard.ErrBadReply, say(guard.ErrBadReply, call))
	case status != 0:
		kind := providers.KindOf(status)
		what = fmt.Sprintf("%v: %s (status %d%s)", kind, say(kind, call), status, requestID(reply))
		switch status {
		case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
			return open(kind), what
		}
		return []error{kind}, what
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kinds = open(guard.ErrUnavailable)
		for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
			if errors.Is(err, c) {
				kinds = append(kinds, c)
			}
		}
		return kinds, fmt.Sprintf("%v: cancelled", guard.ErrUnavailable)
	}
	// The SDK refused before anything was sent: no region's endpoint, say.
	return []error{guard.ErrInvalid}, fmt.Sprintf("%v: %s cannot be called: %s", guard.ErrInvalid, call, providers.Redact(err, p.secrets...))
}

func say(kind error, call string) string {
	text, ok := says[kind]
	if !ok {
		text = "EC2 refuses %s"
	}
	return strings.NewReplacer("%s", call, "EC2", cloudName(call)).Replace(text)
}

func requestID(reply *awshttp.ResponseError) string {
	if reply == nil || reply.ServiceRequestID() == "" {
		return ""
	}
	return ", request " + providers.Text(reply.ServiceRequestID(), 60)
}

func kindOfCode(code string) error {
	code = strings.TrimPrefix(strings.TrimPrefix(code, "Client."), "Server.")
	if kind := codes[code]; kind != nil {
		return kind
	}
	switch {
	case strings.HasSuffix(code, ".NotFound"):
		return guard.ErrNotFound
	case strings.HasSuffix(code, ".Malformed"):
		return guard.ErrInvalid
	}
	return nil
}

// code is EC2's code of an error; "" where it has none.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return strings.TrimPrefix(api.ErrorCode(), "Client.")
	}
	return ""
}

// oddReply is a reply of the right form that cannot be true.
type oddReply struct{ what string }

func (e *oddReply) Error() string { return e.what }

type failure struct {
	text  string
	kinds []error
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.kinds }

// credentials gives the failures of a credential source a type, so that they
// can be told from failures of the call that needed them.
type credentials struct{ from sdk.CredentialsProvider }

// Retrieve implements the SDK's interface.
func (c credentials) Retrieve(ctx context.Context) (sdk.Credentials, error) {
	v, err := c.from.Retrieve(ctx)
	if err != nil {
		return sdk.Credentials{}, &credentialsError{kindOfCredentials(err)}
	}
	return v, nil
}

type credentialsError struct{ kind error }

func (e *credentialsError) Error() string {
	if e.kind == guard.ErrUnavailable {
		return fmt.Sprintf("%v: AWS credentials cannot be fetched now; guard tries again", e.kind)
	}
	return fmt.Sprintf("%v: no usable AWS credentials; check the profile, the keys, or set imds: true on an EC2 instance with a role", e.kind)
}

func kindOfCredentials(err error) error {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(kindOfCode(code(err)), guard.ErrUnavailable) || errors.Is(kindOfCode(code(err)), guard.ErrThrottled) {
		return guard.ErrUnavailable
	}
	return guard.ErrPermission
}
