package consumer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
)

// MostInstances is the number of instance names of a group on one host.
const MostInstances = 64

// InstanceName is an instance name that no other process of the group has on this host. The first process has the host's
// name, the second HOST-2, and so on. The kernel frees the name when the process ends, however it ends. A process that
// is killed and started again gets its former name, so it fences the transaction that it left open. A process that hangs
// keeps its name.
//
// On Linux an abstract Unix socket reserves the name; it needs no file and no permission, and all processes of one
// network namespace see it. On other systems every name is free.
type InstanceName struct {
	Name  string
	Taken int // earlier names that other processes have
	held  io.Closer
}

// Release frees the name.
func (s *InstanceName) Release() error { return s.held.Close() }

// ReserveInstance reserves the first free name of a group. It fails if every name is taken on this host.
func ReserveInstance(group, host string) (*InstanceName, error) {
	for n := range MostInstances {
		name := nthName(host, n)
		held, free, err := bindName(socketAddress(group, name))
		if err != nil {
			return nil, fmt.Errorf("reserve the name %s in group %s (or set one with --instance): %w", name, group, err)
		}
		if free {
			return &InstanceName{Name: name, Taken: n, held: held}, nil
		}
	}
	return nil, fmt.Errorf("all %d names of consumer group %s from %s to %s-%d are taken on this host: name this instance with --instance", MostInstances, group, host, host, MostInstances)
}

// nthName returns name n, from 0. The first is the host's own name.
func nthName(host string, n int) string {
	if n == 0 {
		return host
	}
	return host + "-" + strconv.Itoa(n+1)
}

// socketAddress returns a hash, because a socket's address has at most 107 bytes and the names may be longer.
func socketAddress(group, name string) string {
	sum := sha256.Sum256([]byte(strconv.Quote(group) + strconv.Quote(name)))
	return "switchback/instance/" + hex.EncodeToString(sum[:16])
}
