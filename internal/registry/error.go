package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Error is the reason why the registry returned no schema, or accepts none.
type Error struct {
	// Code is registry_unavailable or schema_unknown, which are transient, or schema_mismatch, a fault of the pipeline.
	Code classify.Code

	// Message names the question and its result.
	Message string

	// Err is the cause.
	Err error

	stage    classify.Stage
	unknown  bool // the id is unknown now; it may be known later
	oversize bool // the answer is too large
}

// Error returns one line.
func (e *Error) Error() string { return "schema registry: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FailureCode returns the code, for classify.Coded.
func (e *Error) FailureCode() classify.Code { return e.Code }

// FailureStage returns decode, or encode for a schema of outputs.
func (e *Error) FailureStage() classify.Stage { return e.stage }

func unknownID(id int) *Error {
	return &Error{
		Code: classify.CodeSchemaUnknown, stage: classify.StageDecode, unknown: true,
		Message: "there is no schema " + strconv.Itoa(id) + "; register it, or point schema_registry.url at the registry that the producer uses",
	}
}

// failed converts the client's error about the schema of a record; id is 0 for a schema that it refers to. Neither asked nor the client's
// errors contain credentials.
func failed(err error, request string, id int) error {
	response, answered, other := sortOut(err, request, classify.StageDecode)
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

// refused converts the client's error about a schema of outputs. A registry that does not have it, or does not accept
// it, disagrees with the pipeline, so the failure concerns no single record.
func refused(err error, request string) error {
	response, answered, other := sortOut(err, request, classify.StageEncode)
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

// noAnswer returns the error for an answer that no schema registry sends, such as one of a proxy without its
// registry. It is transient and concerns no single record. A wrong address pauses the pipeline, and the message says
// why.
func noAnswer(message string, stage classify.Stage, err error) *Error {
	return &Error{
		Code: classify.CodeRegistryUnavailable, stage: stage, Err: err,
		Message: message + "; that is not the answer of a schema registry: check schema_registry.url, and the proxies in front of the registry",
	}
}

// oversized returns the error for an answer beyond the bound.
func oversized(request string, stage classify.Stage, err error) *Error {
	return &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: request + ": " + errOversize.Error(), Err: err, oversize: true}
}

// sortOut converts a failure by the taxonomy, whatever the request. These are transient: no answer, 408, 429, 5xx,
// and a 404 without the error_code of a registry. A certificate that is not trusted, a refused login and every other
// 4xx are permanent. response is nil if there was no answer; answered is its text.
func sortOut(err error, request string, stage classify.Stage) (response *sr.ResponseError, answered string, other error) {
	if errors.Is(err, errOversize) {
		return nil, "", oversized(request, stage, err)
	}
	if !errors.As(err, &response) { // no answer, or an unreadable one
		if f := classify.Of(err); f.Code != classify.CodeUnknown && !f.Transient() {
			return nil, "", classify.WithStage(stage, fmt.Errorf("schema registry: %s: %w", request, err))
		}
		return nil, "", &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: request + ": " + err.Error(), Err: err}
	}
	answered = request + ": " + strconv.Itoa(response.StatusCode) + " " + cut(response.Message)
	if response.StatusCode == http.StatusNotFound && response.ErrorCode == 0 {
		return nil, "", noAnswer(answered, stage, err)
	}
	if status := response.StatusCode; status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests {
		refused := &classify.HTTPError{Status: status, Method: response.Method, URL: "the schema registry", Body: cut(response.Message)}
		return response, answered, classify.WithStage(stage, refused)
	}
	return response, answered, &Error{Code: classify.CodeRegistryUnavailable, stage: stage, Message: answered, Err: err}
}

// cut shortens the text of a server.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200])
	}
	return text
}

// dependency is the name by which records are deferred while the registry does not answer.
const dependency = "schema registry"

