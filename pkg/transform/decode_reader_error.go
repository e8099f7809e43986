package transform

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// fault is the part of an error that is known where it occurs. fail adds the other fields.
type fault struct {
	code         classify.Code
	rule         Rule
	start, end   int64 // the offending text; end is 0 if it is unknown
	earlier      bool  // start lies before the last token
	whole        bool  // the fault concerns the whole record and has no pointer
	message, fix string
	cause        error
}

// fail returns an error of the decode stage with its place in the text.
func (r *reader) fail(f fault) *Error {
	e := &Error{Code: f.code, Stage: classify.StageDecode, Rule: string(f.rule), Message: f.message, Fix: f.fix,
		Feature: r.feature, Offset: f.start, Err: f.cause, Value: excerpt(r.src, f.start, f.end)}
	e.Line, e.Column = lineColumn(r.src, f.start)
	switch {
	case f.whole:
	case f.earlier:
		e.Path = pointerAt(r.src, f.start)
	default:
		e.Path = string(r.decoder.StackPointer())
	}
	return e
}

// wrongType reads the current value and returns the error for a value of another type than expected.
func (r *reader) wrongType(message, fix string) error {
	return r.unexpected(classify.CodeWrongType, RuleMemberType, message, fix)
}

// nullOrdinate reads the current value and returns the error for null instead of an ordinate or a position.
func (r *reader) nullOrdinate(message, fix string) error {
	return r.unexpected(classify.CodeNullOrdinate, RuleNullOrdinate, message, fix)
}

// unexpected reads the current value and returns an error for it.
func (r *reader) unexpected(code classify.Code, rule Rule, message, fix string) error {
	var start, end int64
	switch r.peek() {
	case '{', '[':
		if err := r.delimiter(); err != nil {
			return err
		}
		start = r.offset() - 1
	default:
		var err error
		if start, end, err = r.literal(); err != nil {
			return err
		}
	}
	return r.fail(fault{code: code, rule: rule, start: start, end: end, message: message, fix: fix})
}

// numberRange returns the error for a number, beginning at start, that exceeds a double.
func (r *reader) numberRange(start int64) error {
	return r.fail(fault{code: classify.CodeNumberRange, rule: RuleNumberRange, start: start, end: r.offset(),
		message: "a number is beyond the range of a double",
		fix:     "send it as a string, or within ±1.8e308"})
}

// isEnd reports whether err is the clean end of the text.
func isEnd(err error) bool { return errors.Is(err, io.EOF) }

// syntax converts an error of jsontext.
func (r *reader) syntax(err error) *Error {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) { // io.EOF before the first value, or between tokens
		return r.fail(fault{code: classify.CodeTruncatedJSON, rule: RuleTruncated, start: int64(len(r.src)), whole: true,
			message: "the JSON text ends too early", fix: "send the complete record", cause: err})
	}
	f := r.describe(syntactic)
	f.start, f.cause = syntactic.ByteOffset, err
	e := r.fail(f)
	if !f.whole {
		e.Path = string(syntactic.JSONPointer)
	}
	return e
}

// describe determines the cause of a syntax error: jsontext has two typed causes, and the text itself shows the others.
func (r *reader) describe(err *jsontext.SyntacticError) fault {
	rest := r.src[min(err.ByteOffset, int64(len(r.src))):]
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fault{code: classify.CodeDuplicateKey, rule: RuleDuplicateMember,
			message: "the member " + strconv.Quote(shorten.Text(err.JSONPointer.LastToken())) + " occurs twice in one object",
			fix:     "send each member once"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault{code: classify.CodeTruncatedJSON, rule: RuleTruncated,
			message: "the JSON text ends too early", fix: "send the complete record"}
	case isInvalidUTF8(rest):
		return fault{code: classify.CodeInvalidUTF8, rule: RuleUTF8,
			message: "the text is not UTF-8", fix: "encode the record as UTF-8"}
	case isLoneSurrogate(rest):
		return fault{code: classify.CodeInvalidUTF8, rule: RuleUTF8,
			message: "an escape is one half of a surrogate pair", fix: `write both halves, such as \ud83d\ude00`}
	case bytes.HasPrefix(r.src, []byte("\xef\xbb\xbf")):
		return fault{code: classify.CodeNotJSON, rule: RuleByteOrderMark, whole: true,
			message: "the text begins with a byte order mark", fix: "leave it out (RFC 8259 section 8.1)"}
	}
	return fault{code: classify.CodeNotJSON, rule: RuleSyntax,
		message: "the text is not JSON", fix: "send valid JSON (RFC 8259)"}
}

// isInvalidUTF8 reports whether text begins with a byte that is not UTF-8.
func isInvalidUTF8(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return r == utf8.RuneError && n == 1
}

// isLoneSurrogate reports whether text begins with an escaped surrogate, which is an error only if its other half is
// missing.
func isLoneSurrogate(text []byte) bool {
	return len(text) > 3 && text[0] == '\\' && text[1] == 'u' && text[2]|0x20 == 'd' && text[3] >= '8'
}

// decimal writes a count into a message.
func decimal(n int) string { return strconv.Itoa(n) }
