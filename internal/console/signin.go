package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
)

const (
	signInPath, signOutPath = "/sign-in", "/sign-out"
	// maxForm is the largest form in bytes.
	maxForm = 64 << 10
)

// signInView is the data of the sign-in page.
type signInView struct {
	To    string // the page that was requested
	Wrong string // why the last token was refused
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	c.askForToken(w, r, http.StatusOK, signInView{To: ownPath(r.URL.Query().Get("to"))})
}

func (c *Console) askForToken(w http.ResponseWriter, r *http.Request, status int, v signInView) {
	out := c.blank(signInPath, "Sign in")
	out.DLQ, out.Pipeline, out.SignIn = "", false, &v // nothing is shown before the sign-in
	c.write(w, r, status, out)
}

// ownPath returns a path of this console, even if a link names another site.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(text, "\\\r\n") {
		return "/"
	}
	return u.RequestURI()
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	err := c.gate.FromOurPage(r)
	if err == nil {
		err = readForm(w, r)
	}
	if err != nil {
		c.failed(w, r, err)
		return
	}
	to := ownPath(r.PostForm.Get("to"))
	if _, err := c.gate.SignIn(w, r, strings.TrimSpace(r.PostForm.Get("secret"))); err != nil {
		body, status := c.errorOf(err)
		c.askForToken(w, r, status, signInView{To: to, Wrong: body.Message})
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // ownPath has refused other sites
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) error {
	c.gate.SignOut(w, r)
	http.Redirect(w, r, signInPath, http.StatusSeeOther)
	return nil
}

// form returns the handler of a form. The form must come from a page of this server.
func (c *Console) form(do func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := c.own(w, r)
		if err == nil {
			err = do(w, r)
		}
		if err != nil {
			c.failed(w, r, err)
		}
	})
}

// own reads the form of a request. It refuses a form that no page of this server sent.
func (c *Console) own(w http.ResponseWriter, r *http.Request) error {
	if err := c.gate.FromOurPage(r); err != nil {
		return err
	}
	if err := readForm(w, r); err != nil {
		return err
	}
	return c.gate.OwnForm(r, whoAsks(r.Context()), r.PostForm.Get("token"))
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return usage("read the form: %w", err)
	}
	return nil
}

// onlyFor refuses identities whose role does not allow them to use a page.
func (c *Console) onlyFor(may func(access.Identity) bool, what string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if who := whoAsks(r.Context()); !may(who) {
				c.failed(w, r, &fault{exit: cli.ExitRefused, status: http.StatusForbidden, code: "role", text: fmt.Sprintf("%s may not %s: the role is %s; nothing was changed", who.Name, what, who.Role)})
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
