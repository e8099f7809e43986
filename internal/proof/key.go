package proof

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// MinKeyBytes is the minimum length of a key. It equals the length of the hash (RFC 2104, section 3).
const MinKeyBytes = 32

// maxKeyBytes bounds the length of a key. A longer key adds no security.
const maxKeyBytes = 1024

// redacted replaces the key in every printed form.
const redacted = "[redacted]"

// Key signs replays. Every way to print a key prints [redacted]. Only [Key.Reveal] returns its bytes.
type Key struct {
	id     string
	secret *[]byte // a pointer, because fmt prints unexported fields, but does not follow a pointer below the top level
}

// NewKey returns a key with a copy of secret. It refuses fewer than MinKeyBytes bytes, and too many.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < MinKeyBytes || len(secret) > maxKeyBytes {
		return Key{}, fmt.Errorf("a replay key has %d bytes, want %d to %d", len(secret), MinKeyBytes, maxKeyBytes)
	}
	own := append([]byte{}, secret...)
	sum := sha256.Sum256(append([]byte("switchback replay key id\x00"), own...))
	return Key{id: hex.EncodeToString(sum[:idBytes]), secret: &own}, nil
}

// Random returns a key of MinKeyBytes random bytes.
func Random() Key {
	secret := make([]byte, MinKeyBytes)
	_, _ = rand.Read(secret) // never fails, see crypto/rand
	key, err := NewKey(secret)
	if err != nil {
		panic(err) // cannot happen, because the length is a constant
	}
	return key
}

// ID returns a name of the key that does not reveal it: 16 hex digits of a hash.
func (k Key) ID() string { return k.id }

// Reveal returns the bytes of the key. Store them only in the control topic.
func (k Key) Reveal() []byte {
	if k.secret == nil {
		return nil
	}
	return append([]byte{}, *k.secret...)
}

// String returns [redacted].
func (k Key) String() string { return redacted }

// GoString returns [redacted].
func (k Key) GoString() string { return redacted }

// MarshalText returns [redacted], for every encoder that accepts text.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns [redacted] for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// Variable is the environment variable that contains the keys of a pipeline.
const Variable = "SWITCHBACK_REPLAY_KEY"

// FromEnvironment reads the keys of a pipeline from the environment (see [ParseKeys]). If the variable is not set, it
// returns no keys, and the control topic has the key. The error names the variable and never repeats its value.
func FromEnvironment(lookup func(string) string) ([]Key, error) {
	text := lookup(Variable)
	if text == "" {
		return nil, nil
	}
	keys, err := ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", Variable, err)
	}
	return keys, nil
}

// ParseKeys parses keys in hex or base64, separated by commas. The first key signs. Errors do not repeat the text.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for i, word := range strings.Split(text, ",") {
		key, err := parseKey(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("key %d of the list: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// parseKey tries hex before base64. Hex digits are valid base64 too, but a text of hex digits is read as hex.
func parseKey(word string) (Key, error) {
	if word == "" {
		return Key{}, errors.New("it is empty; separate keys by single commas")
	}
	if secret, err := hex.DecodeString(word); err == nil {
		return NewKey(secret)
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if secret, err := encoding.Strict().DecodeString(word); err == nil {
			return NewKey(secret)
		}
	}
	return Key{}, errors.New("it is neither hex nor base64; make one with: openssl rand -hex 32")
}