// newGuard returns the breaker of the registry, so that records spend no attempts while it does not answer
// (docs/decisions/0006). It opens after a number of consecutive failures. Records whose schema is cached are not
// stopped.
func newGuard(c config.RegistryOutage, log *slog.Logger) *breaker.Guard {
	rule := config.Breaker{Failures: c.Failures, Among: c.Failures, Window: config.Duration(24 * time.Hour), Cooldown: c.Pause, Successes: 1}
	return breaker.NewGuard(dependency, &rule, log.With("dependency", dependency))
}

// guarded sends a request to the registry if the breaker allows it. An answer beyond the limit defers its record the
// first time: the registry is the cause, and further attempts of the record do not help.
func (c *Client) guarded(ctx context.Context, ask func(context.Context) error) error {
	pass, err := c.guard.Enter()
	if err != nil {
		return err
	}
	recorded, request := recorded(ctx)
	err = request.mark(ask(recorded))
	end := breaker.Success // the registry answered
	failure, is := errors.AsType[*Error](err)
	if is && failure.Code == classify.CodeRegistryUnavailable {
		end = breaker.Failure
	}
	err = c.guard.Leave(ctx, pass, end, err)
	if _, deferred := errors.AsType[*retrytopics.UnavailableError](err); is && failure.oversize && !deferred {
		return c.guard.Defer(c.rules.Outage.Pause.Std(), err)
	}
	return err
}

// exchange is the last request of a question to the registry, and its answer. The client's errors have neither time nor headers, and a
// failure record needs both (S2-5).
type exchange struct {
	mu       sync.Mutex
	request  classify.Request
	response *classify.Response // nil while there is no answer
}

type exchangeKey struct{}

// recorded returns a context under which requests are recorded.
func recorded(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// maxAnswer bounds a decompressed answer, and all texts to which a schema refers, in bytes: the client reads all of
// them. Registries store schemas in Kafka, whose records have at most 1 MiB by default.
const maxAnswer = 4 << 20

// maxAnswerHeader bounds the headers of an answer.
const maxAnswerHeader = 64 << 10

// bounded is a decompressed body that fails beyond the bound.
type bounded struct {
	io.ReadCloser
	left int
}

// Read reads, and fails at the bound.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errOversize
	}
	return n, err //nolint:wrapcheck // an io.Reader
}

// errOversize means that the answer is too large: another page, or a small text that decompresses to a large one.
var errOversize = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// recorder is the transport that records requests and bounds answers.
type recorder struct{ next http.RoundTripper }

// RoundTrip sends a request and records it.
func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	answer, err := r.next.RoundTrip(request)
	if x, ok := request.Context().Value(exchangeKey{}).(*exchange); ok {
		x.note(request, answer, time.Since(began))
	}
	if answer != nil {
		answer.Body = &bounded{answer.Body, maxAnswer}
	}
	return answer, err //nolint:wrapcheck // the client's business
}

func (x *exchange) note(request *http.Request, answer *http.Response, took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.request = classify.Request{
		Provider: "schema registry", Method: request.Method, URL: classify.PublicURL(request.URL), TookMS: classify.Milliseconds(took),
	}
	x.response = nil
	if answer != nil {
		exchanged := classify.NewResponse(answer)
		x.response = &exchanged
	}
}

// mark adds request and answer to a failure. A nil error stays nil.
func (x *exchange) mark(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.request == (classify.Request{}) {
		return err
	}
	if x.response != nil {
		exchanged := *x.response
		if refused, ok := errors.AsType[*sr.ResponseError](err); ok {
			exchanged.Body = strings.ToValidUTF8(string(refused.Raw[:min(len(refused.Raw), classify.MaxBody)]), "")
		} else if refused, ok := errors.AsType[*classify.HTTPError](err); ok {
			exchanged.Body = refused.Body
		}
		err = classify.WithResponse(exchanged, err)
	}
	return classify.WithRequest(x.request, err)
}
