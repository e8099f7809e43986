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
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestParse_S4_6_says_what_is_wrong_and_where(t *testing.T) {
	const site, tls = "url: https://dlq.example.org\n", "tls: {cert_file: c.pem, key_file: k.pem}\n"
	const anna = "people: [{name: anna, role: replay, token_env: ANNA}]\n"
	const proxy = "proxy: {addresses: [10.0.0.7], user_header: X-User}\n"
	for _, c := range [][2]string{
		{"", "url: is mandatory"},
		{site + tls, "people: nobody may use the console"},
		{site + anna, "f.yaml:1:6: url: https needs a certificate"},
		{"url: http://dlq.example.org\n" + tls + anna, "unencrypted"},
		{"url: dlq.example.org\n" + tls + anna, "no address of a web server"},
		{"url: https://anna@dlq.example.org\n" + tls + anna, "no address of a web server"},
		{"url: HTTPS://DLQ.example.org\n" + tls + anna, "lower case"},
		{"url: https://dlq.example.org/console\n" + tls + anna, "has a path"},
		{site + "tls: {cert_file: c.pem}\n" + anna, "f.yaml:2:18: tls.cert_file: needs tls.key_file"},
		{site + "tls: {key_file: k.pem}\n" + anna, "tls.key_file: needs tls.cert_file"},
		{site + tls + "people: [{name: anna, role: admin, token_env: A}]\n", "f.yaml:3:29: people[0].role: "},
		{site + tls + "people: [{role: read, token_env: A}]\n", "people[0].name: is mandatory"},
		{site + tls + "people: [{name: anna, role: read}]\n", "people[0]: needs one of token_env and token_file"},
		{site + tls + "people: [{name: anna, role: read, token_env: A, token_file: f}]\n", "people[0]: needs one of"},
		{site + tls + "people: [{name: ' anna', role: read, token_env: A}]\n", "people[0].name: "},
		{site + tls + "people: [{name: \"an\\u202ena\", role: read, token_env: A}]\n", "people[0].name: "},
		{site + tls + "people: [{name: anna, role: read, token_env: A}, {name: anna, role: replay, token_env: B}]\n", "people[1].name: \"anna\" is listed twice"},
		{site + proxy + anna, "people[0]: has a token, and the proxy signs people in"},
		{site + proxy, "people: nobody may use the console"},
		{site + tls + anna + "proxy: {user_header: X-User}\n", "proxy: needs addresses"},
		{site + tls + anna + "proxy: {others: read}\n", "proxy: needs addresses"},
		{site + "proxy: {addresses: [proxy.example], user_header: X-User, others: read}\n", "proxy.addresses[0]: "},
		{site + "proxy: {addresses: [10.0.0.7, 0.0.0.0/0], user_header: X-User, others: read}\n", "proxy.addresses[1]: trusts everybody"},
		{site + "proxy: {addresses: [10.0.0.7], others: read}\n", "proxy.user_header: "},
		{site + "proxy: {addresses: [10.0.0.7], user_header: Cookie, others: read}\n", "proxy.user_header: "},
		{site + "proxy: {addresses: [10.0.0.7], user_header: 'X User', others: read}\n", "proxy.user_header: "},
		{site + tls + anna + "persons: []\n", "f.yaml:4:1: persons: "},
		{site + tls + anna + "mask: [/properties/owner, properties/phone]\n", "mask[1]: "},
		{site + tls + anna + "mask: ['']\n", "mask[0]: "},
		{site + tls + anna + "mask: [/properties//x]\n", "mask[0]: "},
		{site + tls + anna + "export: none\n", "export: none has no meaning"},
		{site + tls + anna + "export: admin\n", "f.yaml:4:9: export: "},
		{"url: [", "f.yaml:1:"},
	} {
		_, err := Parse("f.yaml", []byte(c[0]))
		if err == nil || !strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "pipeline") {
			t.Errorf("%s\nwant %q in %v", c[0], c[1], err)
		}
	}
}

func TestParse_S4_6_reads_who_may(t *testing.T) {
	a := must.Get(Parse("f.yaml", []byte("url: http://localhost:8480\npeople: [{name: anna, role: replay, token_env: ANNA}]\n")))(t)
	p := a.People[0]
	expect.That(t, a.URL == "http://localhost:8480" && p.Name == "anna" && p.Role == RoleReplay && p.TokenEnv == "ANNA" && !a.Proxy.Enabled() && a.Proxy.Others == RoleNone, "%+v", a)
	a = must.Get(Parse("f.yaml", []byte("url: https://d.example/\nproxy: {addresses: [10.0.0.7, 'fd00::/64'], user_header: X-User, others: read}\n")))(t)
	if p := a.Proxy; !p.Enabled() || p.UserHeader != "X-User" || p.Others != RoleRead {
		t.Errorf("%+v", a)
	}
}

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
