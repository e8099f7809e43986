package registry

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Error says why the registry gave no schema.
type Error struct {
	// Code is registry_unavailable, which passes, or schema_unknown, which is the
	// record's own fault.
	Code classify.Code

	// Message says what was asked and what came of it.
	Message string

	// Err is the cause.
	Err error

	unknown bool // the id is not known; it may be later
}

// Error returns one line.
func (e *Error) Error() string { return "schema registry: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureCode returns the code; with [Error.FailureStage] it makes an Error a
// classify.Coded.
func (e *Error) FailureCode() classify.Code { return e.Code }

// FailureStage returns decode.
func (e *Error) FailureStage() classify.Stage { return classify.StageDecode }

func unknownID(id int) *Error {
	return &Error{
		Code: classify.CodeSchemaUnknown, unknown: true,
		Message: "there is no schema " + strconv.Itoa(id) + "; register it, or point schema_registry.url at the registry that the producer uses",
	}
}

// failed sorts the errors of the client. What was asked has no credentials in
// it; neither have the client's errors.
func failed(err error, asked string, id int) error {
	var response *sr.ResponseError
	if !errors.As(err, &response) { // no answer at all, or none that could be read
		return &Error{Code: classify.CodeRegistryUnavailable, Message: asked + ": " + err.Error(), Err: err}
	}
	answered := asked + ": " + strconv.Itoa(response.StatusCode) + " " + cut(response.Message)
	switch response.StatusCode {
	case http.StatusNotFound:
		if id != 0 {
			e := unknownID(id)
			e.Err = err
			return e
		}
		return &Error{Code: classify.CodeSchemaUnknown, Message: answered, Err: err}
	case http.StatusConflict, http.StatusUnprocessableEntity:
		return &Error{Code: classify.CodeSchemaUnknown, Message: answered, Err: err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &classify.HTTPError{Status: response.StatusCode, Method: response.Method, URL: "the schema registry", Body: cut(response.Message)}
	}
	return &Error{Code: classify.CodeRegistryUnavailable, Message: answered, Err: err}
}

// cut shortens what a server says.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200])
	}
	return text
}
