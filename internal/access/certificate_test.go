package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// certify writes a new certificate with its key; it is renewed at a time of its own.
func certify(t *testing.T, files ServerTLS, serial int64) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"dlq.example"}, NotAfter: time.Now().Add(time.Hour)}
	der := must.Get(x509.CreateCertificate(rand.Reader, about, about, key.Public(), key))(t)
	encoded := must.Get(x509.MarshalECPrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{files.CertFile: {Type: "CERTIFICATE", Bytes: der}, files.KeyFile: {Type: "EC PRIVATE KEY", Bytes: encoded}} {
		must.Do(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
		at := time.Unix(1_700_000_000+serial, 0)
		must.Do(t, os.Chtimes(name, at, at))
	}
}

// A certificate that is renewed counts at the next connection. While its files are missing or do not belong together, the former one stays.
func TestTLS_S4_6_renews_the_certificate(t *testing.T) {
	dir := t.TempDir()
	files := ServerTLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	_, err := readKeyPair(files, slog.New(slog.DiscardHandler))
	expect.That(t, err != nil, "there is no file")
	certify(t, files, 1)
	g := &Gate{keys: must.Get(readKeyPair(files, slog.New(slog.DiscardHandler)))(t)}
	serial := func() int64 {
		pair := must.Get(g.TLS().GetCertificate(nil))(t)
		return must.Get(x509.ParseCertificate(pair.Certificate[0]))(t).SerialNumber.Int64()
	}
	got := serial()
	expect.That(t, got == 1 && g.TLS().MinVersion == tls.VersionTLS12, "certificate %d", got)
	former := must.Get(os.ReadFile(files.KeyFile))(t)
	certify(t, files, 2)
	renewed := must.Get(os.ReadFile(files.KeyFile))(t)
	must.Do(t, os.WriteFile(files.KeyFile, former, 0o600))
	expect.Equal(t, serial(), 1, "between the two files: certificate")
	must.Do(t, os.WriteFile(files.KeyFile, renewed, 0o600))
	expect.Equal(t, serial(), 2, "renewed: certificate")
	must.Do(t, os.Remove(files.CertFile))
	expect.Equal(t, serial(), 2, "without its file: certificate")
}
