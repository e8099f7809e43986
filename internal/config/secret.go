package config

import "log/slog"

const redacted = "[redacted]"

// Secret is a password on its way from where it is kept to the connection that needs it. However
// it is printed, it shows as [redacted]; only [Secret.Reveal] gives its value.
type Secret struct {
	// A pointer, since fmt prints unexported fields by reflection and calls no method on them:
	// of a pointer below the top it shows the address only.
	value *string
}

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal returns the value; "" for the zero Secret. Hand it to the client and keep it nowhere.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns [redacted].
func (s Secret) String() string { return redacted }

// GoString returns [redacted].
func (s Secret) GoString() string { return redacted }

// MarshalText writes [redacted], for any encoder that takes text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON writes "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalYAML writes "[redacted]", in quotes, since without them it would be a list.
func (s Secret) MarshalYAML() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue gives slog [redacted].
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
