package enrich

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// addressPolicy decides to which addresses the process may connect for a configured service. It checks the address
// that is dialled, after name resolution: a name that resolves to an internal address, a name that changes between
// two lookups (DNS rebinding), or a redirect cannot circumvent it. The zero policy allows public addresses.
//
// Unless AllowPrivate is set, loopback, private (RFC 1918, RFC 4193) and carrier-grade (RFC 6598) addresses are
// refused. Unless their network is listed, link-local, multicast, unspecified and reserved addresses are refused, and
// the addresses on which clouds serve the metadata and credentials of a machine. An IPv4 address inside an IPv6 one
// (mapped, NAT64, 6to4) counts as itself.
type addressPolicy struct {
	// AllowPrivate allows loopback and private addresses.
	AllowPrivate bool
	// AllowNetworks allows every address of these networks, whatever its kind.
	AllowNetworks []netip.Prefix
}

// parseAddressPolicy returns a policy that allows networks in CIDR form.
func parseAddressPolicy(allowPrivate bool, networks []string) (addressPolicy, error) {
	p := addressPolicy{AllowPrivate: allowPrivate}
	for _, text := range networks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return addressPolicy{}, fmt.Errorf("%q is not a network in CIDR form, such as 10.20.0.0/16", text)
		}
		p.AllowNetworks = append(p.AllowNetworks, prefix.Masked())
	}
	return p, nil
}

// Check returns an error for an address that may not be dialled.
func (p addressPolicy) Check(addr netip.Addr) error {
	kind := addressKindOf(addr)
	plain := addr.Unmap().WithZone("")
	switch {
	case kind == addressPublic:
		return nil
	case p.AllowPrivate && (kind == addressLoopback || kind == addressPrivate):
		return nil
	case slices.ContainsFunc(p.AllowNetworks, func(n netip.Prefix) bool { return n.Contains(plain) }):
		return nil
	default:
		allow := "list its network in allow_networks if the service truly is there"
		if kind == addressLoopback || kind == addressPrivate {
			allow = "set allow_private: true, or list its network in allow_networks"
		}
		return failed(classify.CodeAddressRefused, "%s is a %s address, which is refused; %s", plain, kind, allow)
	}
}

// Control is the ControlContext of a [net.Dialer]: it refuses the connection before the first packet.
func (p addressPolicy) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial: %w", &net.AddrError{Err: "is not an IP address and a port", Addr: address})
	}
	return p.Check(at.Addr())
}

// addressKind groups the addresses that the policy treats alike. It is a closed list.
type addressKind string

// The kinds.
const (
	addressPublic      addressKind = "public"
	addressLoopback    addressKind = "loopback"    // 127.0.0.0/8, ::1
	addressPrivate     addressKind = "private"     // RFC 1918, RFC 3879, RFC 4193, RFC 6598
	addressLinkLocal   addressKind = "link-local"  // RFC 3927, RFC 4291
	addressMulticast   addressKind = "multicast"   // RFC 5771, RFC 4291
	addressMetadata    addressKind = "metadata"    // where a cloud serves a machine's identity
	addressUnspecified addressKind = "unspecified" // 0.0.0.0/8, ::, which systems take for themselves
	addressReserved    addressKind = "reserved"    // RFC 1112, RFC 2544, RFC 4380, RFC 6666, RFC 8215 and all other addresses that are not unicast
)

// metadataAddresses lists the addresses of metadata services; not all of them are link-local.
func metadataAddresses() []netip.Addr {
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

// specialNetworks lists the networks for which [netip.Addr] has no method.
func specialNetworks() []struct {
	kind   addressKind
	prefix netip.Prefix
} {
	return []struct {
		kind   addressKind
		prefix netip.Prefix
	}{
		{addressUnspecified, netip.MustParsePrefix("0.0.0.0/8")},
		{addressPrivate, netip.MustParsePrefix("100.64.0.0/10")},
		{addressReserved, netip.MustParsePrefix("192.0.0.0/24")},
		{addressReserved, netip.MustParsePrefix("198.18.0.0/15")},
		{addressReserved, netip.MustParsePrefix("240.0.0.0/4")},
		{addressReserved, netip.MustParsePrefix("2001::/32")}, // Teredo: the address inside is obfuscated
		{addressPrivate, netip.MustParsePrefix("fec0::/10")},  // RFC 3879: site-local, deprecated and still routed inside
		{addressReserved, netip.MustParsePrefix("100::/64")},  // RFC 6666: discarded
		// An IPv4 address inside, in a form that only the site knows (RFC 8215), or a deprecated one (RFC 4291, RFC 2765).
		{addressReserved, netip.MustParsePrefix("64:ff9b:1::/48")},
		{addressReserved, netip.MustParsePrefix("::/96")},
		{addressReserved, netip.MustParsePrefix("::ffff:0:0:0/96")},
	}
}

// addressKindOf returns the kind of an address. The zero Addr is reserved.
func addressKindOf(addr netip.Addr) addressKind {
	addr = inner(addr.Unmap().WithZone(""))
	switch {
	case !addr.IsValid():
		return addressReserved
	case slices.Contains(metadataAddresses(), addr):
		return addressMetadata
	case addr.IsUnspecified():
		return addressUnspecified
	case addr.IsLoopback():
		return addressLoopback
	case addr.IsPrivate():
		return addressPrivate
	case addr.IsMulticast():
		return addressMulticast
	case addr.IsLinkLocalUnicast():
		return addressLinkLocal
	}
	for _, n := range specialNetworks() {
		if n.prefix.Contains(addr) {
			return n.kind
		}
	}
	if !addr.IsGlobalUnicast() {
		return addressReserved
	}
	return addressPublic
}

// inner returns the IPv4 address inside a NAT64 (RFC 6052) or 6to4 (RFC 3056) address, or the address itself.
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
