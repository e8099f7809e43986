package places

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a service that listens on 127.0.0.1.
type Server struct {
	*Service
	addr string
	http *http.Server
	done chan error
}

// Start listens on a port of 127.0.0.1; 0 takes a free one. When the port cannot be had, the error
// wraps the *net.OpError of the listener.
func Start(port int, script Script) (*Server, error) {
	gazetteer, err := NewGazetteer()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("start the place-name service: %w", err)
	}
	s := &Server{Service: NewService(gazetteer, script), addr: listener.Addr().String(), done: make(chan error, 1)}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Addr is the host:port where the service listens.
func (s *Server) Addr() string { return s.addr }

// Close ends the service and cuts off those who wait for a stuck answer.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
