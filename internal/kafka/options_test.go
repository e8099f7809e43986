package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const password = "correct horse"

func TestReachable(t *testing.T) {
	t.Run("a_broker_that_answers", func(t *testing.T) {
		broker := start(t)
		must.Do(t, reach(t, config.Kafka{Brokers: broker.ListenAddrs()}))
	})
	t.Run("one_of_two_answers", func(t *testing.T) {
		must.Do(t, reach(t, config.Kafka{Brokers: append([]string{closedPort(t)}, start(t).ListenAddrs()...)}))
	})
	t.Run("refused_gives_one_clear_line", func(t *testing.T) {
		address := closedPort(t)
		err := reach(t, config.Kafka{Brokers: []string{address}})
		want := "cannot reach Kafka at " + address + ": connection refused; is the broker running? set kafka.brokers or SWITCHBACK_KAFKA_BROKERS"
		expect.That(t, err != nil && err.Error() == want, "got  %v\nwant %s", err, want)
		_, ok := errors.AsType[*UnreachableError](err)
		expect.That(t, ok, "the error is a %T", err)
	})
	t.Run("canceled_is_not_unreachable", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		client := connect(t, config.Kafka{Brokers: start(t).ListenAddrs()})
		err := Reachable(ctx, client)
		expect.That(t, errors.Is(err, context.Canceled), "got %v", err)
	})
}

func TestReachable_SASL(t *testing.T) {
	broker := start(t, kfake.EnableSASL(), kfake.User("PLAIN", "pipeline", password),
		kfake.User("SCRAM-SHA-256", "pipeline", password), kfake.User("SCRAM-SHA-512", "pipeline", password))
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
	for _, mechanism := range config.Mechanisms()[1:] {
		t.Run(string(mechanism)+"_password_from_the_environment", func(t *testing.T) {
			t.Setenv("CLUSTER_TEST_PASSWORD", password)
			must.Do(t, reach(t, config.Kafka{Brokers: broker.ListenAddrs(), SASL: config.SASL{
				Mechanism: mechanism, Username: "pipeline", PasswordEnv: "CLUSTER_TEST_PASSWORD",
			}}))
		})
		t.Run(string(mechanism)+"_password_from_a_file", func(t *testing.T) {
			must.Do(t, reach(t, config.Kafka{Brokers: broker.ListenAddrs(), SASL: config.SASL{
				Mechanism: mechanism, Username: "pipeline", PasswordFile: file,
			}}))
		})
		t.Run(string(mechanism)+"_wrong_password_is_not_printed", func(t *testing.T) {
			t.Setenv("CLUSTER_TEST_PASSWORD", "hunter2")
			err := reach(t, config.Kafka{Brokers: broker.ListenAddrs(), SASL: config.SASL{
				Mechanism: mechanism, Username: "pipeline", PasswordEnv: "CLUSTER_TEST_PASSWORD",
			}})
			expect.That(t, err != nil && !strings.Contains(err.Error(), "hunter2") && !strings.Contains(err.Error(), "\n"), "got %v", err)
		})
	}
	t.Run("missing_SASL_says_what_to_check", func(t *testing.T) {
		err := reach(t, config.Kafka{Brokers: broker.ListenAddrs()})
		expect.That(t, err != nil && strings.Contains(err.Error(), "kafka.sasl"), "got %v", err)
	})
}

func TestOptions_faults(t *testing.T) {
	dir := t.TempDir()
	notPEM := filepath.Join(dir, "ca.pem")
	must.Do(t, os.WriteFile(notPEM, []byte("hello"), 0o600))
	absent := filepath.Join(dir, "absent")
	for _, c := range []struct {
		name  string
		kafka config.Kafka
		want  []string
	}{
		{"secret_that_is_not_set", config.Kafka{SASL: config.SASL{Mechanism: config.MechanismPlain, Username: "u", PasswordEnv: "CLUSTER_TEST_UNSET"}}, []string{"kafka.sasl.password_env", "CLUSTER_TEST_UNSET"}},
		{"unknown_mechanism", config.Kafka{SASL: config.SASL{Mechanism: "GSSAPI"}}, []string{"kafka.sasl.mechanism", "GSSAPI", "PLAIN"}},
		{"authority_file_absent", config.Kafka{TLS: config.TLS{Enabled: true, CAFile: absent}}, []string{"kafka.tls.ca_file", absent}},
		{"authority_file_is_no_PEM", config.Kafka{TLS: config.TLS{Enabled: true, CAFile: notPEM}}, []string{"kafka.tls.ca_file", "no certificate"}},
		{"certificate_without_key", config.Kafka{TLS: config.TLS{Enabled: true, CertFile: notPEM}}, []string{"kafka.tls.key_file"}},
		{"every_fault_at_once", config.Kafka{
			TLS:  config.TLS{Enabled: true, CAFile: absent, CertFile: absent, KeyFile: absent},
			SASL: config.SASL{Mechanism: config.MechanismPlain, Username: "u", PasswordFile: absent},
		}, []string{"kafka.tls.ca_file", "kafka.tls.cert_file", "kafka.sasl.password_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ClientOptions(c.kafka)
			must.That(t, err != nil, "no error")
			for _, part := range c.want {
				expect.That(t, strings.Contains(err.Error(), part), "%q does not name %q", err, part)
			}
		})
	}
}

