package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/switchback-geo/switchback/internal/config"
)

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
