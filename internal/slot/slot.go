package slot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
)

// Most is how many slots a group has on one host.
const Most = 64

// Slot is a name that no other process of the group has on this host. Release gives it back; the end of the process does too.
type Slot struct {
	Name  string
	Taken int // slots before it that others have
	held  io.Closer
}

// Release lets another process have the name.
func (s *Slot) Release() error { return s.held.Close() }

// FullError says that every slot of a group is taken on this host.
type FullError struct{ Group, Host string }

// Error says what to do about it.
func (e *FullError) Error() string {
	return fmt.Sprintf("all %d names of consumer group %s from %s to %s-%d are taken on this host: name this instance with --instance", Most, e.Group, e.Host, e.Host, Most)
}

// Take takes the first free slot of a group. Its error is a *FullError, or that of the system.
func Take(group, host string) (*Slot, error) {
	for n := range Most {
		name := nth(host, n)
		held, free, err := bind(address(group, name))
		if err != nil {
			return nil, fmt.Errorf("reserve the name %s in group %s (or give one with --instance): %w", name, group, err)
		}
		if free {
			return &Slot{Name: name, Taken: n, held: held}, nil
		}
	}
	return nil, &FullError{group, host}
}

// nth is the name of slot n, from 0. The first is the host's own name, as for a host with one process.
func nth(host string, n int) string {
	if n == 0 {
		return host
	}
	return host + "-" + strconv.Itoa(n+1)
}

// address is short whatever the names are: a socket's has 107 bytes at most.
func address(group, name string) string {
	sum := sha256.Sum256([]byte(strconv.Quote(group) + strconv.Quote(name)))
	return "switchback/instance/" + hex.EncodeToString(sum[:16])
}
