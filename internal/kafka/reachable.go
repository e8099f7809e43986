package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// reachTimeout bounds the whole attempt, over all brokers.
const reachTimeout = 15 * time.Second

// UnreachableError means that no broker answered.
type UnreachableError struct {
	Brokers []string // as configured
	Err     error    // the error of the last broker
	Alone   bool     // there is no pipeline file; flags, the environment and a profile describe the connection
}

// Error is one line: the brokers, what happened, what to do.
func (e *UnreachableError) Error() string {
	what, remedy := explain(e.Err)
	if e.Alone {
		remedy = strings.ReplaceAll(remedy, "kafka.brokers or SWITCHBACK_KAFKA_BROKERS", "--brokers, SWITCHBACK_KAFKA_BROKERS or the profile")
		remedy = strings.ReplaceAll(remedy, "kafka.", "the profile's ")
	}
	return fmt.Sprintf("cannot reach Kafka at %s: %s; %s", strings.Join(e.Brokers, ", "), what, remedy)
}

// Unwrap returns the client's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Reachable requests a sign of life from the brokers. The error is an *UnreachableError, or ctx's error.
func Reachable(ctx context.Context, client *kgo.Client) error {
	bounded, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	err := client.Ping(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	brokers, _ := client.OptValue(kgo.SeedBrokers).([]string)
	return &UnreachableError{Brokers: brokers, Err: err}
}

// explain describes in plain words what happened and what to do.
func explain(err error) (what, remedy string) {
	const (
		running = "is the broker running? set kafka.brokers or SWITCHBACK_KAFKA_BROKERS"
		names   = "check kafka.brokers or SWITCHBACK_KAFKA_BROKERS"
	)
	var (
		dns       *net.DNSError
		plain     tls.RecordHeaderError
		untrusted *tls.CertificateVerificationError
		closed    *kgo.ErrFirstReadEOF
		timeout   net.Error
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", running
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %s is not found", dns.Name), names
	case errors.As(err, &untrusted):
		return fmt.Sprintf("the broker's certificate is not trusted (%v)", untrusted.Err), "check kafka.tls.ca_file and kafka.tls.server_name"
	case errors.As(err, &plain):
		return "the broker does not speak TLS on this port", "use its TLS port, or set kafka.tls.enabled: false"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "the broker refused the user or the password", "check kafka.sasl and the secret that it names"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "the broker does not offer this SASL mechanism", "check kafka.sasl.mechanism"
	case errors.As(err, &closed):
		return "the broker closed the connection at once", "check that kafka.tls and kafka.sasl match this port of the broker"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time", "is the address right, and does a firewall let it through? " + names
	case classify.Of(err).Code == classify.CodeTLS:
		return "the broker ended TLS (" + oneLine(err) + ")", "does it require client certificates? check kafka.tls.cert_file and kafka.tls.key_file"
	default:
		return oneLine(err), running
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Pause returns after d, or the context's error as soon as the context ends.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
