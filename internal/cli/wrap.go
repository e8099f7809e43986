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
	start := utf8.RuneCountInString(indent)
	at := 0
	for rest := line; rest != ""; {
		text := strings.TrimLeft(rest, " ")
		word, _, _ := strings.Cut(text, " ")
		blanks := len(rest) - len(text)
		rest = text[len(word):]
		if at > start && at+blanks+utf8.RuneCountInString(word) > width {
			b.WriteString("\n" + indent)
			at, blanks = start, 0
		}
		b.WriteString(strings.Repeat(" ", blanks) + word)
		at += blanks + utf8.RuneCountInString(word)
	}
	return b.String()
}
