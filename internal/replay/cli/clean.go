package cli

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lines says what becomes of line breaks and tabs in text that is printed.
type lines bool

const (
	oneLine   lines = false // they become blanks
	keepLines lines = true
)

// clean makes text of records safe for a terminal: a control character (an escape sequence, a
// bell, a change of direction) becomes the replacement character.
func clean(text string, l lines) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			if l == keepLines {
				return r
			}
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return utf8.RuneError
		default:
			return r
		}
	}, text)
}

// cleaner is a terminal that text of records cannot steer.
type cleaner struct{ to io.Writer }

// Write cleans what it is given; a character that two writes share becomes the replacement character.
func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.to, clean(strings.ToValidUTF8(string(p), "\uFFFD"), keepLines)); err != nil {
		return 0, err
	}
	return len(p), nil
}
