package deadletters

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// maxNormalised is the longest normalised message, in bytes.
const maxNormalised = 256

// The placeholders for text that differs between dead letters.
const (
	numberMark = "<n>"
	idMark     = "<id>"
)

// Normalise replaces the parts of an error message that differ between dead letters, so that dead letters with one
// cause form one group. A word of digits becomes <n>; a word with digits and letters (an ID, a hash, a time, an
// address) becomes <id>; white space becomes one blank. Words without a digit stay, so field names and rules
// distinguish groups; so does "UTF-8". The result has no other digit, is valid UTF-8, at most 256 bytes, and
// idempotent.
func Normalise(message string) string {
	var b strings.Builder
	blank := false
	for rest := strings.ToValidUTF8(message, "\uFFFD"); rest != "" && b.Len() < maxNormalised; {
		r, size := utf8.DecodeRuneInString(rest)
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			blank = b.Len() > 0
			rest = rest[size:]
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if !isWordRune(r) {
			b.WriteRune(r)
			rest = rest[size:]
			continue
		}
		word, tail := cutWord(rest)
		b.WriteString(markWord(word))
		rest = tail
	}
	return strings.TrimSpace(header.Cut(b.String(), maxNormalised))
}

// NormaliseFor is [Normalise] for a message about one feature: its quoted ID becomes <id> even without a digit.
func NormaliseFor(featureID, message string) string {
	if featureID != "" {
		message = strings.ReplaceAll(message, strconv.Quote(featureID), idMark)
	}
	return Normalise(message)
}

// isWordRune reports whether r can be part of an ID, a number or a time.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || strings.ContainsRune("_-+.:", r)
}

// cutWord splits off the first word. Punctuation at its end belongs to the sentence.
func cutWord(s string) (word, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) })
	if end < 0 {
		end = len(s)
	}
	word = strings.TrimRight(s[:end], "-+.:")
	if word == "" {
		return s[:end], s[end:]
	}
	return word, s[len(word):]
}

func markWord(word string) string {
	digits, letters := false, false
	for i, r := range word {
		switch {
		case unicode.IsNumber(r):
			digits = true
		case (r == 'e' || r == 'E') && digits && i+1 < len(word) && !unicode.IsLetter(rune(word[i+1])):
			// the exponent of a number
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == '_' || r == ':':
			letters = true
		}
	}
	switch {
	case word == "UTF-8":
		return word
	case digits && letters:
		return idMark
	case digits:
		return numberMark
	default:
		return word
	}
}

// Fingerprint names a group of dead letters: twelve hex digits of a hash over code, stage and normalised message. It is
// the same on every machine and in every version with the same rules.
func Fingerprint(code, stage, normalised string) string {
	h := sha256.New()
	for _, part := range []string{code, stage, normalised} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// HiddenCause returns the message of the innermost exception, unless the outermost message has it already: a
// wrapper's message does not describe the failure.
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
