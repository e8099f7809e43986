package enrich

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// A proxy that refuses to make a tunnel answers with a status, and that says whether it passes.
func TestProxy_a_tunnel_that_is_refused_is_known_by_its_status(t *testing.T) {
	for status, want := range map[int]struct {
		class classify.Class
		code  classify.Code
	}{
		407: {classify.Permanent, classify.CodeHTTPClientError},
		403: {classify.Permanent, classify.CodeHTTPForbidden},
		404: {classify.Permanent, classify.CodeHTTPClientError}, // no proxy at all; a record must not be blamed
		502: {classify.RetryBackoff, classify.CodeHTTPBadGateway},
		503: {classify.RetryBackoff, classify.CodeHTTPUnavailable},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte("<html>the proxy's own page</html>"))
			}))
			defer proxy.Close()
			via := must.Get(url.Parse(proxy.URL))(t)
			via.User = url.UserPassword("ana", secret)
			steps := make1(t, stepOf("https://places.example/place?id={id}&key="+secret, func(s *config.EnrichStep) { s.HTTP.AllowPrivate = false }))
			steps.steps[0].providers[0].lookup.(*httpLookup).client.Transport = newTransport(addressPolicy{}, 4, http.ProxyURL(via))
			wantFailure(t, steps.Apply(t.Context(), parcel(), ""), want.class, want.code, "proxy")
		})
	}
}
