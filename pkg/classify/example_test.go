package classify_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// A service asks to wait. The failure has the delay.
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

// The request and the answer travel with the error.
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
