package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/switchback-geo/switchback/internal/config"
)

// dialTimeout bounds one attempt to connect to one broker; then the client tries the next one.
const dialTimeout = 5 * time.Second

// ClientOptions returns the options of every client of the cluster: brokers, client ID, TLS and SASL. The error names
// every faulty key, file or environment variable, one per line, and no secret.
func ClientOptions(k config.Kafka) ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(k.Brokers...),
		kgo.ClientID(k.ClientID),
		kgo.DialTimeout(dialTimeout),
	}
	encryption, tlsErr := tlsOptions(k.TLS)
	identity, saslErr := saslOptions(k.SASL)
	if err := errors.Join(tlsErr, saslErr); err != nil {
		return nil, err
	}
	return append(append(opts, encryption...), identity...), nil
}

// Principal returns the name of a client of this configuration in the cluster, as ACLs write it. It is "" if only the
// brokers know, because the name is in a certificate.
func Principal(k config.Kafka) string {
	switch {
	case k.SASL.Enabled():
		name, _, err := k.SASL.Credentials()
		if err != nil {
			return ""
		}
		return "User:" + name
	case k.TLS.Enabled:
		return ""
	}
	return "User:ANONYMOUS"
}

func tlsOptions(t config.TLS) ([]kgo.Opt, error) {
	if !t.Enabled {
		return nil, nil
	}
	c, err := TLSConfig("kafka.tls", t)
	if err != nil {
		return nil, err
	}
	return []kgo.Opt{kgo.DialTLSConfig(c)}, nil
}

// TLSConfig reads the files of a TLS connection. key is their key in the pipeline file; errors begin with it.
func TLSConfig(key string, t config.TLS) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if err := errors.Join(trust(c, key, t.CAFile), identify(c, key, t.CertFile, t.KeyFile)); err != nil {
		return nil, err
	}
	return c, nil
}

// trust sets the certificate authorities for servers; without a file they are the system's.
func trust(c *tls.Config, key, file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s.ca_file: %w", key, err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s.ca_file: %s contains no certificate in PEM form", key, file)
	}
	return nil
}

// identify sets the client's own certificate, if it has one.
func identify(c *tls.Config, key, certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("%s.cert_file and %s.key_file: %w", key, key, err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

func saslOptions(s config.SASL) ([]kgo.Opt, error) {
	if !s.Enabled() {
		return nil, nil
	}
	mechanism, err := mechanismOf(s)
	if err != nil {
		return nil, err
	}
	// Credentials are read once here, so that a missing secret is reported now and not by a connection that fails again
	// and again.
	if _, _, err := s.Credentials(); err != nil {
		return nil, err
	}
	return []kgo.Opt{kgo.SASL(mechanism)}, nil
}

// mechanismOf returns the mechanism; it reads the credentials again for each connection.
func mechanismOf(s config.SASL) (sasl.Mechanism, error) {
	salted := func(context.Context) (scram.Auth, error) {
		user, password, err := s.Credentials()
		return scram.Auth{User: user, Pass: password.Reveal()}, err
	}
	switch s.Mechanism {
	case config.MechanismPlain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := s.Credentials()
			return plain.Auth{User: user, Pass: password.Reveal()}, err
		}), nil
	case config.MechanismScramSHA256:
		return scram.Sha256(salted), nil
	case config.MechanismScramSHA512:
		return scram.Sha512(salted), nil
	default:
		return nil, fmt.Errorf("kafka.sasl.mechanism: %q is not known; use one of %q", s.Mechanism, config.Mechanisms()[1:])
	}
}