// TestCredentials_are_read_for_each_connection checks that a changed password is used.
func TestCredentials_are_read_for_each_connection(t *testing.T) {
	s := config.SASL{Mechanism: config.MechanismPlain, Username: "u", PasswordEnv: "CLUSTER_TEST_PASSWORD"}
	t.Setenv("CLUSTER_TEST_PASSWORD", "old")
	mechanism := must.Get(mechanismOf(s))(t)
	for _, now := range []string{"old", "new"} {
		t.Setenv("CLUSTER_TEST_PASSWORD", now)
		_, first, err := mechanism.Authenticate(t.Context(), "")
		expect.That(t, err == nil && string(first) == "\x00u\x00"+now, "with password %q the client sends %q, %v", now, first, err)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, what, remedy string
		err                error
	}{
		{"dns", "host name kafka is not found", "kafka.brokers", &net.OpError{Op: "dial", Err: &net.DNSError{Name: "kafka", IsNotFound: true}}},
		{"timeout", "no answer in time", "firewall", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}},
		{"deadline", "no answer in time", "firewall", context.DeadlineExceeded},
		{"certificate", "not trusted (expired)", "kafka.tls.ca_file", &tls.CertificateVerificationError{Err: errors.New("expired")}},
		{"not_tls", "does not speak TLS", "kafka.tls.enabled", tls.RecordHeaderError{}},
		{"password", "refused the user or the password", "kafka.sasl", fmt.Errorf("x: %w", kerr.SaslAuthenticationFailed)},
		{"mechanism", "does not offer", "kafka.sasl.mechanism", kerr.UnsupportedSaslMechanism},
		{"anything_else_stays_one_line", "strange thing", "is the broker running?", errors.New("strange\n\tthing")},
	} {
		what, remedy := explain(c.err)
		expect.That(t, strings.Contains(what, c.what) && strings.Contains(remedy, c.remedy), "%v: got %q; %q", c.name, what, remedy)
	}
}

func start(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c := fakekafka.Start(t, opts...)
	return c
}

func connect(t *testing.T, k config.Kafka) *kgo.Client {
	t.Helper()
	k.ClientID = "test"
	opts := must.Get(ClientOptions(k))(t)
	client := must.Get(kgo.NewClient(opts...))(t)
	t.Cleanup(client.Close)
	return client
}

func reach(t *testing.T, k config.Kafka) error {
	t.Helper()
	return Reachable(t.Context(), connect(t, k))
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// If a broker requires client certificates, the broker runs and its address is right. The message says what is missing.
func TestReachable_says_that_the_broker_wants_a_certificate(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	defer donor.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: donor.Certificate().Raw}), 0o600))
	trusted := x509.NewCertPool()
	trusted.AddCert(donor.Certificate())
	broker := start(t, kfake.TLS(&tls.Config{ // with TLS 1.3 the alert comes after the first request, and a reset may overtake it
		Certificates: donor.TLS.Certificates, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
	}))
	err := reach(t, config.Kafka{Brokers: broker.ListenAddrs(), TLS: config.TLS{Enabled: true, CAFile: authority, ServerName: "example.com"}})
	must.That(t, err != nil, "no error")
	text := err.Error()
	expect.That(t, strings.Contains(text, "kafka.tls.cert_file") && !strings.Contains(text, "is the broker running"), "the message suggests the wrong cause: %s", text)
}

func TestFor_waits_its_time_or_until_the_context_ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Pause(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%s, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		err := Pause(ctx, time.Hour)
		expect.That(t, errors.Is(err, context.DeadlineExceeded) && time.Since(began) == time.Minute, "%s, %v", time.Since(began), err)
	})
}
