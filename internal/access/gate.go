package access

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// Identity is the sender of a request.
type Identity struct {
	Name     string
	Role     Role
	SignedIn bool // by a token, in a session that can be closed
}

// MayChange reports whether the role may replay dead letters and change their state.
func (i Identity) MayChange() bool { return i.Role == RoleReplay || i.Role == RoleEdit }

// MayEdit reports whether the role may also change the bytes of dead letters.
func (i Identity) MayEdit() bool { return i.Role == RoleEdit }

// Hides returns the paths of the fields that an identity may not see; nil for none.
func (g *Gate) Hides(who Identity) [][]string {
	if who.MayEdit() {
		return nil
	}
	return g.hides
}

// MayExport reports whether an identity may download dead letters as JSON and bytes.
func (g *Gate) MayExport(who Identity) bool {
	return who.Role.atLeast(g.exports)
}

// Gate decides about each request of one console. It is safe for concurrent use.
type Gate struct {
	local    *Identity // everybody on this machine; nil if a file lists people
	url      *url.URL  // nil if local
	roles    map[string]Role
	tokens   map[[sha256.Size]byte]string // names
	proxies  []netip.Prefix
	header   string // in which a proxy names the sender
	others   Role
	exports  Role       // the lowest role that may download dead letters
	hides    [][]string // members of the paths of fields that only the role edit sees
	keys     *keyPair   // nil without a certificate
	now      func() time.Time
	log      *slog.Logger
	formKey  [32]byte
	failures *failures

	mu       sync.Mutex // guards sessions
	sessions map[string]session
}

// Loopback returns the gate of a console that is reachable from its own machine only. All its users have one name.
func Loopback(name string) *Gate {
	g := newGate(time.Now, slog.New(slog.DiscardHandler))
	g.local = &Identity{Name: name, Role: RoleEdit}
	return g
}

// minToken is the minimum length of a token: that of 128 random bits in base64.
const minToken = 22

// New returns the gate that a file describes. It reads the tokens and the certificate. The error lists all of their
// faults.
func New(c *File, now func() time.Time, log *slog.Logger) (*Gate, error) {
	g := newGate(now, log)
	g.header, g.others, g.exports = c.Proxy.UserHeader, c.Proxy.Others, c.Export
	for _, path := range c.Mask {
		g.hides = append(g.hides, PathMembers(path))
	}
	var wrong []error
	note := func(err error) {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	var err error
	g.url, err = url.Parse(c.URL)
	note(err)
	for _, text := range c.Proxy.Addresses {
		network, err := parseNetwork(text)
		note(err)
		g.proxies = append(g.proxies, network)
	}
	for _, p := range c.People {
		g.roles[p.Name] = p.Role
		if !c.Proxy.Enabled() {
			note(g.addToken(p))
		}
	}
	if c.TLS.CertFile != "" {
		g.keys, err = readKeyPair(c.TLS, log)
		note(err)
	}
	return g, errors.Join(wrong...)
}

func newGate(now func() time.Time, log *slog.Logger) *Gate {
	g := &Gate{roles: map[string]Role{}, tokens: map[[sha256.Size]byte]string{}, sessions: map[string]session{}, now: now, log: log, failures: &failures{now: now, from: map[string]*rate.Limiter{}}}
	_, _ = rand.Read(g.formKey[:]) // it never fails
	return g
}

func (g *Gate) addToken(p Person) error {
	secret, err := p.Token()
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(secret.Reveal()))
	switch other, taken := g.tokens[hash]; {
	case len(secret.Reveal()) < minToken:
		return fmt.Errorf("the token of %s has fewer than %d characters and could be guessed; make one with: openssl rand -base64 24", p.Name, minToken)
	case taken:
		return fmt.Errorf("%s and %s have the same token; the audit trail could not distinguish them", other, p.Name)
	}
	g.tokens[hash] = p.Name
	return nil
}

// URL returns the address of the console for browsers: the one in the file, or the one on which the console listens.
func (g *Gate) URL(listens net.Addr) string {
	if g.url == nil {
		return "http://" + listens.String() + "/"
	}
	return g.url.Scheme + "://" + g.url.Host + "/"
}

