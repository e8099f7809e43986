package console

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const annasToken, bobsToken = "anna-anna-anna-anna-anna", "bob-bob-bob-bob-bob-bob-"

// gateOf returns the gate of a file, in which anna, bob and eve name the files with their tokens.
func gateOf(t *testing.T, text string) *access.Gate {
	t.Helper()
	for name, token := range map[string]string{"anna": annasToken, "bob": bobsToken, "eve": evesToken} {
		file := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(file, []byte(token), 0o600))
		text = strings.ReplaceAll(text, "token_file: "+name, "token_file: "+file)
	}
	a := must.Get(access.Parse("access.yaml", []byte(text)))(t)
	return must.Get(access.New(a, time.Now, slog.New(slog.DiscardHandler)))(t)
}

// withAccess starts a console for the people of a file. anna may replay, and bob may only look.
func withAccess(t *testing.T, text string, letters int) *operator {
	t.Helper()
	o := newOperator(t, letters)
	o.stop()
	o.begin = func() *access.Gate { return gateOf(t, text) }
	o.open()
	return o
}

const tokenFile = "url: http://127.0.0.1:8480\npeople: [{name: anna, role: replay, token_file: anna}, {name: bob, role: read, token_file: bob}]\n"

// signIn signs in like a browser, and returns the page to which it leads.
func (o *operator) signIn(token, to string) *httptest.ResponseRecorder {
	w := o.send("/sign-in", url.Values{"secret": {token}, "to": {to}})
	if cookies := w.Result().Cookies(); len(cookies) > 0 {
		o.cookie = cookies[0]
	}
	return w
}

// Nobody sees anything before signing in; the requested page comes after it.
func TestAccess_S4_6_nobody_looks_without_signing_in(t *testing.T) {
	o := withAccess(t, tokenFile, 2)
	for _, path := range []string{"/", "/dead-letters/id-a", "/map", "/audit", "/change?verb=discard", "/nowhere"} {
		w := o.get(path)
		expect.That(t, w.Code == http.StatusSeeOther && w.Header().Get("Location") == "/sign-in?to="+url.QueryEscape(path) && !strings.Contains(w.Body.String(), "crosses"), "%s: %d %s", path, w.Code, w.Body)
	}
	for _, path := range []string{"/api/dead-letters", "/api/dead-letters/id-a/value", "/api/openapi.json", "/api/nowhere"} {
		w := o.get(path)
		said := o.refused(w, http.StatusUnauthorized)
		expect.That(t, said.Code == "not_signed_in" && w.Header().Get("WWW-Authenticate") == "Bearer", "%s: %+v", path, said)
	}
	for _, path := range []string{"/change", "/dry-run", "/undo/x", "/sign-out", "/replays/x/cancel"} {
		expect.Equal(t, o.send(path, url.Values{}).Code, http.StatusUnauthorized, "POST", path)
	}
	page := o.see("/sign-in?to=/audit")
	expect.That(t, !strings.Contains(page, "features") && strings.Contains(page, `value="/audit"`), "%v", page)
	says(t, o.signIn("wrong", "/audit"), http.StatusUnauthorized, "no user has this token", `value="/audit"`)
	for to, want := range map[string]string{
		"/audit?since=7d": "/audit?since=7d", "": "/", "//elsewhere.example": "/", "https://elsewhere.example/": "/", `/\elsewhere.example`: "/", "audit": "/", "/\nx": "/", "javascript:x": "/",
		"///elsewhere.example": "/",
	} {
		w := o.signIn(annasToken, to)
		expect.That(t, w.Code == http.StatusSeeOther && w.Header().Get("Location") == want, "%q leads to %d %q", to, w.Code, w.Header().Get("Location"))
	}
	r := o.posting("/sign-in", url.Values{"secret": {annasToken}})
	r.Header.Set("Origin", "http://elsewhere.example")
	w := o.ask(r)
	expect.That(t, w.Code == http.StatusForbidden && len(w.Result().Cookies()) <= 0, "a form of another page signs in: %d", w.Code)
}

