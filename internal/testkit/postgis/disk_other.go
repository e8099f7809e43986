//go:build !linux

package postgis

import (
	"errors"
	"testing"
)

// SmallDisk is for Linux.
func (s *Server) SmallDisk(testing.TB, int) (string, error) {
	return "", errors.New("a small disk is mounted on Linux only")
}
