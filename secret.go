package guard

import "log/slog"

const redacted = "[redacted]"

// Secret is a token, a key or a password. It prints, logs and marshals as
// "[redacted]"; only Reveal gives the value, for the one call that needs it.
//
// The value hangs on a pointer because fmt cannot call the methods of a Secret
// in an unexported field, and would print what is in it.
type Secret struct{ v *string }

// NewSecret wraps a secret value.
func NewSecret(v string) Secret {
	if v == "" {
		return Secret{}
	}
	return Secret{&v}
}

// Reveal returns the value itself.
func (s Secret) Reveal() string {
	if s.v == nil {
		return ""
	}
	return *s.v
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.v != nil }

// String never gives the value.
func (s Secret) String() string { return redacted }

// GoString never gives the value.
func (s Secret) GoString() string { return redacted }

// LogValue never gives the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText never gives the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
