package enrich

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// addressPolicy decides to which addresses the process may connect for a configured service. It checks the address that is dialled, after
// the name was resolved: neither a name that leads to an inner address, nor one that changes between two look-ups (DNS rebinding), nor
// a redirect gets around it. The zero policy allows public addresses.
//
// Unless AllowPrivate is set, loopback, private (RFC 1918, RFC 4193) and carrier-grade (RFC 6598) addresses are refused. Unless their
// network is listed, link-local, multicast, unspecified and reserved addresses are refused, and those where clouds serve the metadata and
// credentials of a machine. An IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) counts as itself.
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

// Check returns an *addressRefusedError for an address that may not be dialled.
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
		return &addressRefusedError{Addr: plain, Kind: kind}
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

// addressRefusedError reports a connection that the policy refused.
type addressRefusedError struct {
	Addr netip.Addr
	Kind addressKind
}

// Error names the address, and the keys of the configuration that would allow it.
func (e *addressRefusedError) Error() string {
	if e.Kind == addressLoopback || e.Kind == addressPrivate {
		return fmt.Sprintf("%s is a %s address, which is refused; set allow_private: true, or list its network in allow_networks", e.Addr, e.Kind)
	}
	return fmt.Sprintf("%s is a %s address, which is refused; list its network in allow_networks if the service truly is there", e.Addr, e.Kind)
}

// FailureCode classifies the error as permanent: waiting does not change an address.
func (e *addressRefusedError) FailureCode() classify.Code { return classify.CodeAddressRefused }

// FailureStage classifies the error.
func (e *addressRefusedError) FailureStage() classify.Stage { return classify.StageEnrich }
