package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/switchback-geo/switchback/internal/access"
)

// The limits of one client.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 2 * time.Minute // of a whole answer, including the work on it
	idleTimeout    = time.Minute
	closeTimeout   = time.Second // for requests in progress when the server ends
	maxHeader      = 16 << 10
	maxConnections = 64
)

// ErrAddress is the error for an address at which the console does not listen. Match it with errors.Is.
var ErrAddress = errors.New("without --access the console listens only on loopback addresses")

// Listen opens an address. Without an https address in the gate, the error for any address but a loopback one is
// [ErrAddress].
func Listen(ctx context.Context, address string, gate *access.Gate) (net.Listener, error) {
	encrypted := gate.Encrypted()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; use host:port such as 127.0.0.1:8480", ErrAddress, err)
	}
	if !encrypted && !access.IsLoopback(host) {
		return nil, fmt.Errorf("%w, not at %q: anyone who can reach it can read every dead letter; use 127.0.0.1:8480, and a tunnel from elsewhere (ssh -L 8480:127.0.0.1:8480), or --access with an https address", ErrAddress, address)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; choose another port with --listen (port 0 is any that is free)", address, err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); !encrypted && (!ok || !at.IP.IsLoopback()) { // localhost may be defined as another address
		return nil, errors.Join(fmt.Errorf("%w, and %q is %s", ErrAddress, address, l.Addr()), l.Close())
	}
	return l, nil
}

// Serve answers requests until ctx ends, which is not an error.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: c.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
	}
	done := make(chan error, 1)
	l = netutil.LimitListener(l, maxConnections)
	go func() {
		if server.TLSConfig = c.gate.TLS(); server.TLSConfig != nil {
			done <- server.ServeTLS(l, "", "")
		} else {
			done <- server.Serve(l)
		}
	}()
	select {
	case err := <-done:
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		_ = server.Close() // disconnects slow clients
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	}
	return nil
}
