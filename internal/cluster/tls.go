package cluster

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
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if err := errors.Join(trust(c, t.CAFile), identify(c, t.CertFile, t.KeyFile)); err != nil {
		return nil, err
	}
	return []kgo.Opt{kgo.DialTLSConfig(c)}, nil
}

// trust sets the authorities that a broker's certificate may come from; without a file they are the system's.
func trust(c *tls.Config, file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("kafka.tls.ca_file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("kafka.tls.ca_file: %s holds no certificate in PEM form", file)
	}
	return nil
}

// identify sets the client's own certificate, if it has one.
func identify(c *tls.Config, certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("kafka.tls.cert_file and kafka.tls.key_file: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}
