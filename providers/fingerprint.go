package providers

import (
	"crypto/sha256"
	"encoding/hex"

	"guard"
)

// KeyIdentity is the weak identity of a key whose provider does not tell whose it is: a
// fingerprint, from which nobody gets the key. It asks nobody, so a key that is not valid
// any more keeps it; the other calls tell.
func KeyIdentity(provider string, key guard.Secret) guard.Identity {
	sum := sha256.Sum256([]byte("guard " + provider + " key " + key.Reveal()))
	return guard.Identity{ID: "key-" + hex.EncodeToString(sum[:8])}
}
