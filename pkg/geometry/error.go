package geometry

import (
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Rule is what a geometry broke, more precisely than its code. The list is closed.
type Rule string

// The rules.
const (
	RuleTextEncoding Rule = "text_encoding"    // hexadecimal or base64
	RuleTruncated    Rule = "truncated"        // the bytes end too early
	RuleTrailing     Rule = "trailing_data"    // something follows the geometry
	RuleByteOrder    Rule = "byte_order"       // neither 0 nor 1
	RuleTypeCode     Rule = "type_code"        // not a type, or not the one required here
	RuleDialect      Rule = "dialect"          // something that only the other dialect has
	RuleDimensions   Rule = "dimensions"       // ordinates that do not agree with the header
	RuleCount        Rule = "count"            // more elements than the bytes can hold
	RuleSRID         Rule = "srid"             // out of range, or several that differ
	RuleSyntax       Rule = "syntax"           // the text breaks the grammar
	RuleNotFinite    Rule = "not_finite"       // an infinity, or a NaN that does not mean empty
	RuleLineLength   Rule = "line_length"      // RFC 7946 section 3.1.4: two positions
	RuleRingLength   Rule = "ring_length"      // RFC 7946 section 3.1.6: four positions
	RuleRingClosed   Rule = "ring_closed"      // RFC 7946 section 3.1.6: first and last are the same
	RuleDepth        Rule = "max_depth"        // Limits.MaxDepth
	RulePositions    Rule = "max_positions"    // Limits.MaxPositions
	RuleParts        Rule = "max_parts"        // Limits.MaxParts
	RuleUnsupported  Rule = "unsupported_type" // a type that GeoJSON cannot represent
	RuleMeasures     Rule = "measures"         // M ordinates, where Limits.DropMeasures is not set
	RuleHeights      Rule = "heights"          // fewer or more heights than positions
)

// Rules lists every [Rule].
func Rules() []Rule {
	return []Rule{
		RuleTextEncoding, RuleTruncated, RuleTrailing, RuleByteOrder, RuleTypeCode, RuleDialect, RuleDimensions, RuleCount, RuleSRID,
		RuleSyntax, RuleNotFinite, RuleLineLength, RuleRingLength, RuleRingClosed, RuleDepth, RulePositions, RuleParts, RuleUnsupported,
		RuleMeasures, RuleHeights,
	}
}

// Error is why a geometry cannot be read or written.
type Error struct {
	// Code is the failure's code, a bounded metric label.
	Code classify.Code

	// Stage is decode or encode.
	Stage classify.Stage

	// Format is the format as the caller named it.
	Format Format

	// Rule is what was broken.
	Rule Rule

	// Offset is the place in bytes, from 0. For hexadecimal and base64 it is the place in the decoded bytes.
	Offset int

	// Value is the offending part, cut to 80 characters. It is payload: [Error.Error] omits it.
	Value string

	// Message tells what is wrong, Fix what would make it pass.
	Message, Fix string

	// Err is the cause, when there is one.
	Err error
}

// Error returns one line, without payload.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Format) + ": " + e.Message)
	if e.Offset > 0 {
		b.WriteString(" at byte " + strconv.Itoa(e.Offset))
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureCode returns the code; with [Error.FailureStage] it makes an Error a
// classify.Coded.
func (e *Error) FailureCode() classify.Code { return e.Code }

// FailureStage returns the stage.
func (e *Error) FailureStage() classify.Stage {
	if e.Stage == "" {
		return classify.StageDecode
	}
	return e.Stage
}

// encodeFault returns an error of writing.
func encodeFault(format Format, rule Rule, message string) *Error {
	return &Error{Code: classify.CodeGeometryStructure, Stage: classify.StageEncode, Format: format, Rule: rule, Message: message,
		Fix: "give one of the seven types of RFC 7946, with finite ordinates and one height for each position"}
}
