package testrun

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreeAddress returns a loopback address, host:port, on which a server can listen. The port is below the range for
// outgoing connections, so none of them takes it before the server starts or while the server is down.
func FreeAddress() (string, error) {
	const low, high = 15000, 32000
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(low+rand.IntN(high-low)))
		if listener, err := net.Listen("tcp", addr); err == nil {
			return addr, listener.Close()
		}
	}
	return "", fmt.Errorf("found no free port between %d and %d", low, high)
}
