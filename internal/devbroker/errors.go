package devbroker

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// PortError means that a local service cannot listen on its port.
type PortError struct {
	// Service names the service in messages: "embedded broker".
	Service string
	// Port is the requested port.
	Port int
	// Flag is the command line flag that sets it, with its dashes.
	Flag string
	// Err is the error of the operating system.
	Err error
}

// Error names the port, the cause and the flag.
func (e *PortError) Error() string {
	why := fmt.Sprintf("cannot be opened (%v)", e.Err)
	if e.InUse() {
		why = "is in use"
	}
	return fmt.Sprintf("port %d of the %s %s; stop the program that listens there, or choose another with %s (%s 0 takes a free one)", e.Port, e.Service, why, e.Flag, e.Flag)
}

// Unwrap returns the operating system's error.
func (e *PortError) Unwrap() error { return e.Err }

// InUse reports whether another process listens on the port. It returns false for a port that must not be opened.
func (e *PortError) InUse() bool { return errors.Is(e.Err, syscall.EADDRINUSE) }

// RealBrokersError means that the embedded broker did not start because real brokers are configured.
type RealBrokersError struct {
	// Brokers are the configured addresses.
	Brokers []string
}

// Error names the brokers and suggests what to do.
func (e *RealBrokersError) Error() string {
	return fmt.Sprintf("the embedded broker does not start, because real brokers are configured (%s); unset SWITCHBACK_KAFKA_BROKERS for a demo, or use `consumer run -c pipeline.yaml` for real work",
		strings.Join(e.Brokers, ", "))
}
