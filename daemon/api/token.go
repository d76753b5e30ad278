package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"guard"
	"guard/daemon/wire"
	"guard/store"
)

const (
	// tokenPrefix lets people and scanners of leaked secrets know one by its look.
	tokenPrefix = "guard_"
	// secretBytes is how much of a token is random: no list of hashes helps to guess it.
	secretBytes = 32
	// mostTokens bounds what one ledger hands out.
	mostTokens = 1000
	// keepTokens is how long one that has ended is listed.
	keepTokens = 90 * 24 * time.Hour
)

// errToken marks a caller that is not known: it shows no token, or none that
// opens anything.
var errToken = errors.New("not known here")

// authenticate finds the caller whose token a request shows. A refusal tells of a
// token's state only to whoever has its secret.
func (s *server) authenticate(ctx context.Context, h http.Header, at guard.Instant) (Caller, error) {
	id, secret, ok := bearer(h)
	if !ok {
		return Caller{}, faultf(errToken, "that is not a token of guard: one reads %sID.SECRET, and is sent as Authorization: Bearer TOKEN", tokenPrefix)
	}
	if ours, _, _ := strings.Cut(id, "-"); ours != s.mark() {
		return Caller{}, faultf(errToken, "this token is another guard's").hinted("Its guard has another ledger. Ask an admin of this one for a token.")
	}
	var t guard.Token
	err := s.Ledger.View(ctx, func(v *store.View) (err error) {
		t, _, err = v.Tokens.Get(id)
		return err
	})
	if err != nil {
		return Caller{}, err
	}
	// A token that is not there costs the same comparison.
	if hash := hashOf(secret); subtle.ConstantTimeCompare([]byte(hash), []byte(cmp.Or(t.Hash, strings.Repeat("-", len(hash))))) != 1 {
		return Caller{}, faultf(errToken, "guardd does not know this token").hinted("It may be mistyped or cut off. An admin can make another: guard token create NAME --role ROLE")
	}
	switch {
	case !t.RevokedAt.IsZero():
		return Caller{}, faultf(errToken, "this token was revoked at %s by %s", s.stamp(t.RevokedAt), t.RevokedBy)
	case !t.Valid(at.Wall):
		return Caller{}, faultf(errToken, "this token expired at %s", s.stamp(t.ExpiresAt)).hinted("An admin can make another: guard token create %s --role %s", t.Name, t.Role)
	}
	return Caller{Name: t.Name, Role: t.Role, Scope: t.Scope, Token: t.ID, bucket: "token " + t.ID}, nil
}

// bearer takes a token apart.
func bearer(h http.Header) (id, secret string, ok bool) {
	shown := h["Authorization"]
	if len(shown) != 1 {
		return "", "", false
	}
	scheme, text, _ := strings.Cut(shown[0], " ")
	text, prefixed := strings.CutPrefix(strings.TrimSpace(text), tokenPrefix)
	id, secret, cut := strings.Cut(text, ".")
	return id, secret, strings.EqualFold(scheme, "Bearer") && prefixed && cut && id != "" && secret != "" && len(text) < 200
}

