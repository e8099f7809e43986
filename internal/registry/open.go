package registry

import (
	"crypto/tls"
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Open makes the client that a pipeline file describes. It reads the secrets and the files that the file names, and asks
// the registry nothing yet.
func Open(c config.SchemaRegistry) (*Client, error) {
	credentials, err := c.Credentials()
	if err != nil {
		return nil, err
	}
	var security *tls.Config
	if c.TLS != (config.RegistryTLS{}) {
		security, err = kafka.TLSConfig("schema_registry.tls", config.TLS{
			Enabled: true, CAFile: c.TLS.CAFile, CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, ServerName: c.TLS.ServerName,
		})
		if err != nil {
			return nil, err
		}
	}
	client, err := New(Options{
		URLs: c.URLs(), Username: credentials.Username, Password: credentials.Password.Reveal(), Token: credentials.Token.Reveal(),
		TLS: security, Timeout: c.Timeout.Std(), Missing: c.Cache.Missing.Std(), OutageFailures: c.Outage.Failures, OutagePause: c.Outage.Pause.Std(),
	})
	if err != nil {
		return nil, fmt.Errorf("schema_registry: %w", err)
	}
	return client, nil
}
