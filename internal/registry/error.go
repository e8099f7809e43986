package registry

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Error says why the registry gave no schema, or takes none.
type Error struct {
	// Code is registry_unavailable or schema_unknown, which are transient, or
	// schema_mismatch, which is the pipeline's own fault.
	Code classify.Code

	// Message says what was asked and what came of it.
	Message string

	// Err is the cause.
	Err error

	stage    classify.Stage
	unknown  bool // the id is not known; it may be later
	oversize bool // the answer is none that a registry gives, however often it is asked
}

// Error returns one line.
func (e *Error) Error() string { return "schema registry: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureCode returns the code; with [Error.FailureStage] it makes an Error a
// classify.Coded.
func (e *Error) FailureCode() classify.Code { return e.Code }

// FailureStage returns decode, or encode where a schema was to be written with.
func (e *Error) FailureStage() classify.Stage { return e.stage }

func unknownID(id int) *Error {
	return &Error{
		Code: classify.CodeSchemaUnknown, stage: classify.StageDecode, unknown: true,
		Message: "there is no schema " + strconv.Itoa(id) + "; register it, or point schema_registry.url at the registry that the producer uses",
	}
}

// failed sorts the errors of the client when the schema of a record was asked
// for; id is 0 when it was one that the schema refers to. What was asked has no
// credentials in it; neither have the client's errors.
func failed(err error, asked string, id int) error {
	response, answered, other := sortOut(err, asked, classify.StageDecode)
	if response == nil || response.StatusCode != http.StatusNotFound {
		return other
	}
	if id != 0 {
		e := unknownID(id)
		e.Err = err
		return e
	}
	return &Error{Code: classify.CodeSchemaUnknown, stage: classify.StageDecode, Message: answered, Err: err}
}

// refused sorts the errors of the client when a schema was registered or looked
// up to write with it. A registry that does not have it, or does not take it,
// disagrees with the pipeline, and no record is to blame.
func refused(err error, asked string) error {
	response, answered, other := sortOut(err, asked, classify.StageEncode)
	if response == nil {
		return other
	}
	switch response.StatusCode {
	case http.StatusNotFound:
		answered += "; register the schema, or set output.avro.register: true"
	case http.StatusConflict, http.StatusUnprocessableEntity:
		answered += "; set output.avro.subject to a subject of its own, or fix its compatibility"
	default:
		return other
	}
	return &Error{Code: classify.CodeSchemaMismatch, stage: classify.StageEncode, Message: answered, Err: err}
}

// noAnswer says that who answered is no schema registry, such as a proxy that stands before one and has lost it. A record is not
// to blame for that, and it passes; an address that is wrong holds the pipeline, and says why.
func noAnswer(message string, stage classify.Stage, err error) *Error {
	return &Error{
		Code: classify.CodeRegistryUnavailable, stage: stage, Err: err,
		Message: message + "; that is not what a schema registry says: check schema_registry.url, and what stands before the registry",
	}
}

// oversized is an answer beyond the bound.
func oversized(asked string, stage classify.Stage, err error) *Error {
	return &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: asked + ": " + errOversize.Error(), Err: err, oversize: true}
}

// sortOut tells what a failure is whatever was asked, as the taxonomy has it: no answer, or one that says that the registry is
// not well (408, 429, 5xx), or a 404 without the error_code that a registry gives, passes; a certificate that is not trusted, a refused login and every other 4xx do not. response is nil
// where there was no answer; answered is what it says.
func sortOut(err error, asked string, stage classify.Stage) (response *sr.ResponseError, answered string, other error) {
	if errors.Is(err, errOversize) {
		return nil, "", oversized(asked, stage, err)
	}
	if !errors.As(err, &response) { // no answer at all, or none that could be read
		if f := classify.Of(err); f.Code != classify.CodeUnknown && !f.Transient() {
			return nil, "", classify.WithStage(stage, fmt.Errorf("schema registry: %s: %w", asked, err))
		}
		return nil, "", &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: asked + ": " + err.Error(), Err: err}
	}
	answered = asked + ": " + strconv.Itoa(response.StatusCode) + " " + cut(response.Message)
	if response.StatusCode == http.StatusNotFound && response.ErrorCode == 0 {
		return nil, "", noAnswer(answered, stage, err)
	}
	if status := response.StatusCode; status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests {
		refused := &classify.HTTPError{Status: status, Method: response.Method, URL: "the schema registry", Body: cut(response.Message)}
		return response, answered, classify.WithStage(stage, refused)
	}
	return response, answered, &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: answered, Err: err}
}

// cut shortens what a server says.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200])
	}
	return text
}
