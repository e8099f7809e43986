package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Access says who may use the console from other machines, and what each of them may do there (S4-6).
type Access struct {
	// URL is how browsers reach the console, such as https://dlq.example.org.
	URL string `jsonschema:"required,minLength=1,maxLength=300" yaml:"url"`
	// TLS is the certificate of the console itself. Defaults to none: a proxy has one.
	TLS ServerTLS `yaml:"tls"`
	// Proxy is a reverse proxy that signs people in. Defaults to none: they have tokens.
	Proxy Proxy `yaml:"proxy"`
	// People lists who may use the console.
	People []Person `jsonschema:"maxItems=1000" yaml:"people"`
	// Mask lists fields of values that only the role edit sees, such as /properties/owner, wherever that occurs in a value. Messages,
	// headers, keys, feature ids and hashes are hidden with them, since they could tell. Defaults to none.
	Mask []string `jsonschema:"uniqueItems=true,maxItems=100" yaml:"mask"`
	// Export is the least role that takes dead letters out of the console, as JSON and original bytes. Defaults to read.
	Export Role `jsonschema:"enum=none,enum=read,enum=replay,enum=edit" yaml:"export"`
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
	// Addresses lists the addresses or networks that the proxy asks from. Others are refused. Defaults to none: there is no proxy.
	Addresses []string `jsonschema:"uniqueItems=true,maxItems=100" yaml:"addresses"`
	// UserHeader is the header in which the proxy names who asks, such as X-Forwarded-User.
	UserHeader string `jsonschema:"maxLength=100" yaml:"user_header"`
	// Others is the role of whom people does not list. Defaults to none: they are refused.
	Others Role `jsonschema:"enum=none,enum=read,enum=replay,enum=edit" yaml:"others"`
}

// Enabled reports whether a proxy signs people in.
func (p Proxy) Enabled() bool { return len(p.Addresses) > 0 }

// Person is somebody who may use the console.
type Person struct {
	// Name stands in the audit trail. Behind a proxy it is what the header says.
	Name string `jsonschema:"required,minLength=1,maxLength=100" yaml:"name"`
	// Role is what the person may do.
	Role Role `jsonschema:"required,enum=none,enum=read,enum=replay,enum=edit" yaml:"role"`
	// TokenEnv names the environment variable that holds the token; give this or token_file.
	TokenEnv string `echo:"no" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"token_env"`
	// TokenFile is a file that holds the token; a line end at its end is left off.
	TokenFile string `echo:"no" yaml:"token_file"`
}

// Token reads the person's token from where the file says it is. The error names the variable or file, never what it holds.
func (p Person) Token() (Secret, error) {
	return readSecret("the token of "+p.Name+": token", "token", p.TokenEnv, p.TokenFile)
}

// Role is what somebody may do in the console. It is a closed list (see [Roles]).
type Role string

// The roles. Each may do what those before it may.
const (
	RoleNone   Role = "none"   // nothing
	RoleRead   Role = "read"   // look
	RoleReplay Role = "replay" // put dead letters back, discard, escalate and reopen them, undo, order jobs
	RoleEdit   Role = "edit"   // change the bytes of dead letters
)

// Roles returns every [Role].
func Roles() []Role { return []Role{RoleNone, RoleRead, RoleReplay, RoleEdit} }

// LoadAccess reads the file at path. A fault of what it says is a [*Faults]; any other error is about reading it.
func LoadAccess(path string) (*Access, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read who may use the console: %w", err)
	}
	return ParseAccess(path, text)
}

