package config

import "errors"

// Kafka says how to reach the brokers.
type Kafka struct {
	// Brokers lists host:port of some brokers; the others are found through them. Defaults to 127.0.0.1:9092.
	Brokers []string `jsonschema:"minItems=1,uniqueItems=true,pattern=^.+:[0-9]+$,default=127.0.0.1:9092" yaml:"brokers"`
	// ClientID is the name that brokers see in their logs and quotas. Defaults to switchback.
	ClientID string `jsonschema:"minLength=1,maxLength=200,default=switchback" yaml:"client_id"`
	// TLS encrypts the connection.
	TLS TLS `yaml:"tls"`
	// SASL tells the brokers who is there.
	SASL SASL `yaml:"sasl"`
}

// TLS encrypts the connection to the brokers.
type TLS struct {
	// Enabled turns TLS on. Defaults to false.
	Enabled bool `jsonschema:"default=false" yaml:"enabled"`
	// CAFile is a PEM file with the authorities to trust. Defaults to those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile is a PEM file with the client's certificate; it needs key_file. Defaults to none.
	CertFile string `yaml:"cert_file"`
	// KeyFile is a PEM file with the key of cert_file. Defaults to none.
	KeyFile string `yaml:"key_file"`
	// ServerName is the name that the brokers' certificate must have. Defaults to the broker's host.
	ServerName string `yaml:"server_name"`
}

// SASL tells the brokers who is there. The password itself is never in the file: a key names the
// environment variable or the file that holds it.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Defaults to none: SASL is off.
	Mechanism Mechanism `jsonschema:"enum=,enum=PLAIN,enum=SCRAM-SHA-256,enum=SCRAM-SHA-512" yaml:"mechanism"`
	// Username is the user; give this or username_env. Defaults to none.
	Username string `yaml:"username"`
	// UsernameEnv names the environment variable that holds the user. Defaults to none.
	UsernameEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"username_env"`
	// PasswordEnv names the environment variable that holds the password; give this or password_file. Defaults to none.
	PasswordEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"password_env"`
	// PasswordFile is a file that holds the password; a line end at its end is left off. Defaults to none.
	PasswordFile string `echo:"no" yaml:"password_file"`
}

// Enabled reports whether SASL is on.
func (s SASL) Enabled() bool { return s.Mechanism != MechanismNone }

// Credentials reads user and password from where the file says they are. It is called when a
// connection is made, so that a changed secret is taken up by a restart and none is kept longer
// than needed. The error names the variable or file, never what it holds.
func (s SASL) Credentials() (username string, password Secret, err error) {
	username, userErr := readUsername("kafka.sasl", s.Username, s.UsernameEnv)
	password, passErr := readSecret("kafka.sasl.password", "password", s.PasswordEnv, s.PasswordFile)
	return username, password, errors.Join(userErr, passErr)
}
