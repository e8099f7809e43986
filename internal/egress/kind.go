package egress

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Kind is what an address is, as far as the policy tells addresses apart. It is a closed list (see [Kinds]).
type Kind string

// The kinds.
const (
	KindPublic      Kind = "public"
	KindLoopback    Kind = "loopback"    // 127.0.0.0/8, ::1
	KindPrivate     Kind = "private"     // RFC 1918, RFC 3879, RFC 4193, RFC 6598
	KindLinkLocal   Kind = "link-local"  // RFC 3927, RFC 4291
	KindMulticast   Kind = "multicast"   // RFC 5771, RFC 4291
	KindMetadata    Kind = "metadata"    // where a cloud serves a machine's identity
	KindUnspecified Kind = "unspecified" // 0.0.0.0/8, ::, which systems take for themselves
	KindReserved    Kind = "reserved"    // RFC 1112, RFC 2544, RFC 4380, RFC 6666, RFC 8215 and what is no unicast address at all
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{KindPublic, KindLoopback, KindPrivate, KindLinkLocal, KindMulticast, KindMetadata, KindUnspecified, KindReserved}
}

// metadata lists the addresses of metadata services that are not all link-local.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google, OpenStack
		netip.MustParseAddr("fd00:ec2::254"),   // AWS
		netip.MustParseAddr("fd00:ec2::23"),    // AWS, of a container
		netip.MustParseAddr("fd20:ce::254"),    // Google
		netip.MustParseAddr("100.100.100.200"), // Alibaba
		netip.MustParseAddr("192.0.0.192"),     // Oracle
		netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	}
}

// networks lists the networks that [netip.Addr] has no question for.
func networks() []struct {
	kind   Kind
	prefix netip.Prefix
} {
	return []struct {
		kind   Kind
		prefix netip.Prefix
	}{
		{KindUnspecified, netip.MustParsePrefix("0.0.0.0/8")},
		{KindPrivate, netip.MustParsePrefix("100.64.0.0/10")},
		{KindReserved, netip.MustParsePrefix("192.0.0.0/24")},
		{KindReserved, netip.MustParsePrefix("198.18.0.0/15")},
		{KindReserved, netip.MustParsePrefix("240.0.0.0/4")},
		{KindReserved, netip.MustParsePrefix("2001::/32")}, // Teredo: the address inside is obfuscated
		{KindPrivate, netip.MustParsePrefix("fec0::/10")},  // RFC 3879: site-local, deprecated and still routed inside
		{KindReserved, netip.MustParsePrefix("100::/64")},  // RFC 6666: discarded
		// An IPv4 address inside, in a way that only the site knows (RFC 8215), or that nobody should use any more (RFC 4291, RFC 2765).
		{KindReserved, netip.MustParsePrefix("64:ff9b:1::/48")},
		{KindReserved, netip.MustParsePrefix("::/96")},
		{KindReserved, netip.MustParsePrefix("::ffff:0:0:0/96")},
	}
}

// KindOf tells what an address is. The zero Addr is reserved.
func KindOf(addr netip.Addr) Kind {
	addr = inner(addr.Unmap().WithZone(""))
	switch {
	case !addr.IsValid():
		return KindReserved
	case slices.Contains(metadata(), addr):
		return KindMetadata
	case addr.IsUnspecified():
		return KindUnspecified
	case addr.IsLoopback():
		return KindLoopback
	case addr.IsPrivate():
		return KindPrivate
	case addr.IsMulticast():
		return KindMulticast
	case addr.IsLinkLocalUnicast():
		return KindLinkLocal
	}
	for _, n := range networks() {
		if n.prefix.Contains(addr) {
			return n.kind
		}
	}
	if !addr.IsGlobalUnicast() {
		return KindReserved
	}
	return KindPublic
}

// inner gives the IPv4 address that a NAT64 (RFC 6052) or 6to4 (RFC 3056) address stands for, else the address itself.
func inner(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	b := addr.As16()
	switch {
	case binary.BigEndian.Uint64(b[:8]) == 0x0064_ff9b_0000_0000 && binary.BigEndian.Uint32(b[8:12]) == 0:
		return netip.AddrFrom4([4]byte(b[12:16]))
	case binary.BigEndian.Uint16(b[:2]) == 0x2002:
		return netip.AddrFrom4([4]byte(b[2:6]))
	default:
		return addr
	}
}
