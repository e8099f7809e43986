package postgis

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk mounts a file system of this size for a tablespace and returns its folder. It is removed when the test ends.
// It needs the permission to mount, and a server that was started by this package.
func (s *Server) SmallDisk(t testing.TB, size int) (string, error) {
	t.Helper()
	if s.own == nil {
		return "", fmt.Errorf("the server of %s has its own disk", EnvDSN)
	}
	dir := filepath.Join(s.own.dir, "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		return "", fmt.Errorf("mount a small disk: %w", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir, own(dir, s.own.cred)
}
