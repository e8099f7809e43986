package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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

// Principal returns the name by which the cluster knows a client of this configuration, as ACLs write it. It is "" if
// only the brokers know, because the name is in a certificate.
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
