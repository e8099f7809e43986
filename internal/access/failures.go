package access

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// triesAtOnce is how many wrong tokens an address may send at once; one more is allowed each tryAgain.
	triesAtOnce = 10
	tryAgain    = 6 * time.Second
	// maxAddresses bounds the addresses that are remembered.
	maxAddresses = 4096
)

// failures counts wrong tokens by address.
type failures struct {
	now func() time.Time

	mu   sync.Mutex // guards from
	from map[string]*rate.Limiter
}

// mayTry reports whether another token of an address is looked at.
func (f *failures) mayTry(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.from[address]
	return l == nil || l.TokensAt(f.now()) >= 1
}

// note counts a wrong token. Where there is no room for the address, those go that could send as many as a new one.
func (f *failures) note(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if len(f.from) >= maxAddresses {
		for other, l := range f.from {
			if l.TokensAt(now) >= triesAtOnce {
				delete(f.from, other)
			}
		}
	}
	if len(f.from) >= maxAddresses {
		address = "" // all that have no place share one
	}
	if f.from[address] == nil {
		f.from[address] = rate.NewLimiter(rate.Every(tryAgain), triesAtOnce)
	}
	f.from[address].AllowN(now, 1)
}

// household returns what stands for a client: its address, or of IPv6, where each has very many, the network.
func household(addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr.String()
	}
	return network.String()
}
