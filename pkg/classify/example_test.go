package classify_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// A service asks for patience; its answer becomes a failure that says how long.
func Example() {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer busy.Close()

	answer, err := busy.Client().Get(busy.URL + "/place?key=secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()

	f := classify.Of(classify.NewHTTPError(answer, time.Now()))
	fmt.Println(f.Class, f.Level, f.Code, f.RetryAfter)
	// Output: retry_after transient http_too_many_requests 2m0s
}

// What the table does not know is permanent, unless its maker says otherwise.
func ExampleWithClass() {
	quota := errors.New("daily quota used up")
	fmt.Println(classify.Of(quota).Class)
	fmt.Println(classify.Of(classify.WithClass(classify.RetryBackoff, quota)).Class)
	// Output:
	// permanent
	// retry_backoff
}

// A user's list of retryable statuses is the whole list.
func ExampleNew() {
	c := classify.New(classify.Options{RetryableStatus: []int{429, 500}})
	for _, status := range []int{429, 500, 503, 404} {
		fmt.Println(status, c.Of(&classify.HTTPError{Status: status}).Class)
	}
	// Output:
	// 429 retry_after
	// 500 retry_backoff
	// 503 permanent
	// 404 row
}
