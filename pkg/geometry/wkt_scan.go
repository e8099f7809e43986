package geometry

import (
	"errors"
	"math"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// maxNumberBytes bounds one number of well-known text: the longest exact form of a double is shorter.
const maxNumberBytes = 1100

// textScanner splits well-known text into words, numbers and signs.
type textScanner struct {
	collector
	text []byte
	at   int
}

// unexpected returns a syntax error at the current place.
func (s *textScanner) unexpected(want string) *Error {
	s.space()
	got := "the text ends"
	rule := RuleTruncated
	if s.at < len(s.text) {
		got, rule = "something else is", RuleSyntax
	}
	e := s.fault(s.code, rule, s.at, got+" where "+want+" must be", "write it as OGC 06-103r4 section 7 has it, such as POINT Z (8.5 47.3 440)")
	e.Value = shorten.Text(s.text[s.at:])
	return e
}

// space skips white space.
func (s *textScanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// sign skips one character if it is next.
func (s *textScanner) sign(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// demand reads one character that must be next.
func (s *textScanner) demand(c byte) error {
	if s.sign(c) {
		return nil
	}
	return s.unexpected(strconv.QuoteRune(rune(c)))
}

// peekWord returns the next letters. It only skips white space.
func (s *textScanner) peekWord() string {
	s.space()
	end := s.at
	for end < len(s.text) && isLetter(s.text[end]) {
		end++
	}
	return string(s.text[s.at:min(end, s.at+shorten.MaxCharacters)])
}

// word reads a word in any case if it is next.
func (s *textScanner) word(want string) bool {
	if equalFold(s.peekWord(), want) {
		s.at += len(want)
		return true
	}
	return false
}

// number reads a number: sign, digits with or without a point, exponent.
func (s *textScanner) number() (float64, error) {
	s.space()
	begin := s.at
	end := begin
	for end < len(s.text) && isNumeric(s.text[end]) {
		end++
	}
	if end-begin > maxNumberBytes {
		return 0, s.fault(classify.CodeLimitExceeded, RuleSyntax, begin, "a number has more than "+decimal(maxNumberBytes)+" characters", "shorten it")
	}
	if end == begin {
		return 0, s.unexpected("a number")
	}
	n, err := strconv.ParseFloat(string(s.text[begin:end]), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, s.fault(classify.CodeCoordinateRange, RuleNotFinite, begin, "an ordinate is beyond the range of a double", "send coordinates")
	case err != nil:
		return 0, s.unexpected("a number")
	}
	s.at = end
	return n, nil
}

// height reads a third ordinate: a number, or NaN for none.
func (s *textScanner) height() (float64, error) {
	if s.word("nan") {
		return math.NaN(), nil
	}
	return s.number()
}

// isNumeric reports whether c may be part of a number. Hexadecimal, underscores,
// "Inf" and "NaN", which strconv would read, have other characters.
func isNumeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// equalFold compares ASCII words. strings.EqualFold would accept the Kelvin sign as a K.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i]|0x20 != b[i]|0x20 {
			return false
		}
	}
	return true
}
