package compshare

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is what the API signs with
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters, and bounds beyond which a number is
// noise.
const (
	maxID   = 128
	maxName = 256
	maxWord = 64
	maxGPUs = 1024
	maxCPUs = 4096
	maxGB   = 1_000_000
	maxAll  = 100_000 // entries of a list
)

// kindOf keeps a 404 from meaning "not found": the API has no such answer.
func kindOf(status int, _ []byte) error {
	if status == http.StatusNotFound || status == http.StatusGone {
		return guard.ErrBadReply
	}
	return nil
}

// params are those of a call, each a string, an int, a bool or a []string.
type params map[string]any

// signature is the SHA-1 of all parameters, names and values without anything between them in
// the order of the names, and the private key (docs.ucloud.cn, signature).
func signature(in params, private string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(in)) {
		b.WriteString(k)
		switch v := in[k].(type) {
		case string:
			b.WriteString(v)
		case int:
			b.WriteString(strconv.Itoa(v))
		case bool:
			b.WriteString(strconv.FormatBool(v))
		case []string:
			b.WriteString(strings.Join(v, "")) // tool
		}
	}
	b.WriteString(private)
	sum := sha1.Sum([]byte(b.String())) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// send makes a call, in JSON, and gives the answer whole. Whether it may be repeated is the
// context's to say.
func (p *Provider) send(ctx context.Context, action string, in params) (providers.Field, error) {
	out := params{"Action": action, "PublicKey": p.keys.PublicKey.Reveal()}
	if p.keys.Project != "" && action != "GetProjectList" {
		out["ProjectId"] = p.keys.Project
	}
	maps.Copy(out, in)
	out["Signature"] = signature(out, p.keys.PrivateKey.Reveal())
	var body providers.Field
	if err := p.api.Call(ctx, http.MethodPost, nil, out, &body); err != nil {
		return nil, err
	}
	return body, refusal(body)
}

// ask reads.
func (p *Provider) ask(ctx context.Context, action string, in params) (providers.Field, error) {
	return p.send(providers.Read(ctx), action, in)
}

// order makes a call that changes something. An answer without a code leaves open whether it
// was done.
func (p *Provider) order(ctx context.Context, action string, in params) error {
	_, err := p.send(providers.Write(ctx), action, in)
	if errors.Is(err, guard.ErrBadReply) && !errors.Is(err, guard.ErrUncertain) {
		return fmt.Errorf("%w: whether it was done is not known: %w", guard.ErrUncertain, err)
	}
	return err
}

// codes are the codes that are known (pages, the list of errors; 161 to 230: UCloud's and
// users').
var codes = map[string]struct {
	kind error
	says string
}{
	"161":    {guard.ErrInvalid, "the API has no such call; check the endpoint"},
	"171":    {guard.ErrPermission, "the signature is not right: check both keys, which have to be CompShare's and not UCloud's"},
	"172":    {guard.ErrPermission, "the public key is nobody's"},
	"230":    {guard.ErrInvalid, "the provider does not accept the request"},
	"8429":   {guard.ErrRefused, "the instance has expired; look at the account's unpaid orders"},
	"8433":   {guard.ErrUnavailable, "the provider failed; guard tries again"},
	"226601": {guard.ErrRefused, "the instance is in arrears; look at the account's unpaid orders"},
	"226602": {guard.ErrRefused, "the instance has expired; look at the account's unpaid orders"},
	"226606": {guard.ErrPermission, "the account's owner is not verified; CompShare wants that first"},
}

// busy is the word of a refusal while another operation goes on, and lockWait how long that is
// waited for; after ten minutes the lock is gone by itself (pages).
const (
	busy     = "InstanceOperationInProgress"
	lockWait = time.Minute
)

// refusal is what an answer says that has a code other than 0; nil for 0. A code that is not
// known is guard.ErrUnavailable: neither done nor absent.
func refusal(body providers.Field) error {
	var reply struct {
		Code    providers.Field `json:"RetCode"`
		Message providers.Field `json:"Message"`
	}
	body.Into(&reply)
	code := string(reply.Code)
	known, ok := codes[code]
	switch n, err := strconv.ParseInt(code, 10, 32); {
	case err != nil:
		return fmt.Errorf("%w: the answer has no code; check the endpoint", guard.ErrBadReply)
	case n == 0:
		return nil
	case strings.Contains(reply.Message.Text(maxName), busy):
		return &guard.RetryError{Err: fmt.Errorf("%w: RetCode %d: another operation on it goes on", guard.ErrConflict, n), After: lockWait}
	case ok:
		return fmt.Errorf("%w: RetCode %d: %s", known.kind, n, known.says)
	case ofRights(reply.Message.Text(maxName)):
		return fmt.Errorf("%w: RetCode %d: the keys may not do that; check what their account is allowed", guard.ErrPermission, n)
	default:
		return fmt.Errorf("%w: RetCode %d is not known", guard.ErrUnavailable, n)
	}
}

// ofRights reports whether the message of a code that is not known is about what the keys may
// do: UCloud has several such codes, and no list of them.
func ofRights(message string) bool {
	return strings.Contains(strings.ToLower(message), "permission") || strings.Contains(message, "权限")
}

// unix is a time in seconds since 1970, of this century, which the pages call a text and answers
// have as a number; zero for anything else, and for 0.
func unix(f providers.Field) time.Time {
	if digits := f.Text(maxWord); digits != "" {
		f = providers.Field(digits)
	}
	n, ok := f.Count(4_102_444_800) // 2100
	if !ok || n < 946_684_800 {     // 2000
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// regionOf is the region of a zone: cn-wlcb of cn-wlcb-01.
func regionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return zone
}
