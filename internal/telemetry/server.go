package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

// Health reports the health of a process. Each function returns "" if the process is healthy, or else a description of
// the problem.
type Health struct {
	Live  func() string // /healthz: restart the process if it is unhealthy
	Ready func() string // /readyz: the process does its work
}

// Server serves /metrics, /healthz and /readyz.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// PortError reports that the address is in use.
type PortError struct {
	Address string
	Err     error
}

// Error names the address and the setting to change.
func (e *PortError) Error() string {
	return fmt.Sprintf("cannot serve metrics at %s: the port is in use; choose another with --metrics host:port (port 0 is any that is free) or metrics.listen, which as \"\" turns them off", e.Address)
}

// Unwrap returns the operating system's error.
func (e *PortError) Unwrap() error { return e.Err }

// Listen opens the address at once, so that it finds a port in use before the consumer touches any record. It returns a
// *PortError if the port is in use.
func Listen(address string, gatherer prometheus.Gatherer, health Health) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &PortError{address, err}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics at %s: %w; set metrics.listen", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", answer(health.Live))
	mux.HandleFunc("GET /readyz", answer(health.Ready))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
	}
	return &Server{netutil.LimitListener(listener, maxConnections), server}, nil
}

// These limits bound the resources that clients can use. A client that can reach the server must not exhaust the file
// descriptors that the consumer needs.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 30 * time.Second // longer than the usual interval of a scrape
	maxHeader      = 16 << 10
	maxConnections = 64
)

func answer(state func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if trouble := state(); trouble != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, trouble)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context, log *slog.Logger) {
	stopped := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if err := s.server.Shutdown(bounded); err != nil {
			log.WarnContext(ctx, "metrics server did not close in time", "error", err)
		}
	})
	defer stopped()
	s.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	if err := s.server.Serve(s.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.ErrorContext(ctx, "metrics server failed", "error", err)
	}
}
