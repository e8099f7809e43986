package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/switchback-geo/switchback/internal/cli"
)

const (
	sessionCookie = "switchback-session"
	sessionLength = 26 // of [rand.Text]
	// maxForm is how many bytes a form has.
	maxForm = 64 << 10
)

// token returns the token of the browser's session, which every form carries, and begins a session where there is none. Another page can
// send the cookie along, but cannot read the token.
func (w *workbench) token(rw http.ResponseWriter, r *http.Request) string {
	var id string
	if c, err := r.Cookie(sessionCookie); err == nil && len(c.Value) == sessionLength {
		id = c.Value
	} else {
		id = rand.Text()
		http.SetCookie(rw, &http.Cookie{Name: sessionCookie, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure: loopback is served without TLS
	}
	return w.sign(id)
}

func (w *workbench) sign(session string) string {
	mac := hmac.New(sha256.New, w.key[:])
	mac.Write([]byte(session))
	return hex.EncodeToString(mac.Sum(nil))
}

// own reads the form of a request, and refuses it unless a page of this server sent it.
func (w *workbench) own(rw http.ResponseWriter, r *http.Request) error {
	foreign := func(text string) error {
		return &fault{exit: cli.ExitRefused, status: http.StatusForbidden, code: "foreign", text: "refused: " + text + "; nothing was changed"}
	}
	if r.Header.Get("Origin") != "http://"+r.Host {
		return foreign("the form was not sent by a page of this server")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return foreign("the form was sent by another site")
	}
	r.Body = http.MaxBytesReader(rw, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return usage("read the form: %w", err)
	}
	session, err := r.Cookie(sessionCookie)
	if err != nil || !hmac.Equal([]byte(r.PostForm.Get("token")), []byte(w.sign(session.Value))) {
		return foreign("the page is of another session, or from before the server was started; load it again")
	}
	return nil
}
