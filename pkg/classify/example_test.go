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

// What was asked and answered is read off the error where a failure is written down.
func ExampleRequestOf() {
	err := classify.WithRequest(
		classify.Request{Step: "place", Provider: "main", TookMS: 31},
		&classify.HTTPError{Status: 503, Method: "GET", URL: "https://places.example/place", RequestID: "7f3a"},
	)
	fmt.Println(classify.RequestOf(err).Text())
	fmt.Println(classify.ResponseOf(err).Text())
	fmt.Println(classify.RequestOf(err))
	fmt.Println(classify.ResponseOf(err))
	// Output:
	// {"step":"place","provider":"main","method":"GET","url":"https://places.example/place","took_ms":31}
	// {"status":503,"request_id":"7f3a"}
	// GET https://places.example/place (step place, provider main, 31 ms)
	// HTTP 503, request id 7f3a
}
