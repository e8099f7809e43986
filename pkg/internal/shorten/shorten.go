// Package shorten shortens foreign text for error messages.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// MaxCharacters is the length to which [Text] shortens.
const MaxCharacters = 80

// Text returns data as valid UTF-8 of at most [MaxCharacters] characters. It reads no more of data than it needs, so that
// a huge value is not copied.
func Text[T string | []byte](data T) string {
	start := data[:min(len(data), (MaxCharacters+1)*utf8.UTFMax)]
	valid := strings.ToValidUTF8(string(start), "\uFFFD")
	if utf8.RuneCountInString(valid) <= MaxCharacters {
		return valid
	}
	return string([]rune(valid)[:MaxCharacters-1]) + "…"
}
