package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
)

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
		return fmt.Errorf("%s.ca_file: %s holds no certificate in PEM form", key, file)
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
