package main

import (
	"io"
	"strings"

	"github.com/switchback-geo/switchback/internal/cli"
)

// cleaner is a terminal that text of records cannot steer.
type cleaner struct{ to io.Writer }

// Write cleans what it is given; a character that two writes share becomes the replacement character.
func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.to, cli.CleanText(strings.ToValidUTF8(string(p), "\uFFFD"), cli.KeepLines)); err != nil {
		return 0, err
	}
	return len(p), nil
}
