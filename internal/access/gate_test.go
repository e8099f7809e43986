package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const annasToken, bobsToken, evesToken = "anna-anna-anna-anna-anna", "bob-bob-bob-bob-bob-bob-", "eve-eve-eve-eve-eve-eve-"

// clock is set by tests.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// opened returns the gate of a file. anna may replay, and bob may read.
func opened(t *testing.T, text string) (*Gate, *clock) {
	t.Helper()
	t.Setenv("ANNA", annasToken)
	t.Setenv("BOB", bobsToken)
	t.Setenv("EVE", evesToken)
	c := &clock{time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)}
	a := must.Get(Parse("access.yaml", []byte(text)))(t)
	return must.Get(New(a, c.read, slog.New(slog.DiscardHandler)))(t), c
}

const (
	withTokens = "url: http://localhost:8480\npeople: [{name: anna, role: replay, token_env: ANNA}, {name: bob, role: read, token_env: BOB}, {name: eve, role: none, token_env: EVE}]\n"
	withProxy  = "url: https://dlq.example\nproxy: {addresses: [10.0.0.7, 'fd00::/64'], user_header: X-User}\npeople: [{name: anna, role: replay}]\n"
)

func asking(from string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = from
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// outcome formats the identity, or the error.
func outcome(who Identity, err error) string {
	if d, ok := errors.AsType[*Denied](err); ok {
		return string(d.Reason)
	}
	return fmt.Sprintf("%s may %s", who.Name, who.Role)
}

// The user header is only trusted if the request comes from the proxy.
func TestWho_S4_6_behind_a_proxy(t *testing.T) {
	g, _ := opened(t, withProxy)
	others, _ := opened(t, strings.Replace(withProxy, "X-User}", "X-User, others: read}", 1))
	for _, c := range []struct {
		gate *Gate
		r    *http.Request
		want string
	}{
		{g, asking("10.0.0.7:999", "X-User", "anna"), "anna may replay"},
		{g, asking("[::ffff:10.0.0.7]:999", "X-User", "anna"), "anna may replay"},
		{g, asking("[fd00::9]:999", "X-User", "anna"), "anna may replay"},
		{g, asking("10.0.0.8:999", "X-User", "anna"), "refused"},
		{g, asking("127.0.0.1:999", "X-User", "anna"), "refused"},
		{g, asking("@", "X-User", "anna"), "refused"},
		{g, asking("10.0.0.7:999"), "not_signed_in"},
		{g, asking("10.0.0.7:999", "X-User", "anna", "X-User", "bob"), "refused"},
		{g, asking("10.0.0.7:999", "X-User", ""), "refused"},
		{g, asking("10.0.0.7:999", "X-User", "bob"), "refused"},
		{g, asking("10.0.0.7:999", "X-User", "Anna"), "refused"},
		{g, asking("10.0.0.7:999", "Authorization", "Bearer "+annasToken), "not_signed_in"},
		{others, asking("10.0.0.7:999", "X-User", "bob"), "bob may read"},
		{others, asking("10.0.0.7:999", "X-User", "b\u202eob"), "refused"},
		{others, asking("10.0.0.7:999", "X-User", "b\xffb"), "refused"},
		{others, asking("10.0.0.7:999", "X-User", strings.Repeat("b", 101)), "refused"},
		{Loopback("carl"), asking("127.0.0.1:1"), "carl may edit"},
	} {
		expect.Equal(t, outcome(c.gate.Who(c.r)), c.want, c.r.RemoteAddr, c.r.Header)
	}
}

func TestWho_S4_6_by_a_token(t *testing.T) {
	g, _ := opened(t, withTokens)
	for header, want := range map[string]string{
		"Bearer " + annasToken: "anna may replay", "Bearer " + bobsToken: "bob may read", "Bearer " + evesToken: "refused",
		"Bearer ": "not_signed_in", "Bearer " + annasToken + " ": "not_signed_in", "bearer " + annasToken: "not_signed_in", "Basic YTpi": "not_signed_in",
		"": "not_signed_in",
	} {
		expect.Equal(t, outcome(g.Who(asking("192.0.2.1:1", "Authorization", header))), want, header)
	}
}

// signedIn returns the cookie of a new session.
func signedIn(t *testing.T, g *Gate, token string) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	must.Get(g.SignIn(w, asking("192.0.2.1:1"), token))(t)
	return w.Result().Cookies()[0]
}

func TestSession_S4_6_ends(t *testing.T) {
	g, clock := opened(t, withTokens)
	with := func(c *http.Cookie) *http.Request {
		r := asking("192.0.2.1:1")
		r.AddCookie(c)
		return r
	}
	c := signedIn(t, g, annasToken)
	expect.That(t, c.HttpOnly && c.SameSite == http.SameSiteStrictMode && c.Path == "/" && outcome(g.Who(with(c))) == "anna may replay", "%+v", c)
	other := signedIn(t, g, bobsToken)
	g.SignOut(httptest.NewRecorder(), with(c))
	a, b := outcome(g.Who(with(c))), outcome(g.Who(with(other)))
	expect.That(t, a == "not_signed_in" && b == "bob may read", "after a sign-out %s, the other %s", a, b)
	clock.now = clock.now.Add(sessionLife)
	expect.Equal(t, outcome(g.Who(with(other))), "not_signed_in", "after its life")
	_, err := g.SignIn(httptest.NewRecorder(), asking("192.0.2.1:1"), evesToken)
	expect.That(t, outcome(Identity{}, err) == "refused", "a role that may do nothing: %v", err)
	again, _ := opened(t, withTokens)
	expect.Equal(t, outcome(again.Who(with(signedIn(t, g, annasToken)))), "not_signed_in", "after a restart")
	https, _ := opened(t, "url: https://dlq.example\nproxy: {addresses: [10.0.0.7], user_header: X-User, others: read}\n")
	w := httptest.NewRecorder()
	https.FormToken(w, asking("10.0.0.7:1"), Identity{})
	c = w.Result().Cookies()[0]
	expect.That(t, c.Secure && strings.HasPrefix(c.Name, "__Host-"), "over https: %+v", c)
}

