package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineBreaks says what becomes of line breaks and tabs.
type LineBreaks bool

// The ways.
const (
	OneLine   LineBreaks = false // they become blanks
	KeepLines LineBreaks = true
)

// Steers says whether a terminal obeys a character instead of showing it: an escape sequence, a bell, a line break, a change of
// direction.
func Steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// SteersInText is [Steers] for text of several lines, in which a line break is none.
func SteersInText(r rune) bool { return r != '\n' && Steers(r) }

// CleanText makes text safe for a terminal: a character that steers it becomes the replacement character.
func CleanText(text string, l LineBreaks) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			if l == KeepLines {
				return r
			}
			return ' '
		case Steers(r):
			return utf8.RuneError
		default:
			return r
		}
	}, text)
}

// CutText shortens text to at most n characters, the last of which is then an ellipsis.
func CutText(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:max(n-1, 0)]) + "…"
}
