package broker

import (
	"maps"
	"slices"
	"strings"
)

// Guarded gives the settings of a node with ACLs: its second listener (Owned.Behind) wants SASL/PLAIN of one of the users, by
// their passwords, who may do nothing but what ACLs allow; a client of the first one (Owned.Addr) may do everything.
func Guarded(users map[string]string) map[string]string {
	var jaas strings.Builder
	jaas.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
	for _, name := range slices.Sorted(maps.Keys(users)) {
		jaas.WriteString(" user_" + name + `="` + users[name] + `"`)
	}
	jaas.WriteString(";")
	return map[string]string{
		"authorizer.class.name":                     "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                               "User:ANONYMOUS",
		"listener.security.protocol.map":            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,VIA:SASL_PLAINTEXT",
		"sasl.enabled.mechanisms":                   "PLAIN",
		"listener.name.via.plain.sasl.jaas.config":  jaas.String(),
		"listener.name.via.sasl.enabled.mechanisms": "PLAIN",
	}
}