// At the limit of sessions, the one that would end first is removed.
func TestSession_S4_6_there_are_so_many(t *testing.T) {
	g, clock := opened(t, withTokens)
	first := signedIn(t, g, annasToken)
	for range maxSessions {
		clock.now = clock.now.Add(time.Millisecond)
		signedIn(t, g, bobsToken)
	}
	r := asking("192.0.2.1:1")
	r.AddCookie(first)
	got := outcome(g.Who(r))
	expect.That(t, got == "not_signed_in" && len(g.sessions) == maxSessions, "%s, %d sessions", got, len(g.sessions))
}

// Wrong tokens from one address are checked more and more slowly, without effect on other addresses. IPv6 addresses
// count by network.
func TestFailures_S4_6_by_address(t *testing.T) {
	g, clock := opened(t, withTokens)
	try := func(from, token string) string { return outcome(g.SignIn(httptest.NewRecorder(), asking(from), token)) }
	for i := range triesAtOnce {
		must.Equal(t, try(fmt.Sprintf("[2001:db8::%d]:%d", i, i+1), "guess"), "not_signed_in", "try", i)
	}
	a, b, c := try("[2001:db8::99]:1", annasToken), try("[2001:db8:0:1::]:1", annasToken), outcome(g.Who(asking("[2001:db8::7]:1", "Authorization", "Bearer "+annasToken)))
	expect.That(t, a == "too_many" && b == "anna may replay" && c == "too_many", "%s, %s, %s", a, b, c)
	clock.now = clock.now.Add(tryAgain)
	a, b, c = try("[2001:db8::99]:1", annasToken), try("[2001:db8::99]:1", "guess"), try("[2001:db8::99]:1", annasToken)
	expect.That(t, a == "anna may replay" && b == "not_signed_in" && c == "too_many", "later: %s, %s, %s", a, b, c)
	for i := range maxAddresses + 20 {
		try(fmt.Sprintf("10.%d.%d.1:1", i/256, i%256), "guess")
	}
	n := len(g.failures.from)
	expect.That(t, n <= maxAddresses+1, "%d addresses are remembered", n)
	expect.Equal(t, try("[2001:db8::99]:1", annasToken), "too_many", "others pushed it out")
}

func TestNew_S4_6_refuses_tokens_that_prove_nothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(file, []byte(annasToken+"\n"), 0o600))
	t.Setenv("ANNA", annasToken)
	t.Setenv("SHORT", "hunter2")
	for people, want := range map[string]string{
		"{name: a, role: read, token_env: SHORT}":                                                 "could be guessed",
		"{name: a, role: read, token_env: NOWHERE}":                                               "NOWHERE is not set",
		"{name: a, role: read, token_file: /nowhere}":                                             "the token of a: token_file: open /nowhere",
		"{name: a, role: read, token_env: ANNA}, {name: b, role: read, token_file: " + file + "}": "a and b have the same token",
	} {
		a := must.Get(Parse("f", []byte("url: http://localhost\npeople: ["+people+"]\n")))(t)
		_, err := New(a, time.Now, slog.New(slog.DiscardHandler))
		expect.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "hunter2") && !strings.Contains(err.Error(), annasToken), "%s: %v", people, err)
	}
}

func TestServes_S4_6_its_own_name_alone(t *testing.T) {
	g, _ := opened(t, withProxy)
	for host, want := range map[string]bool{
		"dlq.example": true, "DLQ.example": true, "dlq.example:443": true, "dlq.example:8443": false, "127.0.0.1": false, "localhost": false, "": false,
		"rebound.example": false, "dlq.example.rebound.example": false, "10.0.0.7": false,
	} {
		expect.That(t, g.Serves(host) == want, "%q: %t", host, !want)
	}
}

func TestParse_S4_6_says_what_is_wrong_and_where(t *testing.T) {
	const site, tls = "url: https://dlq.example.org\n", "tls: {cert_file: c.pem, key_file: k.pem}\n"
	const anna = "people: [{name: anna, role: replay, token_env: ANNA}]\n"
	const proxy = "proxy: {addresses: [10.0.0.7], user_header: X-User}\n"
	for _, c := range [][2]string{
		{"", "url: is mandatory"},
		{site + tls, "people: nobody may use the console"},
		{site + anna, "f.yaml:1:6: url: https needs a certificate"},
		{"url: http://dlq.example.org\n" + tls + anna, "unencrypted"},
		{"url: dlq.example.org\n" + tls + anna, "not the address of a web server"},
		{"url: https://anna@dlq.example.org\n" + tls + anna, "not the address of a web server"},
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
		{site + "proxy: {addresses: [10.0.0.7, 0.0.0.0/0], user_header: X-User, others: read}\n", "proxy.addresses[1]: trusts every client"},
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
		expect.That(t, err != nil && strings.Contains(err.Error(), c[1]) && !strings.Contains(err.Error(), "pipeline"), "%s\nwant %q in %v", c[0], c[1], err)
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

// certify writes a new certificate with its key, with a new modification time.
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

// A renewed certificate is used for the next connection. While its files are missing or do not match, the previous one
// is used.
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
