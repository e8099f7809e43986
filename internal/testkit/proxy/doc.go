// Package proxy is a TCP proxy that misbehaves on demand: it resets connections, delays or stalls their bytes, closes
// one direction only, and refuses new connections.
//
// It forwards bytes and interprets no protocol. A Kafka broker behind it must advertise the proxy's address itself.
package proxy
