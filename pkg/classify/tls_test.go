package classify_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// The errors are those of real connections: the alert of the other side has a type that no other package can name.
func TestTaxonomy_S4_3_a_server_that_refuses_TLS_will_not_take_it_later(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	quiet := log.New(io.Discard, "", 0)

	plain := httptest.NewServer(ok)
	defer plain.Close()
	mutual := httptest.NewUnstartedServer(ok)
	mutual.Config.ErrorLog = quiet
	mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12} // with 1.3 the alert may come after the request
	mutual.StartTLS()
	defer mutual.Close()
	untrusted := httptest.NewUnstartedServer(ok)
	untrusted.Config.ErrorLog = quiet
	untrusted.StartTLS()
	defer untrusted.Close()

	for name, c := range map[string]struct {
		url    string
		client *http.Client
	}{
		"no TLS on this port":      {strings.Replace(plain.URL, "http:", "https:", 1), http.DefaultClient},
		"it wants our certificate": {mutual.URL, mutual.Client()},
		"its own is not trusted":   {untrusted.URL, http.DefaultClient},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := c.client.Get(c.url)
			if err == nil {
				_ = answer.Body.Close()
				t.Fatal("no error")
			}
			f := classify.Of(err)
			expect.That(t, f.Code == classify.CodeTLS && f.Class == classify.Permanent, "%v\nis %s, %s; want %s, %s", err, f.Code, f.Class, classify.CodeTLS, classify.Permanent)
		})
	}
}
