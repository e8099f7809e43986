package broker

import (
	"fmt"
	"strings"
)

// Guarded returns the options of an Owned node with ACLs. On the listener Behind, a client authenticates as one of
// the users with SASL/PLAIN, and has only its granted permissions. A user's password is its name. On Addr, the test
// is a super user.
func Guarded(users []string) OwnOptions {
	jaas := strings.Builder{}
	jaas.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
	for _, u := range users {
		fmt.Fprintf(&jaas, ` user_%s="%s"`, u, u)
	}
	jaas.WriteString(";")
	return OwnOptions{Settings: map[string]string{
		"authorizer.class.name":                     "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                               "User:ANONYMOUS", // clients without SASL: the test, the broker, the controller
		"listener.security.protocol.map":            "PLAINTEXT:PLAINTEXT,VIA:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
		"sasl.enabled.mechanisms":                   "PLAIN",
		"listener.name.via.sasl.enabled.mechanisms": "PLAIN",
		"listener.name.via.plain.sasl.jaas.config":  jaas.String(),
	}}
}
