package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Kafka configures the connection to the brokers.
type Kafka struct {
	// Brokers lists host:port of some brokers; the client discovers the others from them. Defaults to 127.0.0.1:9092.
	Brokers []string `jsonschema:"minItems=1,uniqueItems=true,pattern=^.+:[0-9]+$,default=127.0.0.1:9092" yaml:"brokers"`
	// ClientID is the name of the client in the logs and quotas of the brokers. Defaults to switchback.
	ClientID string `jsonschema:"minLength=1,maxLength=200,default=switchback" yaml:"client_id"`
	// TLS encrypts the connection.
	TLS TLS `yaml:"tls"`
	// SASL authenticates the client to the brokers.
	SASL SASL `yaml:"sasl"`
}

// TLS encrypts the connection to the brokers.
type TLS struct {
	// Enabled turns TLS on. Defaults to false.
	Enabled bool `jsonschema:"default=false" yaml:"enabled"`
	// CAFile is a PEM file with the trusted certificate authorities. Defaults to those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile is a PEM file with the client's certificate; it needs key_file. Defaults to none.
	CertFile string `yaml:"cert_file"`
	// KeyFile is a PEM file with the key of cert_file. Defaults to none.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name that the brokers' certificate must have. Defaults to the broker's host.
	ServerName string `yaml:"server_name"`
}

// SASL authenticates the client to the brokers. The password is never in the pipeline file: a key names the
// environment variable or the file with the password.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Defaults to none: SASL is off.
	Mechanism Mechanism `jsonschema:"enum=,enum=PLAIN,enum=SCRAM-SHA-256,enum=SCRAM-SHA-512" yaml:"mechanism"`
	// Username is the user name. Set either username or username_env. Defaults to none.
	Username string `yaml:"username"`
	// UsernameEnv names the environment variable with the user name. Defaults to none.
	UsernameEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"username_env"`
	// PasswordEnv names the environment variable with the password. Set either password_env or password_file. Defaults to none.
	PasswordEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"password_env"`
	// PasswordFile is a file with the password; a trailing line end is removed. Defaults to none.
	PasswordFile string `echo:"no" yaml:"password_file"`
}

// Enabled reports whether SASL is on.
func (s SASL) Enabled() bool { return s.Mechanism != MechanismNone }

// Credentials reads the user and the password from the places that the file names. The client calls it when it connects,
// so a restart uses a changed secret. No secret stays in memory longer than needed. The error names the variable or
// file, never the secret.
func (s SASL) Credentials() (username string, password Secret, err error) {
	username, userErr := readUsername("kafka.sasl", s.Username, s.UsernameEnv)
	password, passErr := ReadSecret("kafka.sasl.password", "password", s.PasswordEnv, s.PasswordFile)
	return username, password, errors.Join(userErr, passErr)
}

