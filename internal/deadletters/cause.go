package deadletters

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HiddenCause returns the message of the innermost exception, unless the outermost message has it already: a wrapper's
// message does not say what went wrong.
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

// HiddenCause returns the innermost cause if the dead letter's message does not have it.
func (l *Letter) HiddenCause() string { return HiddenCause(l.Control.ErrorMessage, l.CausedBy) }

// Pattern returns the common text of a group's dead letters (see [PatternOf]).
func (l *Letter) Pattern() string {
	return PatternOf(l.Control.FeatureID, l.Control.ErrorMessage, l.CausedBy)
}

// PatternOf returns the normalised message of a dead letter, followed by the normalised cause if the message is a
// wrapper's. It omits quoted text of a cause, which is mostly a value of the record.
func PatternOf(featureID, message, causedBy string) string {
	pattern := NormaliseFor(featureID, message)
	if cause := HiddenCause(message, causedBy); cause != "" {
		pattern += "; caused by " + Normalise(unquoted(cause))
	}
	return pattern
}

// unquoted removes quoted text. An apostrophe within a word is not a quote.
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
