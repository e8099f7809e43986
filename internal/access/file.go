package access

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/config"
)

// File configures who may use the console from other machines, and what they may do (S4-6).
type File struct {
	// URL is the address of the console for browsers, such as https://dlq.example.org.
	URL string `jsonschema:"required,minLength=1,maxLength=300" yaml:"url"`
	// TLS is the certificate of the console itself. Defaults to none: a proxy has one.
	TLS ServerTLS `yaml:"tls"`
	// Proxy is a reverse proxy that signs people in. Defaults to none: they have tokens.
	Proxy Proxy `yaml:"proxy"`
	// People lists who may use the console.
	People []Person `jsonschema:"maxItems=1000" yaml:"people"`
	// Mask lists fields of values that only the role edit sees, such as /properties/owner, wherever they occur in a
	// value. Messages, headers, keys, feature IDs and hashes are hidden too, because they could reveal the fields.
	// Defaults to none.
	Mask []string `jsonschema:"uniqueItems=true,maxItems=100" yaml:"mask"`
	// Export is the lowest role that may download dead letters, as JSON and original bytes. Defaults to read.
	Export Role `jsonschema:"enum=none,enum=read,enum=replay,enum=edit,default=read" yaml:"export"`
}

// ServerTLS is the certificate that the console shows.
type ServerTLS struct {
	// CertFile is a PEM file with the certificate and its chain; it needs key_file. Defaults to none.
	CertFile string `yaml:"cert_file"`
	// KeyFile is a PEM file with the key of cert_file. Defaults to none.
	KeyFile string `yaml:"key_file"`
}

// Proxy is a reverse proxy that signs people in and names them in a header.
type Proxy struct {
	// Addresses lists the addresses or networks from which the proxy sends requests. Others are refused. Defaults to
	// none: there is no proxy.
	Addresses []string `jsonschema:"uniqueItems=true,maxItems=100" yaml:"addresses"`
	// UserHeader is the header in which the proxy names the user, such as X-Forwarded-User.
	UserHeader string `jsonschema:"maxLength=100" yaml:"user_header"`
	// Others is the role of whom people does not list. Defaults to none: they are refused.
	Others Role `jsonschema:"enum=none,enum=read,enum=replay,enum=edit,default=none" yaml:"others"`
}

// Enabled reports whether a proxy signs people in.
func (p Proxy) Enabled() bool { return len(p.Addresses) > 0 }

