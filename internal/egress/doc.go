// Package egress says which addresses a process may connect to on behalf of a configured service.
//
// The rule is applied to the address that is dialled, after a name was resolved, so that neither a name that leads to an
// inner address, nor one that changes between two look-ups (DNS rebinding), nor a redirect gets around it.
//
// Refused unless the policy allows them: loopback, private (RFC 1918, RFC 4193), carrier-grade (RFC 6598) addresses. Refused
// unless their network is listed: link-local, multicast, unspecified and reserved addresses, and those where clouds serve
// the metadata and credentials of a machine. An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) counts as itself.
//
// The package refuses to look at names, ports and URLs: who may be asked is the configuration's business.
package egress
