package url

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
)

// address is one under notify.urls, as the service itself gives it.
type address struct {
	url.URL
	query url.Values // of it; what is guard's own is taken out
}

// take removes a key of guard's own from the query.
func (a *address) take(key string) string {
	v := a.query.Get(key)
	a.query.Del(key)
	return v
}

// unknown is an error where the query has keys that nobody takes. It does not repeat
// them: a token may have an & in it.
func (a *address) unknown() error {
	if len(a.query) > 0 {
		return errors.New("there is something after the ? that it does not take")
	}
	return nil
}

// to is the address at a path, with more in its query. It names no user.
func (a *address) to(path string, more map[string]string) string {
	u, q := a.URL, maps.Clone(a.query)
	for k, v := range more {
		q.Set(k, v)
	}
	u.User, u.Path, u.RawPath, u.RawQuery = nil, path, "", q.Encode()
	return u.String()
}

// same is the address as it is.
func (a *address) same() string { return a.to(a.Path, nil) }

// signed is an HMAC in base64, as Feishu and DingTalk want it.
func signed(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// digest is a short name for a long one, such as an ID where a service bounds its length
// or its characters.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
