package transform

import (
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// Error is the fault of one record, in words for the person who has to correct it. Every error that a [Transformer]
// returns for a record is an Error. It is permanent and concerns this record alone.
type Error struct {
	// Code is the failure's code, a bounded metric label.
	Code classify.Code

	// Stage is where the fault was found: decode, gate, transform, validate, encode.
	Stage classify.Stage

	// Path is the place in the record: an RFC 6901 JSON pointer such as "/geometry/coordinates/0/3". Empty means the
	// whole record.
	Path string

	// Value is the offending value as the record has it, cut to 80 characters. It is payload: [Error.Error] omits it,
	// and logs should too.
	Value string

	// Rule is the broken rule: a word of [Rules], or the place of a mapping rule in the config, such as "fields[2]".
	Rule string

	// RuleLine is the line of the mapping rule in the pipeline file if [Config.Lines] has it, otherwise 0.
	RuleLine int

	// Message describes the fault, Fix what would make the record pass.
	Message, Fix string

	// Feature is the source ID of the feature if it was read before the fault (S1-5).
	Feature string

	// Line and Column (characters, both from 1) and Offset (bytes, from 0) are the place in the record's text. Line is 0
	// if the fault has no place in the text, for example after enrichment.
	Line, Column int
	Offset       int64

	// Err is the cause, when there is one: a [*Violation], a syntax error.
	Err error
}

// Error returns one line: message, place, feature and fix, without payload.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	if e.Path != "" {
		b.WriteString(" at " + e.Path)
	}
	if e.Line > 0 {
		b.WriteString(" (line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ")")
	}
	if e.Feature != "" {
		b.WriteString(", feature " + strconv.Quote(shorten.Text(e.Feature)))
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureCode returns the code. With [Error.FailureStage] it makes an Error a classify.Coded.
func (e *Error) FailureCode() classify.Code { return e.Code }

// FailureStage returns the stage.
func (e *Error) FailureStage() classify.Stage { return e.Stage }