// A person who may only look sees no button, and a form that is sent anyway changes nothing. A change has the name of
// the person who signed in.
func TestAccess_S4_6_roles(t *testing.T) {
	o := withAccess(t, tokenFile, 3)
	o.signIn(annasToken, "/")
	good := with(form(o.see("/change?verb=discard&id=id-a")), "reason", "gone for good")
	annas := o.cookie
	for path, w := range map[string]*httptest.ResponseRecorder{
		"page": o.with(request("/edit/id-a")), "preview": o.send("/edit/id-a", good), "save": o.send("/edit/id-a/save", good),
	} {
		expect.That(t, w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "anna may not edit"), "%s of an edit: %d %s", path, w.Code, w.Body)
	}
	o.signIn(bobsToken, "/")
	for _, path := range []string{"/", "/dead-letters/id-a", "/audit", "/replays"} {
		page := o.see(path)
		expect.That(t, !strings.Contains(page, "/change") && !strings.Contains(page, "/undo") && strings.Contains(page, "<span>bob</span>"), "%s: %s", path, page)
	}
	for path, form := range map[string]url.Values{
		"/change": with(form(o.see("/")), "verb", "discard", "filter", `{"ids":["id-a"]}`, "expect", "1", "reason", "x"), "/dry-run": good, "/undo/x": good, "/replays/x/cancel": good,
	} {
		says(t, o.send(path, form), http.StatusForbidden, "bob may not change")
	}
	expect.Equal(t, o.ask(o.posting("/change?verb=discard", nil)).Code, http.StatusForbidden)
	o.cookie = annas
	expect.Equal(t, o.send("/change", with(good, "token", "")).Code, http.StatusForbidden, "without the token of the session")
	good = with(form(o.see("/change?verb=discard&id=id-a")), "reason", "gone for good")
	to, _ := o.follows("/change", good)
	o.until(to, ">done<")
	page := o.see("/audit")
	expect.That(t, strings.Contains(page, "<td>anna<br>"), "%v", page)
	r := request("/api/dead-letters")
	r.Header.Set("Authorization", "Bearer "+bobsToken)
	expect.Equal(t, o.ask(r).Code, http.StatusOK, "a program with bob's token")
	says(t, o.send("/sign-out", form(o.see("/"))), http.StatusSeeOther)
	expect.Equal(t, o.send("/change", good).Code, http.StatusUnauthorized, "after the sign-out")
	r.URL.RawQuery = "status=discarded"
	w := o.ask(r)
	expect.That(t, strings.Contains(w.Body.String(), `"total":1`), "what was changed: %s", w.Body)
}

// with sends a request in the session.
func (o *operator) with(r *http.Request) *httptest.ResponseRecorder {
	r.AddCookie(o.cookie)
	return o.ask(r)
}

