package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
)

// maxQuery is the largest path and query of a request, in bytes.
const maxQuery = 8 << 10

// guard refuses requests that the console does not serve, sets the headers of every answer, and bounds the number of
// requests in progress and their time.
func (c *Console) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer a browser sends no origin with a form
		if err := c.acceptable(r); err != nil {
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
			c.refuse(w, &fault{exit: cli.ExitRefused, status: http.StatusTooManyRequests, code: "busy", text: "too many requests at once; try again in a second"})
			return
		}
		if forEveryone(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		who, err := c.gate.Who(r)
		if err != nil {
			c.deny(w, r, err)
			return
		}
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), identityKey{}, who), answerTimeout)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// identityKey is the key of the [access.Identity] in the context of a request.
type identityKey struct{}

// whoAsks returns who sent the request of a context. Before the sign-in it is the zero person, who may do nothing.
func whoAsks(ctx context.Context) access.Identity {
	who, _ := ctx.Value(identityKey{}).(access.Identity)
	return who
}

// forEveryone reports whether a path is served without a sign-in.
func forEveryone(path string) bool { return path == signInPath || assets()[path] != "" }

// deny answers a request without sufficient rights. It sends a browser to the sign-in page.
func (c *Console) deny(w http.ResponseWriter, r *http.Request, err error) {
	of, _ := errors.AsType[*access.Denied](err)
	if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") && of.Reason == access.NotSignedIn && c.gate.HasTokens() {
		http.Redirect(w, r, signInPath+"?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return
	}
	c.failed(w, r, err)
}

// acceptable returns why a request is refused before any work on it, or nil.
func (c *Console) acceptable(r *http.Request) *fault {
	signing := c.gate.HasTokens() && (r.URL.Path == signInPath || r.URL.Path == signOutPath)
	form := (c.changes != nil || signing) && r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, "/api/")
	switch {
	case !c.gate.Serves(r.Host):
		return &fault{exit: cli.ExitRefused, status: http.StatusMisdirectedRequest, code: "host", text: "the request is for another host name; use the address that replayer serve prints"}
	case r.Method != http.MethodGet && !form:
		return &fault{exit: cli.ExitUsage, status: http.StatusMethodNotAllowed, code: "method", text: "use GET; changes are sent by the pages of a server that was started with --allow-changes"}
	case r.ContentLength > maxForm:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestEntityTooLarge, code: "body", text: "the form is too large; at most 65536 bytes"}
	case r.ContentLength != 0 && !form:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestEntityTooLarge, code: "body", text: "requests must not have a body"}
	case len(r.RequestURI) > maxQuery || len(r.URL.RawQuery) > maxQuery:
		return &fault{exit: cli.ExitUsage, status: http.StatusRequestURITooLong, code: "query", text: "path and query are too long; at most 8192 bytes"}
	}
	return nil
}
