package vast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"guard"
	"guard/providers"
)

// What is kept of texts from outside, in characters.
const (
	maxName = 256
	maxWord = 64
)

// digits is the form of an ID: a number above zero that fits 63 bits.
var digits = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

// number is an ID; false for anything that is no whole number above zero.
func number(f providers.Field) (string, bool) { return string(f), digits.Match(f) }

// epoch is a time in seconds since 1970, to the second, in UTC; zero for anything else, and
// for one of another century.
func epoch(f providers.Field) time.Time {
	s := f.Gauge()
	if !s.OK || math.Abs(s.V) > 1e11 {
		return time.Time{}
	}
	if at := time.Unix(int64(s.V), 0).UTC(); at.Year() >= 2000 && at.Year() <= 2100 {
		return at
	}
	return time.Time{}
}

// The words of the API's errors, where the description names them.
var (
	absentWords = []string{"not_found", "no_such_instance", "no_such_volume"}
	wordKinds   = map[string]error{
		"auth_error": guard.ErrPermission, "rate_limit_exceeded": guard.ErrThrottled,
		"invalid_args": guard.ErrInvalid, "invalid_request": guard.ErrInvalid, "invalid_token": guard.ErrInvalid, "invalid_id": guard.ErrInvalid,
	}
)

// kindOf tells the API's own "not found" from any other 404: it has one of three words, and
// success false (description), which some endpoints leave out (pages): then the word has to be
// Vast's alone. A key that no user has is a 404 as well, and no absence.
func kindOf(status int, body []byte) error {
	var e struct {
		Success providers.Field `json:"success"`
		Error   providers.Field `json:"error"`
	}
	_ = json.Unmarshal(body, &e) // a refusal may be plain text
	word := e.Error.Text(maxWord)
	switch {
	case word == "auth_error" && status >= 400 && status < 500:
		return guard.ErrPermission
	case status != http.StatusNotFound && status != http.StatusGone:
		return nil
	case slices.Contains(absentWords, word) && (e.Success.Tri() == guard.No || e.Success.Null() && word != "not_found"):
		return guard.ErrNotFound
	}
	return guard.ErrBadReply
}

// refusal is the error of a reply with status 200 that says that it failed; nil where it
// does not say so.
func refusal(success, word providers.Field) error {
	if success.Tri() != guard.No {
		return nil
	}
	w := word.Text(maxWord)
	if slices.Contains(absentWords, w) {
		return fmt.Errorf("%w: Vast says so", guard.ErrNotFound)
	}
	if kind := wordKinds[w]; kind != nil {
		return fmt.Errorf("%w: Vast answers that it failed (%s)", kind, w)
	}
	return fmt.Errorf("%w: Vast answers that it failed", guard.ErrRefused)
}

func isAbsent(err error) bool { return errors.Is(err, guard.ErrNotFound) }

// mostPages bounds a listing whose pages never end.
const mostPages = 10_000

// list reads the records under a name of a reply, and of all the pages that follow it.
// total is the name of how many there are in all. Records that are none are left out, and
// then there is an error beside the others; of one that comes again the later one counts.
// Fields that are left out of T are never kept: an instance's jupyter_token, its environment
// and its commands are secrets.
func list[T interface{ key() (string, bool) }](ctx context.Context, p *Provider, name, total string, query url.Values, path ...string) ([]T, error) {
	out, wrong, all := []T{}, 0, int64(0)
	at := map[string]int{} // where the record of a key is
	tokens := map[string]bool{}
	for range mostPages {
		var page map[string]providers.Field
		if err := p.api.Get(ctx, &page, query, path...); err != nil {
			return out, ofList(err)
		}
		if err := refusal(page["success"], page["error"]); err != nil {
			return out, ofList(err)
		}
		var raw []providers.Field
		if !page[name].Into(&raw) {
			return out, fmt.Errorf("%w: the reply has no list of %s in it", guard.ErrBadReply, name)
		}
		for _, b := range raw {
			var x T
			key, ok := "", b.Into(&x)
			if ok {
				key, ok = x.key()
			}
			i, again := at[key]
			switch {
			case !ok:
				wrong++
			case again:
				out[i] = x
			default:
				at[key] = len(out)
				out = append(out, x)
			}
		}
		if n, ok := page[total].Count(maxTotal); ok {
			all = n // things come and go meanwhile: the last word counts
		}
		next := page["next_token"]
		token := ""
		switch {
		case next.Null():
		case !next.Into(&token), tokens[token]:
			return out, fmt.Errorf("%w: the list of %s does not say where it goes on", guard.ErrBadReply, name)
		}
		if token != "" {
			tokens[token] = true
			query.Set("after_token", token)
			continue
		}
		if int64(len(out)+wrong) < all {
			return out, fmt.Errorf("%w: the list of %s has %d entries and says that there are %d", guard.ErrBadReply, name, len(out)+wrong, all)
		}
		if wrong > 0 {
			return out, fmt.Errorf("%w: %d entries of the list of %s make no sense, so it does not count as complete", guard.ErrBadReply, wrong, name)
		}
		return out, nil
	}
	return out, fmt.Errorf("%w: the list of %s does not end", guard.ErrBadReply, name)
}

// maxTotal is how many things an account may say that it has.
const maxTotal = 10_000_000

// ofList is the error of a list: one that is not found is no proof of anything's absence.
func ofList(err error) error {
	if isAbsent(err) {
		return fmt.Errorf("%w: there is no such list", guard.ErrBadReply)
	}
	return err
}

// send makes a call that changes something. Vast has done it where the reply says so.
func (p *Provider) send(ctx context.Context, method string, in any, path ...string) error {
	var reply struct {
		Success providers.Field `json:"success"`
		Error   providers.Field `json:"error"`
	}
	if err := p.api.Call(providers.Write(ctx), method, nil, in, &reply, path...); err != nil {
		return err
	}
	if err := refusal(reply.Success, reply.Error); err != nil {
		return err
	}
	if reply.Success.Tri() != guard.Yes {
		return fmt.Errorf("%w: %w: the reply does not say that it was done", guard.ErrUncertain, guard.ErrBadReply)
	}
	return nil
}