// The console encrypts by itself, and its cookies go nowhere unencrypted.
func TestAccess_S4_6_over_TLS(t *testing.T) {
	made := httptest.NewTLSServer(nil) // for its certificate
	defer made.Close()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	writeKeyPair(t, made.TLS.Certificates[0], cert, key)
	o := withAccess(t, "url: https://example.com\ntls: {cert_file: "+cert+", key_file: "+key+"}\npeople: [{name: anna, role: replay, token_file: anna}]\n", 1)
	client := made.Client()
	at := strings.TrimPrefix(listening(o.desk), "http://")
	ask := func(version uint16) (*http.Response, error) {
		transport := client.Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.ServerName, transport.TLSClientConfig.MaxVersion = "example.com", version
		defer transport.CloseIdleConnections()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/sign-in", http.NoBody))(t)
		r.Host = "example.com"
		return transport.RoundTrip(r)
	}
	answer := must.Get(ask(tls.VersionTLS13))(t)
	defer answer.Body.Close()
	expect.That(t, answer.StatusCode == http.StatusOK, "%d", answer.StatusCode)
	if old, err := ask(tls.VersionTLS11); err == nil {
		old.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
	must.Do(t, os.Remove(cert)) // while it runs
	again := must.Get(ask(tls.VersionTLS13))(t)
	again.Body.Close()
}

func writeKeyPair(t *testing.T, pair tls.Certificate, cert, key string) {
	t.Helper()
	encoded := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	must.Do(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	must.Do(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
}

// A web page can point its own name to this machine; its requests have that name.
func TestGuard_S4_6_refuses_other_host_names(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for host, want := range map[string]int{
		"127.0.0.1:8480": http.StatusOK, "localhost:8480": http.StatusOK, "LOCALHOST": http.StatusOK, "[::1]:8480": http.StatusOK, "127.9.9.9": http.StatusOK,
		"rebound.example:8480": http.StatusMisdirectedRequest, "127.0.0.1.rebound.example": http.StatusMisdirectedRequest, "localhost.rebound.example": http.StatusMisdirectedRequest,
		"": http.StatusMisdirectedRequest, "0.0.0.0:8480": http.StatusMisdirectedRequest, "10.0.0.1": http.StatusMisdirectedRequest, "[::]": http.StatusMisdirectedRequest, "localhost@rebound.example": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"/api/stats", "/", "/api/openapi.json"} {
			r := request(path)
			r.Host = host
			w := d.ask(r)
			got := w.Code
			expect.That(t, got == want || want == http.StatusOK && path != "/api/stats", "Host %q: %s: %d, want %d", host, path, got, want)
			expect.That(t, want == http.StatusOK || !strings.Contains(w.Body.String(), "letters"), "Host %q: %s tells something: %s", host, path, w.Body)
		}
	}
}

func TestGuard_S4_6_only_reads_and_sends_its_headers_always(t *testing.T) {
	d := newDesk(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodHead} {
		r := request("/api/dead-letters")
		r.Method = method
		w := d.ask(r)
		expect.That(t, w.Code == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "GET", "%s: %d", method, w.Code)
	}
	r := request("/api/dead-letters")
	r.ContentLength = -1
	d.refused(d.ask(r), http.StatusRequestEntityTooLarge)
	for _, path := range []string{"/api/stats", "/api/nowhere", "/api/dead-letters?x=1", "/api/openapi.json"} {
		r := request(path)
		r.Header.Set("Origin", "https://elsewhere.example")
		h := d.ask(r).Header()
		expect.That(t, h.Get("Cache-Control") == "no-store" && h.Get("X-Content-Type-Options") == "nosniff" && strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") && h.Get("Access-Control-Allow-Origin") == "",
			"%s: %v", path, h)
	}
}

func TestGuard_S4_6_works_on_so_many_requests_at_once(t *testing.T) {
	d := newDesk(t)
	for range maxRequests {
		d.console.slots <- struct{}{}
	}
	w := d.get("/api/stats")
	said := d.refused(w, http.StatusTooManyRequests)
	expect.That(t, said.Code == "busy" && w.Header().Get("Retry-After") != "", "%+v, %v", said, w.Header())
	<-d.console.slots
	read[StatsAnswer](d, "/api/stats")
	expect.That(t, len(d.console.slots) == maxRequests-1, "%d requests are counted", len(d.console.slots))
}

func TestListen_S4_6_at_loopback_only(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "console.example:0", "127.0.0.1"} {
		l, err := Listen(t.Context(), address, access.Loopback(""))
		expect.That(t, errors.Is(err, ErrAddress), "%s: %v, %v", address, l, err)
	}
	l := must.Get(Listen(t.Context(), "localhost:0", access.Loopback("")))(t)
	defer l.Close()
	_, err := Listen(t.Context(), l.Addr().String(), access.Loopback(""))
	expect.That(t, err != nil && !errors.Is(err, ErrAddress) && strings.Contains(err.Error(), "--listen"), "a port that is in use: %v", err)
}
