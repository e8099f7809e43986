package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	idLength = 26 // of [rand.Text]
	// sessionLife is how long a session lasts.
	sessionLife = 12 * time.Hour
	// maxSessions bounds the sessions. A new one closes the session that would end first.
	maxSessions = 1000
)

// session is the session of a person.
type session struct {
	name string
	ends time.Time
}

// SignIn begins a session for the owner of a token.
func (g *Gate) SignIn(w http.ResponseWriter, r *http.Request, token string) (Identity, error) {
	who, err := g.holder(r, token)
	if err != nil {
		return Identity{}, err
	}
	who.SignedIn = true
	id, now := rand.Text(), g.now()
	g.mu.Lock()
	g.makeRoom(now)
	g.sessions[id] = session{who.Name, now.Add(sessionLife)}
	g.mu.Unlock()
	g.setCookie(w, id, int(sessionLife/time.Second))
	g.log.Info("signed in", "name", who.Name, "from", r.RemoteAddr)
	return who, nil
}

// makeRoom removes sessions that ended, and one more if there are too many. The caller locks.
func (g *Gate) makeRoom(now time.Time) {
	if len(g.sessions) < maxSessions {
		return
	}
	first := ""
	for id, s := range g.sessions {
		if !s.ends.After(now) {
			delete(g.sessions, id)
		} else if first == "" || s.ends.Before(g.sessions[first].ends) {
			first = id
		}
	}
	if len(g.sessions) >= maxSessions {
		delete(g.sessions, first)
	}
}

// SignOut ends the session of a request.
func (g *Gate) SignOut(w http.ResponseWriter, r *http.Request) {
	if id := g.cookie(r); id != "" {
		g.mu.Lock()
		delete(g.sessions, id)
		g.mu.Unlock()
	}
	g.setCookie(w, "", -1)
}

func (g *Gate) inSession(r *http.Request) (Identity, error) {
	g.mu.Lock()
	s, known := g.sessions[g.cookie(r)]
	g.mu.Unlock()
	if !known || !s.ends.After(g.now()) {
		return Identity{}, denied(NotSignedIn, "sign in first; programs send Authorization: Bearer and a token")
	}
	return g.as(Identity{Name: s.name, Role: g.roles[s.name], SignedIn: true})
}

// cookieName returns the name of the session cookie. Its prefix makes browsers refuse a cookie that another host set.
func (g *Gate) cookieName() string {
	if g.Encrypted() {
		return "__Host-switchback-session"
	}
	return "switchback-session"
}

func (g *Gate) setCookie(w http.ResponseWriter, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: g.Encrypted(), SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure where loopback is served without TLS
}

// cookie returns the session id of a request; "" without one.
func (g *Gate) cookie(r *http.Request) string {
	c, err := r.Cookie(g.cookieName())
	if err != nil || len(c.Value) != idLength {
		return ""
	}
	return c.Value
}

// FormToken returns the token that every form of a page contains, and begins a session if there is none. Another page can send the cookie,
// but cannot read the token.
func (g *Gate) FormToken(w http.ResponseWriter, r *http.Request, who Identity) string {
	id := g.cookie(r)
	if id == "" {
		id = rand.Text()
		g.setCookie(w, id, 0)
	}
	return g.sign(id, who)
}

func (g *Gate) sign(session string, who Identity) string {
	mac := hmac.New(sha256.New, g.formKey[:])
	mac.Write([]byte(session + "\x00" + who.Name))
	return hex.EncodeToString(mac.Sum(nil))
}

// FromOurPage refuses a request that another page sent.
func (g *Gate) FromOurPage(r *http.Request) error {
	origin := "http://" + r.Host
	if g.url != nil {
		origin = g.url.Scheme + "://" + g.url.Host
	}
	if r.Header.Get("Origin") != origin {
		return denied(Foreign, "refused: the form was not sent by a page of this server; nothing was changed")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return denied(Foreign, "refused: the form was sent by another site; nothing was changed")
	}
	return nil
}

// OwnForm refuses a form without the token of the session that loaded its page.
func (g *Gate) OwnForm(r *http.Request, who Identity, token string) error {
	id := g.cookie(r)
	if id == "" || !hmac.Equal([]byte(token), []byte(g.sign(id, who))) {
		return denied(Foreign, "refused: the page belongs to another session or to an earlier start of the server; nothing was changed. Load it again")
	}
	return nil
}

const (
	// triesAtOnce is the number of wrong tokens that an address may send at once. Each tryAgain allows one more.
	triesAtOnce = 10
	tryAgain    = 6 * time.Second
	// maxAddresses bounds the addresses in memory.
	maxAddresses = 4096
)

// failures counts wrong tokens by address.
type failures struct {
	now func() time.Time

	mu   sync.Mutex // guards from
	from map[string]*rate.Limiter
}

// mayTry reports whether an address may send another token.
func (f *failures) mayTry(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.from[address]
	return l == nil || l.TokensAt(f.now()) >= 1
}

// note counts a wrong token. If there are too many addresses, it removes those that may send as many tokens as a new one.
func (f *failures) note(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if len(f.from) >= maxAddresses {
		for other, l := range f.from {
			if l.TokensAt(now) >= triesAtOnce {
				delete(f.from, other)
			}
		}
	}
	if len(f.from) >= maxAddresses {
		address = "" // all other addresses share one counter
	}
	if f.from[address] == nil {
		f.from[address] = rate.NewLimiter(rate.Every(tryAgain), triesAtOnce)
	}
	f.from[address].AllowN(now, 1)
}

// household returns the address of a client; for IPv6 its network, because a client has very many addresses.
func household(addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr.String()
	}
	return network.String()
}
