package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// exchange is the last request that a question to the registry took, and its answer: the client's errors have
// neither time nor headers, and the record of a failure wants both (S2-5).
type exchange struct {
	mu       sync.Mutex
	request  classify.Request
	response *classify.Response // nil while there is no answer
}

type exchangeKey struct{}

// recorded gives a context under which requests are noted.
func recorded(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// maxAnswer bounds an answer in bytes after decompression, and the texts that a schema refers to together: the client reads all
// of it. Registries keep schemas in Kafka, whose records have 1 MiB unless somebody raised that.
const maxAnswer = 4 << 20

// maxAnswerHeader bounds the headers of an answer.
const maxAnswerHeader = 64 << 10

// bounded ends a body that is longer than an answer of a registry is. The transport has decompressed it.
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

// errOversize is an answer that no registry gives: a page of something else, or a small text that decompresses to a large one.
var errOversize = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// recorder is the transport that notes them, and bounds the answers.
type recorder struct{ next http.RoundTripper }

// RoundTrip sends a request and notes it.
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
		said := classify.NewResponse(answer)
		x.response = &said
	}
}

// mark gives a failure what was asked and answered. A nil error stays nil.
func (x *exchange) mark(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.request == (classify.Request{}) {
		return err
	}
	if x.response != nil {
		said := *x.response
		if refused, ok := errors.AsType[*sr.ResponseError](err); ok {
			said.Body = strings.ToValidUTF8(string(refused.Raw[:min(len(refused.Raw), classify.MaxBody)]), "")
		} else if refused, ok := errors.AsType[*classify.HTTPError](err); ok {
			said.Body = refused.Body
		}
		err = classify.WithResponse(said, err)
	}
	return classify.WithRequest(x.request, err)
}