// ParseAccess reads who may use the console from a text; name stands before each fault, and the error is a [*Faults]. It is pure.
func ParseAccess(name string, text []byte) (*Access, error) {
	access := &Access{Proxy: Proxy{Others: RoleNone}, Export: RoleRead}
	of := &Config{origins: newOrigins()}
	faults := &Faults{Name: name}
	d := &decoder{faults: faults, origins: of.origins}
	root := reflect.ValueOf(access).Elem()
	if d.document(text, root) {
		d.missing("", root)
		c := accessChecker{checker{of, faults}, access}
		c.url()
		c.tls()
		c.proxy()
		c.people()
		c.masks()
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return access, nil
}

// accessChecker holds what was decoded against the rules that concern more than the form of one value.
type accessChecker struct {
	checker
	access *Access
}

func (c accessChecker) url() {
	const path = "url"
	if !c.byHand(path) || !c.sound(path) {
		return
	}
	const fix = "write it as https://dlq.example.org, with :port where it is another than 443"
	u, err := url.Parse(c.access.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.ContainsFunc(u.Host, unicode.IsUpper):
		c.fault(path, show(c.access.URL)+" is no address of a web server in lower case", fix)
	case strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		c.fault(path, "has a path or query, and the console is served at /", fix)
	case u.Scheme == "http" && !loopbackName(u.Hostname()):
		c.fault(path, "tokens and dead letters would cross the network unencrypted", "use https; plain http is for localhost")
	case u.Scheme == "https" && c.sound("tls", "proxy") && c.access.TLS == (ServerTLS{}) && !c.access.Proxy.Enabled():
		c.fault(path, "https needs a certificate", "name it below tls, or the proxy that has one below proxy")
	}
}

// loopbackName reports whether a host name is of this machine itself.
func loopbackName(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (c accessChecker) tls() {
	for _, pair := range [][4]string{{"tls.cert_file", c.access.TLS.CertFile, "tls.key_file", c.access.TLS.KeyFile}, {"tls.key_file", c.access.TLS.KeyFile, "tls.cert_file", c.access.TLS.CertFile}} {
		if pair[1] != "" && pair[3] == "" && c.sound("tls") {
			c.fault(pair[0], "needs "+pair[2]+" beside it", "name both files")
		}
	}
}

func (c accessChecker) proxy() {
	p := c.access.Proxy
	if !c.sound("proxy") {
		return
	}
	if !p.Enabled() {
		if p.UserHeader != "" || p.Others != RoleNone {
			c.fault("proxy", "needs addresses: anybody could name somebody in a header", "list the address of the proxy in proxy.addresses, such as 10.0.0.7")
		}
		return
	}
	for i, text := range p.Addresses {
		path := entry("proxy.addresses", i)
		if network, err := ParseNetwork(text); err != nil {
			c.fault(path, show(text)+" is no address and no network", "write it as 10.0.0.7 or 10.0.0.0/28")
		} else if network.Bits() == 0 {
			c.fault(path, "trusts everybody to say who they are", "list the addresses of the proxy alone")
		}
	}
	reserved := []string{"authorization", "cookie", "host", "origin"}
	if !isHeaderName(p.UserHeader) || slices.Contains(reserved, strings.ToLower(p.UserHeader)) {
		c.fault("proxy.user_header", show(p.UserHeader)+" is no header that can name who asks", "write the one that the proxy sets, such as X-Forwarded-User")
	}
}

func (c accessChecker) masks() {
	for i, path := range c.access.Mask {
		if slices.Contains(PathMembers(path), "") {
			c.fault(entry("mask", i), show(path)+" is no path of a field", "write it as /properties/owner")
		}
	}
	if c.access.Export == RoleNone {
		c.fault("export", "none has no meaning here", "write edit for the role that changes values anyway")
	}
}

// PathMembers returns the names in a path (RFC 6901); one is empty where it is no path of a field.
func PathMembers(path string) []string {
	if path == "" || !jsontext.Pointer(path).IsValid() {
		return []string{""}
	}
	return slices.Collect(jsontext.Pointer(path).Tokens())
}

// ParseNetwork reads an address, or a network with its length.
func ParseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, &net.ParseError{Type: "network", Text: text}
	}
	return network.Masked(), nil
}

func isHeaderName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func (c accessChecker) people() {
	if !c.sound("people", "proxy") {
		return
	}
	behindProxy := c.access.Proxy.Enabled()
	if len(c.access.People) == 0 && c.access.Proxy.Others == RoleNone {
		c.fault("people", "nobody may use the console", "list who may, with name and role")
	}
	first := map[string]int{}
	for i, p := range c.access.People {
		path := entry("people", i)
		given := (p.TokenEnv != "") != (p.TokenFile != "")
		switch before, taken := first[p.Name]; {
		case taken:
			c.fault(path+".name", fmt.Sprintf("%s is listed twice, first as entry %d", show(p.Name), before+1), "keep one of the two")
		case strings.TrimSpace(p.Name) != p.Name || strings.ContainsFunc(p.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
			c.fault(path+".name", show(p.Name)+" has blanks at an end or characters that cannot be seen", "write it as it is to stand in the audit trail")
		case behindProxy && (p.TokenEnv != "" || p.TokenFile != ""):
			c.fault(path, "has a token, and the proxy signs people in", "remove the token")
		case !behindProxy && !given:
			c.fault(path, "needs one of token_env and token_file", "name the variable or the file that holds the person's token")
		}
		first[p.Name] = i
	}
}
