package simulate

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Answer is the answer to a failing request: "http_" and a status from 400 to 599, or one of Breaks.
type Answer string

// The ways in which a request ends without an answer.
const (
	AnswerTimeout Answer = "timeout" // nothing within the step's time limit
	AnswerRefused Answer = "refused" // the connection is refused
	AnswerReset   Answer = "reset"   // the connection breaks in the middle
)

// Breaks lists the ways in which a request ends without an answer.
func Breaks() []Answer { return []Answer{AnswerTimeout, AnswerRefused, AnswerReset} }

const answerFix = "write http_ and a status from 400 to 599, such as http_503, or timeout, refused or reset"

// status returns the HTTP status, or 0.
func (a Answer) status() int {
	digits, ok := strings.CutPrefix(string(a), "http_")
	if n, err := strconv.Atoi(digits); ok && err == nil && 400 <= n && n <= 599 {
		return n
	}
	return 0
}

// problem returns why an answer is invalid, or "".
func (a Answer) problem() string {
	if a == AnswerTimeout || a == AnswerRefused || a == AnswerReset || a.status() > 0 {
		return ""
	}
	return fmt.Sprintf("unknown answer %q", string(a))
}

// err returns the error that a remote step makes of it, for the classifier.
func (a Answer) err(provider string, retryAfter time.Duration) error {
	var err error
	switch a {
	case AnswerTimeout:
		err = &net.OpError{Op: "GET " + provider, Err: context.DeadlineExceeded}
	case AnswerRefused:
		err = &net.OpError{Op: "GET " + provider, Err: syscall.ECONNREFUSED}
	case AnswerReset:
		err = &net.OpError{Op: "GET " + provider, Err: io.ErrUnexpectedEOF}
	default:
		err = &classify.HTTPError{Status: a.status(), RetryAfter: retryAfter, Method: http.MethodGet, URL: provider}
	}
	return classify.WithStage(classify.StageEnrich, fmt.Errorf("enrich step %s: %w", provider, err))
}
