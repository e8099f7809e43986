package devbroker

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// PortError says that a local service cannot listen on its port, and which flag changes it.
type PortError struct {
	// Service is who wanted the port, as a person would call it: "embedded broker".
	Service string
	// Port is the port asked for.
	Port int
	// Flag is the command line flag that sets it, with its dashes.
	Flag string
	// Err is what the operating system said.
	Err error
}

// Error says which port, why, and what to do.
func (e *PortError) Error() string {
	why := fmt.Sprintf("cannot be opened (%v)", e.Err)
	if e.InUse() {
		why = "is in use"
	}
	return fmt.Sprintf("port %d of the %s %s; stop what listens there, or choose another with %s (%s 0 takes a free one)", e.Port, e.Service, why, e.Flag, e.Flag)
}

// Unwrap gives the operating system's error.
func (e *PortError) Unwrap() error { return e.Err }

// InUse reports whether another process listens on the port, as opposed to a port that may not be
// opened at all.
func (e *PortError) InUse() bool { return errors.Is(e.Err, syscall.EADDRINUSE) }

// RealBrokersError says that the embedded broker did not start because real brokers are configured.
type RealBrokersError struct {
	// Brokers are the configured addresses.
	Brokers []string
}

// Error names the brokers and the way out.
func (e *RealBrokersError) Error() string {
	return fmt.Sprintf("the embedded broker does not start, because real brokers are configured (%s); unset SWITCHBACK_KAFKA_BROKERS for a demo, or use `consumer run -c pipeline.yaml` for real work",
		strings.Join(e.Brokers, ", "))
}
