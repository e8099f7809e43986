package cli

import (
	"io"
	"strings"

	"github.com/switchback-geo/switchback/internal/safetext"
)

// cleaner is a terminal that text of records cannot steer.
type cleaner struct{ to io.Writer }

// Write cleans what it is given; a character that two writes share becomes the replacement character.
func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.to, safetext.Clean(strings.ToValidUTF8(string(p), "\uFFFD"), safetext.KeepLines)); err != nil {
		return 0, err
	}
	return len(p), nil
}
