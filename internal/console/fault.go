package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
)

// maxAnswer is the largest answer in bytes, because it is held in memory.
const maxAnswer = 16 << 20

// ErrorAnswer is the answer to a request that failed.
type ErrorAnswer struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody describes why a request failed.
type ErrorBody struct {
	Code    string   `json:"code"` // see [cli.Exit.Word]; refusals of HTTP itself have words of their own
	Message string   `json:"message"`
	Exit    cli.Exit `json:"exit"` // exit code of a command that fails for this reason
}

// fault is an error of the console itself.
type fault struct {
	exit   cli.Exit
	status int    // 0 uses the status of the exit code
	code   string // empty uses the word of the exit code
	text   string
}

func (f *fault) Error() string { return f.text }

func usage(format string, args ...any) error {
	return &fault{exit: cli.ExitUsage, text: fmt.Errorf(format, args...).Error()}
}

// errorOf returns the body and the HTTP status for an error.
func (c *Console) errorOf(err error) (ErrorBody, int) {
	if own, ok := errors.AsType[*fault](err); ok {
		return ErrorBody{Code: cmp.Or(own.code, own.exit.Word()), Message: own.text, Exit: own.exit}, cmp.Or(own.status, own.exit.HTTPStatus())
	}
	if d, ok := errors.AsType[*access.Denied](err); ok {
		special := map[access.Reason]int{access.NotSignedIn: http.StatusUnauthorized, access.TooMany: http.StatusTooManyRequests}
		return ErrorBody{Code: string(d.Reason), Message: d.Error(), Exit: cli.ExitRefused}, cmp.Or(special[d.Reason], http.StatusForbidden)
	}
	exit, said := c.explain(err)
	message := said.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		exit, message = cli.ExitRuntime, fmt.Sprintf("no answer within %s: choose fewer dead letters, with since or group, or try again; %v", answerTimeout, err)
	}
	return ErrorBody{Code: exit.Word(), Message: message, Exit: exit}, exit.HTTPStatus()
}

// refuse answers with an error in JSON.
func (c *Console) refuse(w http.ResponseWriter, err error) {
	body, status := c.errorOf(err)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	_ = sendJSON(w, status, ErrorAnswer{body}) // encoding this answer cannot fail
}

// sendJSON encodes an answer and sends it.
func sendJSON(w http.ResponseWriter, status int, answer any) error {
	text, err := cli.EncodeJSON(answer, "")
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	if len(text) > maxAnswer {
		return usage("the answer has %d bytes, more than %d: choose less, with limit, or read the bytes of one dead letter at /api/dead-letters/{id}/value", len(text), maxAnswer)
	}
	send(w, status, "application/json", append([]byte(text), '\n'))
	return nil
}

func send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}
