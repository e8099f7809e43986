// Package proxy is a TCP proxy that misbehaves on demand: it cuts connections,
// delays and swallows what they carry, closes one direction only, and refuses new
// ones.
//
// It forwards bytes and knows no protocol: what travels is never rewritten. A
// Kafka broker behind it has to advertise the proxy's address itself.
package proxy