// Person is a user of the console.
type Person struct {
	// Name is written to the audit trail. Behind a proxy it is the value of the header.
	Name string `jsonschema:"required,minLength=1,maxLength=100" yaml:"name"`
	// Role decides what the person may do.
	Role Role `jsonschema:"required,enum=none,enum=read,enum=replay,enum=edit" yaml:"role"`
	// TokenEnv names the environment variable that contains the token; set this or token_file.
	TokenEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"token_env"`
	// TokenFile is a file that contains the token; a line break at its end is ignored.
	TokenFile string `echo:"no" yaml:"token_file"`
}

// Token reads the person's token from the configured variable or file. The error names the variable or file, never its
// content.
func (p Person) Token() (config.Secret, error) {
	return config.ReadSecret("the token of "+p.Name+": token", "token", p.TokenEnv, p.TokenFile)
}

// Role decides what a person may do in the console.
type Role string

// The roles. Each may do what those before it may.
const (
	RoleNone   Role = "none"   // nothing
	RoleRead   Role = "read"   // look
	RoleReplay Role = "replay" // replay, discard, escalate and reopen dead letters, undo, order jobs
	RoleEdit   Role = "edit"   // change the bytes of dead letters
)

// atLeast reports whether a role may do what another may.
func (r Role) atLeast(other Role) bool {
	roles := []Role{RoleNone, RoleRead, RoleReplay, RoleEdit}
	return slices.Index(roles, r) >= slices.Index(roles, other)
}

// Load reads the file at path. A fault in its content is a [*config.Faults]; any other error is about reading it.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read who may use the console: %w", err)
	}
	return Parse(path, text)
}

// Parse reads who may use the console from a text; name precedes each fault, and the error is a [*config.Faults]. It
// is pure.
func Parse(name string, text []byte) (*File, error) {
	var f File
	err := config.Decode(name, text, &f, func(fault refuser) {
		f.checkURL(fault)
		f.checkTLS(fault)
		f.checkProxy(fault)
		f.checkPeople(fault)
		f.checkMask(fault)
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// refuser records what is wrong with a key, and how to correct it.
type refuser = func(path, message, fix string)

func (f *File) checkURL(fault refuser) {
	const fix = "write it as https://dlq.example.org, with :port if it is not 443"
	u, err := url.Parse(f.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.ContainsFunc(u.Host, unicode.IsUpper):
		fault("url", fmt.Sprintf("%q is not the address of a web server in lower case", f.URL), fix)
	case strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		fault("url", "has a path or query, but the console is served at /", fix)
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		fault("url", "tokens and dead letters would cross the network unencrypted", "use https; plain http is for localhost")
	case u.Scheme == "https" && f.TLS == (ServerTLS{}) && !f.Proxy.Enabled():
		fault("url", "https needs a certificate", "name it below tls, or the proxy that has one below proxy")
	}
}

func (f *File) checkTLS(fault refuser) {
	switch {
	case f.TLS.CertFile != "" && f.TLS.KeyFile == "":
		fault("tls.cert_file", "needs tls.key_file beside it", "name both files")
	case f.TLS.KeyFile != "" && f.TLS.CertFile == "":
		fault("tls.key_file", "needs tls.cert_file beside it", "name both files")
	}
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func (f *File) checkProxy(fault refuser) {
	p := f.Proxy
	if !p.Enabled() {
		if p.UserHeader != "" || p.Others != RoleNone {
			fault("proxy", "needs addresses; otherwise anyone could send the header", "list the address of the proxy in proxy.addresses, such as 10.0.0.7")
		}
		return
	}
	for i, text := range p.Addresses {
		path := fmt.Sprintf("proxy.addresses[%d]", i)
		if network, err := parseNetwork(text); err != nil {
			fault(path, fmt.Sprintf("%q is neither an address nor a network", text), "write it as 10.0.0.7 or 10.0.0.0/28")
		} else if network.Bits() == 0 {
			fault(path, "trusts every client to name its user", "list only the addresses of the proxy")
		}
	}
	reserved := []string{"authorization", "cookie", "host", "origin"}
	if !headerName.MatchString(p.UserHeader) || slices.Contains(reserved, strings.ToLower(p.UserHeader)) {
		fault("proxy.user_header", fmt.Sprintf("%q is not a header that can name the user", p.UserHeader), "write the one that the proxy sets, such as X-Forwarded-User")
	}
}

// parseNetwork reads an address, or a network with its length.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, &net.ParseError{Type: "network", Text: text}
	}
	return network.Masked(), nil
}

func (f *File) checkMask(fault refuser) {
	for i, path := range f.Mask {
		if slices.Contains(PathMembers(path), "") {
			fault(fmt.Sprintf("mask[%d]", i), fmt.Sprintf("%q is not the path of a field", path), "write it as /properties/owner")
		}
	}
	if f.Export == RoleNone {
		fault("export", "none has no meaning here", "write edit for the role that changes values anyway")
	}
}

// PathMembers returns the names in a path (RFC 6901); a name is empty where it is not a path of a field.
func PathMembers(path string) []string {
	if path == "" || !jsontext.Pointer(path).IsValid() {
		return []string{""}
	}
	return slices.Collect(jsontext.Pointer(path).Tokens())
}

func (f *File) checkPeople(fault refuser) {
	behindProxy := f.Proxy.Enabled()
	if len(f.People) == 0 && f.Proxy.Others == RoleNone {
		fault("people", "nobody may use the console", "list who may, with name and role")
	}
	first := map[string]int{}
	for i, p := range f.People {
		path := fmt.Sprintf("people[%d]", i)
		given := (p.TokenEnv != "") != (p.TokenFile != "")
		switch before, taken := first[p.Name]; {
		case taken:
			fault(path+".name", fmt.Sprintf("%q is listed twice, first as entry %d", p.Name, before+1), "keep one of the two")
		case strings.TrimSpace(p.Name) != p.Name || strings.ContainsFunc(p.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
			fault(path+".name", fmt.Sprintf("%q has blanks at an end or characters that cannot be seen", p.Name), "write it as it should appear in the audit trail")
		case behindProxy && (p.TokenEnv != "" || p.TokenFile != ""):
			fault(path, "has a token, and the proxy signs people in", "remove the token")
		case !behindProxy && !given:
			fault(path, "needs one of token_env and token_file", "name the variable or the file that contains the person's token")
		}
		first[p.Name] = i
	}
}
