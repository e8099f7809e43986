package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// FuzzOf builds trees of errors: each byte wraps or adds one. Whatever it is, the failure is coherent, and wrapping it
// once more changes nothing.
func FuzzOf(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 503, int64(5))
	f.Add([]byte{4, 12, 9, 13, 7}, 404, int64(-1))
	f.Add([]byte{10, 11, 5, 6, 8}, 0, int64(0))
	f.Fuzz(func(t *testing.T, recipe []byte, code int, after int64) {
		err := errors.New("root")
		for _, b := range recipe[:min(len(recipe), 32)] {
			err = grow(err, b, code, time.Duration(after))
		}
		got := classify.New(classify.Options{RetryableStatus: []int{code}}).Of(err)
		coherent(t, got)
		again := classify.New(classify.Options{RetryableStatus: []int{code}}).Of(fmt.Errorf("again: %w", err))
		expect.That(t, got.Class == again.Class && got.Code == again.Code && got.Stage == again.Stage && got.RetryAfter == again.RetryAfter,
			"wrapped, %v became %+v instead of %+v", err, again, got)
	})
}

func grow(err error, b byte, code int, after time.Duration) error {
	switch b % 14 {
	case 0:
		return fmt.Errorf("wrapped: %w", err)
	case 1:
		return errors.Join(err, &classify.HTTPError{Status: code, RetryAfter: after})
	case 2:
		return classify.WithStage(classify.Stages()[int(b)%len(classify.Stages())], err)
	case 3:
		return classify.WithClass(classify.Classes()[int(b)%len(classify.Classes())], err)
	case 4:
		return coded{code: classify.Codes()[int(b)%len(classify.Codes())], cause: err}
	case 5:
		return coded{code: classify.Code(fmt.Sprint(b)), stage: "x", cause: err}
	case 6:
		return &net.OpError{Op: "read", Err: err}
	case 7:
		return errors.Join(err, context.Canceled)
	case 8:
		return errors.Join(io.ErrUnexpectedEOF, err)
	case 9:
		return errors.Join(syscall.Errno(b), err)
	case 10:
		return &classify.PanicError{Value: err}
	case 11:
		return errors.Join(sqlError("40P01"), err)
	case 12:
		return errors.Join(nil, slow{}, err)
	default:
		return &net.DNSError{UnwrapErr: err, Name: "h"}
	}
}

func answer(code int, body, after string) *http.Response {
	request, _ := http.NewRequest(http.MethodGet, "http://user:word@h:8088/place/7?key=secret#part", nil)
	return &http.Response{
		StatusCode: code, Request: request, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body))),
	}
}
