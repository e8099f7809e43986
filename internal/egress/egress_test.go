package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
)

func TestKindOf(t *testing.T) {
	for text, want := range map[string]Kind{
		"9.9.9.9": KindPublic, "2606:4700::1111": KindPublic, "::ffff:9.9.9.9": KindPublic, "64:ff9b::909:909": KindPublic, "2002:909:909::1": KindPublic,
		"127.0.0.1": KindLoopback, "127.255.0.1": KindLoopback, "::1": KindLoopback, "::ffff:127.0.0.1": KindLoopback, "64:ff9b::7f00:1": KindLoopback,
		"2002:7f00:1::": KindLoopback,
		"10.0.0.1":      KindPrivate, "172.16.0.1": KindPrivate, "172.32.0.1": KindPublic, "192.168.1.1": KindPrivate, "fc00::1": KindPrivate,
		"100.64.0.1": KindPrivate, "100.128.0.1": KindPublic, "::ffff:10.1.2.3": KindPrivate,
		"169.254.1.1": KindLinkLocal, "fe80::1": KindLinkLocal, "fe80::1%eth0": KindLinkLocal,
		"169.254.169.254": KindMetadata, "fd00:ec2::254": KindMetadata, "100.100.100.200": KindMetadata, "192.0.0.192": KindMetadata,
		"64:ff9b::a9fe:a9fe": KindMetadata, "168.63.129.16": KindMetadata, "fd20:ce::254": KindMetadata, "fd00:ec2::23": KindMetadata,
		"fec0::1": KindPrivate, "64:ff9b:1::7f00:1": KindReserved, "::7f00:1": KindReserved, "::ffff:0:7f00:1": KindReserved, "100::1": KindReserved,
		"224.0.0.1": KindMulticast, "ff02::1": KindMulticast, "239.255.255.250": KindMulticast,
		"0.0.0.0": KindUnspecified, "0.1.2.3": KindUnspecified, "::": KindUnspecified,
		"255.255.255.255": KindReserved, "240.0.0.1": KindReserved, "198.18.0.1": KindReserved, "192.0.0.8": KindReserved, "2001::1": KindReserved,
	} {
		if got := KindOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	if got := KindOf(netip.Addr{}); got != KindReserved {
		t.Errorf("no address is %s", got)
	}
}

func TestPolicy(t *testing.T) {
	listed, err := Parse(false, []string{"127.0.0.1/32", "169.254.169.254/32"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy Policy
		addr   string
		ok     bool
	}{
		{Policy{}, "9.9.9.9", true},
		{Policy{}, "127.0.0.1", false},
		{Policy{}, "10.0.0.1", false},
		{Policy{AllowPrivate: true}, "127.0.0.1", true},
		{Policy{AllowPrivate: true}, "::ffff:10.0.0.1", true},
		{Policy{AllowPrivate: true}, "169.254.169.254", false},
		{Policy{AllowPrivate: true}, "fd00:ec2::254", false},
		{Policy{AllowPrivate: true}, "fd20:ce::254", false},
		{Policy{AllowPrivate: true}, "224.0.0.1", false},
		{Policy{AllowPrivate: true}, "0.0.0.0", false},
		{listed, "127.0.0.1", true},
		{listed, "::ffff:127.0.0.1", true},
		{listed, "127.0.0.2", false},
		{listed, "169.254.169.254", true},
	} {
		err := c.policy.Check(netip.MustParseAddr(c.addr))
		if (err == nil) != c.ok {
			t.Errorf("%+v: %s: %v", c.policy, c.addr, err)
		}
		if err != nil && !strings.Contains(err.Error(), "allow_networks") {
			t.Errorf("the error names no key: %v", err)
		}
	}
	if _, err := Parse(false, []string{"10.0.0.0"}); err == nil || !strings.Contains(err.Error(), "10.0.0.0") {
		t.Errorf("got %v", err)
	}
}

// A name that leads to an inner address is refused when it is dialled, before a packet is sent.
func TestPolicy_Control_after_the_name_is_resolved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dial := func(p Policy) error {
		conn, err := (&net.Dialer{ControlContext: p.Control}).DialContext(t.Context(), "tcp4", "localhost:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	err = dial(Policy{})
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Kind != KindLoopback {
		t.Fatalf("got %v", err)
	}
	if f := classify.Of(err); f.Code != classify.CodeAddressRefused || f.Class != classify.Permanent {
		t.Errorf("classified as %s, %s", f.Class, f.Code)
	}
	if err := dial(Policy{AllowPrivate: true}); err != nil {
		t.Error(err)
	}
	if err := (Policy{}).Control(t.Context(), "unix", "/run/x.sock", nil); err == nil {
		t.Error("what is no IP address was allowed")
	}
}

// FuzzKindOf proves that an IPv4 address is judged alike in every dress.
func FuzzKindOf(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Add([]byte{9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 {
			t.Skip("an IPv4 address has four bytes")
		}
		plain := netip.AddrFrom4([4]byte(b))
		mapped := netip.AddrFrom16(plain.As16())
		nat64 := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
		sixToFour := netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3]})
		for _, dressed := range []netip.Addr{mapped, nat64, sixToFour} {
			if KindOf(dressed) != KindOf(plain) {
				t.Errorf("%s is %s, %s is %s", dressed, KindOf(dressed), plain, KindOf(plain))
			}
		}
	})
}
