// Package outage keeps requests from a service that is down, and turns what cannot be asked into holds: an outage is no
// fault of a record, so it spends none of its attempts.
//
// When a breaker opens and closes, package circuit says; here are its clock, its log and its mutex. The package sends nothing
// and tries nothing again.
package outage
