package cli

import (
	"strings"
	"unicode/utf8"
)

// WrapText breaks a line at its spaces, so that it fits so many columns; the lines below the first are set in. A word that is wider by
// itself stays whole. With no width the line stays as it is.
func WrapText(line string, width int, indent string) string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return line
	}
	var b strings.Builder
	at, rest := 0, line
	for rest != "" {
		end := strings.IndexByte(strings.TrimLeft(rest, " "), ' ')
		word := rest
		if end >= 0 {
			word = rest[:len(rest)-len(strings.TrimLeft(rest, " "))+end]
		}
		rest = rest[len(word):]
		n := utf8.RuneCountInString(word)
		if at > utf8.RuneCountInString(indent) && at+n > width {
			word = strings.TrimLeft(word, " ")
			b.WriteString("\n" + indent)
			at, n = utf8.RuneCountInString(indent), utf8.RuneCountInString(word)
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
