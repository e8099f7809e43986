package demo

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// placeServer is the place-name service behind a listener on 127.0.0.1.
type placeServer struct {
	*placeService
	addr string
	http *http.Server
	done chan error
}

// startPlaces starts the service on a port of 127.0.0.1; 0 takes a free one. If the port is taken, the error wraps the listener's
// *net.OpError.
func startPlaces(port int, script Script) (*placeServer, error) {
	gazetteer, err := newGazetteer()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("start the place-name service: %w", err)
	}
	s := &placeServer{placeService: newPlaceService(gazetteer, script), addr: listener.Addr().String(), done: make(chan error, 1)}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Addr returns the host:port where the service listens.
func (s *placeServer) Addr() string { return s.addr }

// Close stops the service and disconnects clients that wait for a stuck answer.
func (s *placeServer) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
