package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
)

// dialTimeout bounds one attempt to connect to one broker; the client tries the next one then.
const dialTimeout = 5 * time.Second

// ClientOptions gives the options that every client of the cluster needs: brokers, client id, TLS and SASL. The error names
// every key, file or environment variable that is at fault, one a line, and no secret.
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

// Principal gives the name by which the cluster knows a client of this configuration, as ACLs write it; "" when only the
// brokers can tell, since a certificate says it.
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
