package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

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

// readUsername returns the user that is in the file, or in the environment variable that it names. key is the mapping that
// has username and username_env.
func readUsername(key, username, variable string) (string, error) {
	if variable == "" {
		return username, nil
	}
	user := os.Getenv(variable)
	if user == "" {
		return "", fmt.Errorf("%s.username_env: environment variable %s is not set or empty; set it to the user", key, variable)
	}
	return user, nil
}

// readSecret reads a secret from a file or, without one, from an environment variable. key is that of the two keys without
// _env and _file, what names the secret.
func readSecret(key, what, variable, file string) (Secret, error) {
	if file == "" {
		secret := os.Getenv(variable)
		if secret == "" {
			return Secret{}, fmt.Errorf("%s_env: environment variable %s is not set or empty; set it to the %s", key, variable, what)
		}
		return NewSecret(secret), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Secret{}, fmt.Errorf("%s_file: %w", key, err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	if secret == "" {
		return Secret{}, fmt.Errorf("%s_file: %s is empty; write the %s into it", key, file, what)
	}
	return NewSecret(secret), nil
}
