package deadletters

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HiddenCause returns what the innermost exception says, unless the message of the outermost says it already: that of a wrapper says nothing of
// what went wrong.
func HiddenCause(message, causedBy string) string {
	_, says, _ := strings.Cut(causedBy, ": ")
	if says == "" {
		says = causedBy // a class alone
	}
	if strings.Contains(message, says) {
		return ""
	}
	return causedBy
}

// HiddenCause returns what the letter's message does not say of its innermost cause.
func (l *Letter) HiddenCause() string { return HiddenCause(l.Control.ErrorMessage, l.CausedBy) }

// Pattern returns what letters of one group have in common (see [PatternOf]).
func (l *Letter) Pattern() string {
	return PatternOf(l.Control.FeatureID, l.Control.ErrorMessage, l.CausedBy)
}

// PatternOf returns the normalised message of a letter, and behind that of a wrapper the normalised cause. What a cause quotes is mostly a
// value of the record, and is left out.
func PatternOf(featureID, message, causedBy string) string {
	pattern := NormaliseFor(featureID, message)
	if cause := HiddenCause(message, causedBy); cause != "" {
		pattern += "; caused by " + Normalise(unquoted(cause))
	}
	return pattern
}

// unquoted removes what stands in quotes. An apostrophe within a word is no quote.
func unquoted(text string) string {
	var b strings.Builder
	before := ' '
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == '"' || r == '\'' && !unicode.IsLetter(before) {
			if end := strings.IndexRune(text[size:], r); end >= 0 {
				b.WriteString(string(r) + "…" + string(r))
				text, before = text[size+end+size:], r
				continue
			}
		}
		b.WriteString(text[:size])
		text, before = text[size:], r
	}
	return b.String()
}