// SchemaRegistry configures the registry for schemas of the Confluent wire format. Secrets are never in the pipeline file:
// a key names the environment variable or the file with the secret.
type SchemaRegistry struct {
	// URL is the address of the registry. Commas separate several servers of one registry, which are tried in turn. Defaults to none: there is no registry.
	URL string `jsonschema:"pattern=^(https?://[^@?#]+)?$" yaml:"url"`
	// Username is the user name for basic authentication. Set either username or username_env. Defaults to none.
	Username string `yaml:"username"`
	// UsernameEnv names the environment variable with the user name. Defaults to none.
	UsernameEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"username_env"`
	// PasswordEnv names the environment variable with the password. Set either password_env or password_file. Defaults to none.
	PasswordEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"password_env"`
	// PasswordFile is a file with the password; a trailing line end is removed. Defaults to none.
	PasswordFile string `echo:"no" yaml:"password_file"`
	// TokenEnv names the environment variable with a bearer token, which replaces user and password. Defaults to none.
	TokenEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"token_env"`
	// TokenFile is a file with a bearer token. Defaults to none.
	TokenFile string `echo:"no" yaml:"token_file"`
	// TLS configures certificates for an https registry.
	TLS RegistryTLS `yaml:"tls"`
	// Timeout is the longest time of one request. Defaults to 5s.
	Timeout Duration `jsonschema:"default=5s" least:"10ms" most:"1m" yaml:"timeout"`
	// Cache configures how long answers are kept. A schema that was found is kept for the life of the process, because an id never changes its schema.
	Cache RegistryCache `yaml:"cache"`
	// Outage sets when the registry counts as down. Records that need the registry are then deferred and spend no attempts. A known schema needs no registry.
	Outage RegistryOutage `yaml:"outage"`
}

// RegistryOutage sets when the registry counts as down, and how long no request is sent.
type RegistryOutage struct {
	// Failures is the number of consecutive transient failures: no answer, 408, 429 or 5xx. Defaults to 3.
	Failures int `jsonschema:"minimum=1,maximum=1000,default=3" yaml:"failures"`
	// Pause is how long no request is sent to a registry that is down; after it, one request probes. Defaults to 5s.
	Pause Duration `jsonschema:"default=5s" least:"10ms" most:"1h" yaml:"pause"`
}

// RegistryTLS configures certificates for an https registry.
type RegistryTLS struct {
	// CAFile is a PEM file with the trusted certificate authorities. Defaults to those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile is a PEM file with the client's certificate; it needs key_file. Defaults to none.
	CertFile string `yaml:"cert_file"`
	// KeyFile is a PEM file with the key of cert_file. Defaults to none.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name that the registry's certificate must have. Defaults to the host of the URL.
	ServerName string `yaml:"server_name"`
}

// RegistryCache configures how long answers are kept.
type RegistryCache struct {
	// Missing is the longest pause between two requests for an id that the registry does not know. The pause starts at one second and doubles with each such answer. Defaults to 30s.
	Missing Duration `jsonschema:"default=30s" least:"1s" most:"1h" yaml:"missing"`
}

// Enabled reports whether the file sets a registry.
func (r SchemaRegistry) Enabled() bool { return r.URL != "" }

// URLs returns the servers of the registry.
func (r SchemaRegistry) URLs() []string {
	var out []string
	for url := range strings.SplitSeq(r.URL, ",") {
		if url = strings.TrimRight(strings.TrimSpace(url), "/"); url != "" {
			out = append(out, url)
		}
	}
	return out
}

// RegistryCredentials holds the credentials for a registry: user and password, a token, or neither.
type RegistryCredentials struct {
	Username        string
	Password, Token Secret
}

// Credentials reads the secrets from the places that the file names, as [SASL.Credentials] does.
func (r SchemaRegistry) Credentials() (c RegistryCredentials, err error) {
	const key = "schema_registry"
	var userErr, secretErr error
	switch {
	case r.TokenEnv != "" || r.TokenFile != "":
		c.Token, secretErr = ReadSecret(key+".token", "token", r.TokenEnv, r.TokenFile)
	case r.Username != "" || r.UsernameEnv != "":
		c.Username, userErr = readUsername(key, r.Username, r.UsernameEnv)
		c.Password, secretErr = ReadSecret(key+".password", "password", r.PasswordEnv, r.PasswordFile)
	}
	return c, errors.Join(userErr, secretErr)
}

const redacted = "[redacted]"

// Secret holds a password between reading it and connecting with it. It is printed as [redacted]. Only [Secret.Reveal]
// returns the value.
type Secret struct {
	// The value is a pointer, because fmt prints unexported fields by reflection and calls no method on them. Of a
	// nested pointer, fmt prints only the address.
	value *string
}

// NewSecret wraps value.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal returns the value, or "" for the zero Secret. The caller passes it to the client and does not store it.
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

// MarshalYAML writes "[redacted]" in quotes, because YAML would read it as a list without them.
func (s Secret) MarshalYAML() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns [redacted] for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// readUsername returns username, or the value of the environment variable if one is named. key is the mapping that has
// username and username_env, for errors.
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

// ReadSecret reads a secret from file or, if file is "", from an environment variable. For errors, key is the common
// part of the two keys without _env and _file, and what names the secret.
func ReadSecret(key, what, variable, file string) (Secret, error) {
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
