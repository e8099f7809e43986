//go:build !linux

package slot

import "io"

// bind finds every slot free: two processes of one group on such a host need names of their own.
func bind(string) (held io.Closer, free bool, err error) { return io.NopCloser(nil), true, nil }