// HasTokens reports whether people sign in with tokens.
func (g *Gate) HasTokens() bool { return len(g.tokens) > 0 }

// Encrypted reports whether the connection between browser and console or proxy is encrypted.
func (g *Gate) Encrypted() bool { return g.url != nil && g.url.Scheme == "https" }

// Serves reports whether a Host header names this console. A web page can point its own name to any address, and its requests carry that
// name.
func (g *Gate) Serves(host string) bool {
	if g.url == nil {
		return IsLoopback(host)
	}
	return strings.EqualFold(host, g.url.Host) || strings.EqualFold(host, g.url.Host+":443") && g.url.Scheme == "https" && g.url.Port() == ""
}

// IsLoopback reports whether a host, with or without a port, is the local machine.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && addr.IsLoopback()
}

// Who returns the sender of a request. The error is a [*Denied].
func (g *Gate) Who(r *http.Request) (Identity, error) {
	switch {
	case g.local != nil:
		return *g.local, nil
	case len(g.proxies) > 0:
		return g.named(r)
	case r.Header.Get("Authorization") != "":
		return g.bearer(r)
	default:
		return g.inSession(r)
	}
}

// named returns the sender that the proxy names in its header.
func (g *Gate) named(r *http.Request) (Identity, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !g.trusts(from.Addr().Unmap()) {
		return Identity{}, denied(Refused, "requests must come through the proxy, and %s is not in proxy.addresses", r.RemoteAddr)
	}
	values := r.Header.Values(g.header)
	if len(values) == 0 {
		return Identity{}, denied(NotSignedIn, "the proxy sent no user in %s", g.header)
	}
	name := values[0]
	if len(values) > 1 || name == "" || len(name) > 100 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return Identity{}, denied(Refused, "%s does not name one person", g.header)
	}
	role, listed := g.roles[name]
	if !listed {
		role = g.others
	}
	return g.as(Identity{Name: name, Role: role})
}

func (g *Gate) trusts(from netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(network netip.Prefix) bool { return network.Contains(from) })
}

// as refuses an identity without rights.
func (g *Gate) as(who Identity) (Identity, error) {
	if who.Role == RoleNone {
		return Identity{}, denied(Refused, "%s may not use this console; its operator can list this user", who.Name)
	}
	return who, nil
}

func (g *Gate) bearer(r *http.Request) (Identity, error) {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is {
		return Identity{}, denied(NotSignedIn, "send Authorization: Bearer and your token")
	}
	return g.holder(r, token)
}

// holder returns the owner of a token. An address that sends wrong tokens is refused for a while.
func (g *Gate) holder(r *http.Request, token string) (Identity, error) {
	from := r.RemoteAddr
	if addr, err := netip.ParseAddrPort(from); err == nil {
		from = household(addr.Addr())
	}
	if !g.failures.mayTry(from) {
		return Identity{}, denied(TooMany, "too many wrong tokens came from this address; try again in a minute")
	}
	name, ok := g.tokens[sha256.Sum256([]byte(token))]
	if !ok {
		g.failures.note(from)
		g.log.Warn("a token was refused", "from", from)
		return Identity{}, denied(NotSignedIn, "no user has this token")
	}
	return g.as(Identity{Name: name, Role: g.roles[name]})
}

// Reason is why a request is denied. It is a closed list.
type Reason string

// The reasons.
const (
	NotSignedIn Reason = "not_signed_in" // the sender is unknown
	Refused     Reason = "refused"       // the sender has no right
	TooMany     Reason = "too_many"      // after too many wrong tokens
	Foreign     Reason = "foreign"       // another page sent the form
)

// Reasons returns every [Reason].
func Reasons() []Reason { return []Reason{NotSignedIn, Refused, TooMany, Foreign} }

// Denied is the reason why a request is denied.
type Denied struct {
	Reason Reason
	text   string
}

func (d *Denied) Error() string { return d.text }

func denied(reason Reason, format string, args ...any) error {
	return &Denied{reason, fmt.Sprintf(format, args...)}
}
