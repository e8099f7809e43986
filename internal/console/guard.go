package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
)

// maxQuery is how many bytes path and query of a request may have.
const maxQuery = 8 << 10

// guard refuses what the console does not serve, sets the headers of every answer, and bounds the requests at work.
func (c *Console) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer a browser names no origin of a form
		if err := acceptable(r, c.changes != nil); err != nil {
			if err.status == http.StatusMethodNotAllowed {
				h.Set("Allow", http.MethodGet)
			}
			c.refuse(w, err)
			return
		}
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		default:
			c.refuse(w, &fault{exit: cli.ExitRefused, status: http.StatusTooManyRequests, code: "busy", text: "too many requests are worked on; try again in a second"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// acceptable returns why a request is refused before anything of it is done, or nil.
func acceptable(r *http.Request, changes bool) *fault {
	form := changes && r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, "/api/")
	switch {
	case !isLoopbackHost(r.Host):
		return &fault{exit: cli.ExitRefused, status: http.StatusMisdirectedRequest, code: "host", text: "the request is for another host name; use http://127.0.0.1 or http://localhost, as replayer serve prints it"}
	case r.Method != http.MethodGet && !form:
		return &fault{exit: cli.ExitUsage, status: http.StatusMethodNotAllowed, code: "method", text: "use GET; what changes something is sent by the pages of a server that was started with --allow-changes"}
	case r.ContentLength > maxForm:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestEntityTooLarge, code: "body", text: "the form is too large; at most 65536 bytes"}
	case r.ContentLength != 0 && !form:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestEntityTooLarge, code: "body", text: "a request has no body"}
	case len(r.RequestURI) > maxQuery || len(r.URL.RawQuery) > maxQuery:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestURITooLong, code: "query", text: "path and query are too long; at most 8192 bytes"}
	}
	return nil
}

// isLoopbackHost reports whether a Host header names this machine itself.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && addr.IsLoopback()
}
