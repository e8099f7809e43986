package config

import (
	"errors"
	"strings"
)

// SchemaRegistry says where the schemas of the Confluent wire format are. A secret itself is never in the file: a key names
// the environment variable or the file that holds it.
type SchemaRegistry struct {
	// URL is that of the registry; several servers of one registry are separated by commas and tried in turn. Defaults to none: there is no registry.
	URL string `jsonschema:"pattern=^(https?://[^@?#]+)?$" yaml:"url"`
	// Username is the user of basic authentication; give this or username_env. Defaults to none.
	Username string `yaml:"username"`
	// UsernameEnv names the environment variable that holds the user. Defaults to none.
	UsernameEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"username_env"`
	// PasswordEnv names the environment variable that holds the password; give this or password_file. Defaults to none.
	PasswordEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"password_env"`
	// PasswordFile is a file that holds the password; a line end at its end is left off. Defaults to none.
	PasswordFile string `echo:"no" yaml:"password_file"`
	// TokenEnv names the environment variable that holds a bearer token, instead of user and password. Defaults to none.
	TokenEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"token_env"`
	// TokenFile is a file that holds a bearer token. Defaults to none.
	TokenFile string `echo:"no" yaml:"token_file"`
	// TLS says whom to trust where the URL is https.
	TLS RegistryTLS `yaml:"tls"`
	// Timeout is how long one request may take. Defaults to 5s.
	Timeout Duration `jsonschema:"default=5s" least:"10ms" most:"1m" yaml:"timeout"`
	// Cache says how long answers are kept. A schema that was found is kept for the life of the process: an id means one schema for ever.
	Cache RegistryCache `yaml:"cache"`
	// Outage says when the registry counts as down. What would have to ask it is then held and spends no attempts; a schema that is known needs no registry.
	Outage RegistryOutage `yaml:"outage"`
}

// RegistryOutage says when the registry counts as down, and how long it is left in peace.
type RegistryOutage struct {
	// Failures is how many requests in a row must fail transiently: no answer, 408, 429 or 5xx. Defaults to 3.
	Failures int `jsonschema:"minimum=1,maximum=1000,default=3" yaml:"failures"`
	// Pause is how long nothing is asked then; after it one request probes. Defaults to 5s.
	Pause Duration `jsonschema:"default=5s" least:"10ms" most:"1h" yaml:"pause"`
}

// RegistryTLS says whom to trust.
type RegistryTLS struct {
	// CAFile is a PEM file with the authorities to trust. Defaults to those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile is a PEM file with the client's certificate; it needs key_file. Defaults to none.
	CertFile string `yaml:"cert_file"`
	// KeyFile is a PEM file with the key of cert_file. Defaults to none.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name that the registry's certificate must have. Defaults to the host of the URL.
	ServerName string `yaml:"server_name"`
}

// RegistryCache says how long answers are kept.
type RegistryCache struct {
	// Missing is the longest time that an id which the registry does not know is not asked for again. It is a second at first, and doubles with each answer that says so. Defaults to 30s.
	Missing Duration `jsonschema:"default=30s" least:"1s" most:"1h" yaml:"missing"`
}

// Enabled reports whether there is a registry.
func (r SchemaRegistry) Enabled() bool { return r.URL != "" }

// URLs lists the servers.
func (r SchemaRegistry) URLs() []string {
	var out []string
	for url := range strings.SplitSeq(r.URL, ",") {
		if url = strings.TrimRight(strings.TrimSpace(url), "/"); url != "" {
			out = append(out, url)
		}
	}
	return out
}

// RegistryCredentials are what a registry wants to see: user and password, a token, or nothing.
type RegistryCredentials struct {
	Username        string
	Password, Token Secret
}

// Credentials reads the secrets from where the file says they are, as [SASL.Credentials] does.
func (r SchemaRegistry) Credentials() (c RegistryCredentials, err error) {
	const key = "schema_registry"
	var userErr, secretErr error
	switch {
	case r.TokenEnv != "" || r.TokenFile != "":
		c.Token, secretErr = readSecret(key+".token", "token", r.TokenEnv, r.TokenFile)
	case r.Username != "" || r.UsernameEnv != "":
		c.Username, userErr = readUsername(key, r.Username, r.UsernameEnv)
		c.Password, secretErr = readSecret(key+".password", "password", r.PasswordEnv, r.PasswordFile)
	}
	return c, errors.Join(userErr, secretErr)
}
