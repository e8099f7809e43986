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

// Health says how a process is. An empty string means well; otherwise it says what is the matter.
type Health struct {
	Live  func() string // /healthz: the process should be restarted when it is not well
	Ready func() string // /readyz: the process does its work
}

// Server serves /metrics, /healthz and /readyz.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// PortError says that the address is taken.
type PortError struct {
	Address string
	Err     error
}

// Error names the address and what to change.
func (e *PortError) Error() string {
	return fmt.Sprintf("cannot serve metrics at %s: the port is in use; choose another with --metrics host:port (port 0 is any that is free) or metrics.listen, which as \"\" turns them off", e.Address)
}

// Unwrap gives the operating system's error.
func (e *PortError) Unwrap() error { return e.Err }

// Listen opens the address at once, so that a port in use is known before any record is touched. The error is a
// *PortError when it is.
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

// What one client of the server may take, so that nobody who can reach it uses up the files that the work needs.
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

// Address gives the host and port that are served.
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
