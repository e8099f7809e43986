package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Policy says which addresses may be dialled. The zero Policy allows public ones.
type Policy struct {
	// AllowPrivate allows loopback and private addresses.
	AllowPrivate bool
	// AllowNetworks allows every address of these networks, whatever its kind.
	AllowNetworks []netip.Prefix
}

// Parse makes a policy from networks in CIDR form.
func Parse(allowPrivate bool, networks []string) (Policy, error) {
	p := Policy{AllowPrivate: allowPrivate}
	for _, text := range networks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return Policy{}, fmt.Errorf("%q is not a network in CIDR form, such as 10.20.0.0/16", text)
		}
		p.AllowNetworks = append(p.AllowNetworks, prefix.Masked())
	}
	return p, nil
}

// Check gives a *RefusedError for an address that may not be dialled.
func (p Policy) Check(addr netip.Addr) error {
	kind := KindOf(addr)
	plain := addr.Unmap().WithZone("")
	switch {
	case kind == KindPublic:
		return nil
	case p.AllowPrivate && (kind == KindLoopback || kind == KindPrivate):
		return nil
	case slices.ContainsFunc(p.AllowNetworks, func(n netip.Prefix) bool { return n.Contains(plain) }):
		return nil
	default:
		return &RefusedError{Addr: plain, Kind: kind}
	}
}

// Control is a [net.Dialer]'s ControlContext: it refuses the connection before its first packet.
func (p Policy) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress: %w", &net.AddrError{Err: "is not an IP address and a port", Addr: address})
	}
	return p.Check(at.Addr())
}

// RefusedError says that a connection was not made because of the policy.
type RefusedError struct {
	Addr netip.Addr
	Kind Kind
}

// Error names the address, and the keys of the configuration that would allow it.
func (e *RefusedError) Error() string {
	if e.Kind == KindLoopback || e.Kind == KindPrivate {
		return fmt.Sprintf("%s is a %s address, which is refused; set allow_private: true, or list its network in allow_networks", e.Addr, e.Kind)
	}
	return fmt.Sprintf("%s is a %s address, which is refused; list its network in allow_networks if the service truly is there", e.Addr, e.Kind)
}

// FailureCode makes the error classifiable: permanent, since no waiting changes an address.
func (e *RefusedError) FailureCode() classify.Code { return classify.CodeAddressRefused }

// FailureStage makes the error classifiable.
func (e *RefusedError) FailureStage() classify.Stage { return classify.StageEnrich }
