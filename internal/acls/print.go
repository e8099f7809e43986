package acls

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
)

// Allowed is the principal and its grants.
type Allowed struct {
	Principal string `json:"principal"` // such as User:orders
	Host      string `json:"host"`      // address of the principal; * is any
	Roles     []Set  `json:"roles"`
}

// Set is the privileges of one role.
type Set struct {
	Role     Role    `json:"role"`
	Commands string  `json:"commands"` // the purpose of the role
	Grants   []Grant `json:"grants"`
}

// For returns the privileges of roles, without roles that need none. The error names the fault of the principal or the
// host.
func For(c *config.Config, principal, host string, roles []Role) (Allowed, error) {
	return allow(principal, host, roles, func(role Role) []Grant { return Of(c, role) })
}

// ForDLQ is For for a DLQ without a pipeline (see [OfDLQ]).
func ForDLQ(c *config.Config, principal, host string, roles []Role, to Targets) (Allowed, error) {
	return allow(principal, host, roles, func(role Role) []Grant { return OfDLQ(c, role, to) })
}

func allow(principal, host string, roles []Role, of func(Role) []Grant) (Allowed, error) {
	a := Allowed{Principal: principal, Host: host, Roles: []Set{}}
	if kind, name, typed := strings.Cut(principal, ":"); !typed || kind == "" || name == "" {
		return a, fmt.Errorf("principal %q: want a type and a name, such as User:orders", principal)
	}
	for what, text := range map[string]string{"principal": principal, "host": host} {
		if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
			return a, fmt.Errorf("%s %q: it is empty or has control characters", what, text)
		}
	}
	for _, role := range roles {
		if granted := of(role); len(granted) > 0 {
			a.Roles = append(a.Roles, Set{role, role.Commands(), granted})
		}
	}
	return a, nil
}

// WriteCommands writes the kafka-acls.sh commands that create the grants, each on one line, for a POSIX shell. It omits
// grants that a role above already has.
func (a Allowed) WriteCommands(w io.Writer, kafka config.Kafka) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Least privileges of %s. Run as an administrator of the cluster.\n", cli.ShellWord(a.Principal))
	frame := "kafka-acls.sh --bootstrap-server " + cli.ShellWord(strings.Join(kafka.Brokers, ","))
	if kafka.SASL.Enabled() || kafka.TLS.Enabled {
		b.WriteString("# admin.properties: how an administrator connects (security.protocol, sasl.jaas.config and the like).\n")
		frame += " --command-config admin.properties"
	}
	frame += " --add --allow-principal=" + cli.ShellWord(a.Principal) + " --allow-host=" + cli.ShellWord(a.Host)
	var above grants
	for i, set := range a.Roles {
		besides := ""
		if i > 0 {
			besides = ", besides the above"
		}
		fmt.Fprintf(&b, "\n# %s%s\n", set.Commands, besides)
		for _, together := range joined(above.missing(set.Grants)) {
			b.WriteString(frame)
			for _, o := range together[0].Operations {
				b.WriteString(" --operation " + string(o))
			}
			if p := together[0].Pattern; p != Literal {
				b.WriteString(" --resource-pattern-type " + string(p))
			}
			for _, g := range together {
				b.WriteString(" --" + string(g.Resource) + "=" + cli.ShellWord(g.Name)) // = because a name may begin with a dash
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// joined groups grants that one command can make, in order.
func joined(all []Grant) [][]Grant {
	var out [][]Grant
next:
	for _, g := range all {
		for i := range out {
			if out[i][0].sameAs(g) {
				out[i] = append(out[i], g)
				continue next
			}
		}
		out = append(out, []Grant{g})
	}
	return out
}
