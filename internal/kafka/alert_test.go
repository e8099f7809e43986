package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A broker that wants a certificate of its clients is running and its address is right: the message says what is missing.
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
	if err == nil {
		t.Fatal("no error")
	}
	if text := err.Error(); !strings.Contains(text, "kafka.tls.cert_file") || strings.Contains(text, "is the broker running") {
		t.Errorf("the message sends to the wrong place: %s", text)
	}
}