// mark begins the ID of each of this ledger's tokens, so that one for another guard
// can be told from one that is mistyped.
func (s *server) mark() string {
	d := s.Ledger.Deployment()
	return d[:min(6, len(d))]
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (s *server) createToken(ctx context.Context, at guard.Instant, in wire.TokenRequest) (wire.TokenMade, error) {
	out := wire.TokenMade{Now: s.now(at)}
	t, err := s.tokenOf(ctx, at, in)
	if err != nil {
		return out, err
	}
	live, ended, err := s.tokens(ctx, at)
	if err != nil {
		return out, err
	}
	if len(live) >= mostTokens {
		return out, faultf(guard.ErrRefused, "there are %d tokens, and no more are handed out", len(live)).hinted("Revoke what nobody uses: guard token ls")
	}
	secret := base64.RawURLEncoding.EncodeToString(random(secretBytes))
	t.Hash = hashOf(secret)
	err = s.Ledger.Update(ctx, func(tx *store.Tx) error {
		if _, taken, err := tx.Tokens.Get(t.ID); err != nil || taken {
			return cmp.Or(err, fmt.Errorf("%w: the new token's ID is taken; try again", guard.ErrConflict))
		}
		for _, old := range ended[:min(len(ended), 50)] {
			if at.Wall.Sub(endOf(old)) > keepTokens {
				if err := tx.Tokens.Delete(old.ID); err != nil {
					return err
				}
			}
		}
		return errors.Join(tx.Tokens.Put(t), tx.Journal(s.tokenEntry(ctx, at, t, "token created", "a token for "+t.Name+", role "+string(t.Role))))
	})
	out.Token, out.Secret = s.wireToken(t, at.Wall), tokenPrefix+t.ID+"."+secret
	return out, err
}

// tokenOf is the token that is asked for, without its secret.
func (s *server) tokenOf(ctx context.Context, at guard.Instant, in wire.TokenRequest) (guard.Token, error) {
	who := callerOf(ctx)
	t := guard.Token{ID: s.mark() + "-" + lower32(random(5)), Role: guard.Role(in.Role), CreatedAt: at.Wall, CreatedBy: who.Name}
	var err error
	if t.Name, err = line("name", in.Name, 60); err != nil {
		return t, err
	}
	switch {
	case t.Name == "":
		return t, faultf(guard.ErrInvalid, "name: say whose or what the token is for, such as ana or ci")
	case t.Name == "guard" || t.Name == nobody:
		return t, faultf(guard.ErrInvalid, "name: %q is guard's own in the journal: choose another", t.Name)
	case !slices.Contains(guard.Roles, t.Role):
		return t, faultf(guard.ErrInvalid, "role: %q is none of viewer, operator, admin", clip(in.Role))
	case !who.Role.Covers(t.Role):
		return t, faultf(guard.ErrPermission, "%s, whose role is %s, may not make a token of the role %s", who.Name, who.Role, t.Role)
	}
	if in.Scope != "" {
		account, id, err := s.resource(in.Scope)
		if err != nil {
			return t, err
		}
		if _, ok := s.Account(account); !ok {
			return t, s.noAccount(account)
		}
		t.Scope = account + "/" + id
	}
	if in.TTL != "" {
		d, err := duration("ttl", in.TTL)
		if err != nil {
			return t, err
		}
		t.ExpiresAt, err = s.fromNow(d, at)
		return t, err
	}
	return t, nil
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand crashes the program instead
	return b
}

func lower32(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// tokens are those of the ledger, valid ones and others, each oldest first.
func (s *server) tokens(ctx context.Context, at guard.Instant) (live, ended []guard.Token, err error) {
	err = s.Ledger.View(ctx, func(v *store.View) error {
		for t, err := range v.Tokens.All("") {
			switch {
			case err != nil:
				return err
			case t.Valid(at.Wall):
				live = append(live, t)
			default:
				ended = append(ended, t)
			}
		}
		return nil
	})
	slices.SortFunc(live, func(a, b guard.Token) int { return a.CreatedAt.Compare(b.CreatedAt) })
	slices.SortFunc(ended, func(a, b guard.Token) int { return endOf(a).Compare(endOf(b)) })
	return live, ended, err
}

// endOf is when a token stopped opening anything, or will.
func endOf(t guard.Token) time.Time {
	if t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(t.RevokedAt) {
		return t.ExpiresAt
	}
	return t.RevokedAt
}

func (s *server) listTokens(ctx context.Context, at guard.Instant, _ *nothing) (wire.Tokens, error) {
	out := wire.Tokens{Now: s.now(at), Tokens: []wire.Token{}}
	live, ended, err := s.tokens(ctx, at)
	for _, t := range slices.Concat(live, ended) {
		out.Tokens = append(out.Tokens, s.wireToken(t, at.Wall))
	}
	return out, err
}

func (s *server) revoke(ctx context.Context, at guard.Instant, in wire.RevokeRequest) (wire.Tokens, error) {
	out := wire.Tokens{Now: s.now(at), Tokens: []wire.Token{}}
	name := strings.TrimSpace(in.Token)
	if strings.HasPrefix(name, tokenPrefix) {
		// Whoever has the secret at hand may well paste it; it is not repeated.
		name, _, _ = strings.Cut(strings.TrimPrefix(name, tokenPrefix), ".")
	}
	live, ended, err := s.tokens(ctx, at)
	if err != nil {
		return out, err
	}
	of := func(t guard.Token) bool { return t.ID == name || t.Name == name }
	gone := slices.DeleteFunc(live, func(t guard.Token) bool { return !of(t) })
	if len(gone) == 0 {
		if i := slices.IndexFunc(ended, of); i >= 0 {
			return out, faultf(guard.ErrConflict, "the token %s of %s has ended already, at %s", ended[i].ID, ended[i].Name, s.stamp(endOf(ended[i])))
		}
		return out, faultf(guard.ErrNotFound, "there is no token %q", clip(name)).hinted("guard token ls shows their IDs and names.")
	}
	err = s.Ledger.UpdateEach(ctx, len(gone), func(tx *store.Tx, i int) error {
		t, ok, err := tx.Tokens.Get(gone[i].ID)
		if err != nil || !ok || !t.RevokedAt.IsZero() {
			return err // somebody else was faster
		}
		t.RevokedAt, t.RevokedBy = at.Wall, caller(ctx)
		gone[i] = t
		return errors.Join(tx.Tokens.Put(t), tx.Journal(s.tokenEntry(ctx, at, t, "token revoked", "the token of "+t.Name+" opens nothing any more")))
	})
	for _, t := range gone {
		out.Tokens = append(out.Tokens, s.wireToken(t, at.Wall))
	}
	return out, err
}

func (s *server) tokenEntry(ctx context.Context, at guard.Instant, t guard.Token, verb, text string) guard.JournalEntry {
	e := guard.JournalEntry{At: at.Wall, Verb: verb, Subject: t.Scope, Text: text, Data: map[string]string{"id": t.ID, "name": t.Name, "role": string(t.Role)}}
	if !t.ExpiresAt.IsZero() {
		e.Data["expires_at"] = t.ExpiresAt.Format(time.RFC3339)
	}
	return signed(ctx, e)
}

func (s *server) wireToken(t guard.Token, now time.Time) wire.Token {
	out := wire.Token{ID: t.ID, Name: t.Name, Role: string(t.Role), Scope: t.Scope, State: wire.TokenValid, CreatedAt: t.CreatedAt.In(s.Location()),
		CreatedBy: t.CreatedBy, ExpiresAt: s.local(t.ExpiresAt), RevokedAt: s.local(t.RevokedAt), RevokedBy: t.RevokedBy}
	switch {
	case !t.RevokedAt.IsZero():
		out.State = wire.TokenRevoked
	case !t.Valid(now):
		out.State = wire.TokenExpired
	}
	return out
}
