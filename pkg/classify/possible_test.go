package classify_test

import (
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S4-10: what a failure is counted by is known before it happens, whatever the lists of statuses and the rules say.
func TestPossible_S4_10_hasWhatFailuresHave(t *testing.T) {
	rules := []classify.Rule{
		{Status: 418, Class: classify.Permanent, Alert: classify.AlertP1},
		{Status: 409, Class: classify.RetryBackoff, Category: classify.CategoryConflict, Alert: classify.AlertP2},
		{SQLState: "23", Class: classify.Row, Alert: classify.AlertP2},
		{Kafka: 10, Class: classify.Permanent, Alert: classify.AlertP4},
		{Code: classify.CodeTLS, Class: classify.RetryBackoff},
	}
	options := classify.Options{RetryableStatus: []int{404, 500, 503}, TerminalStatus: []int{400}, Rules: rules}
	var errs []error
	for status := 300; status < 600; status++ {
		errs = append(errs, &classify.HTTPError{Status: status})
	}
	for _, state := range []string{"23505", "22003", "40P01", "57014", "99999"} {
		errs = append(errs, sqlError(state))
	}
	for _, code := range classify.Codes() {
		errs = append(errs, coded{code: code})
	}
	possible, c := options.Possible(), classify.New(options)
	for _, err := range errs {
		f := c.Of(err)
		if !slices.ContainsFunc(possible, func(e classify.Entry) bool {
			return e.Code == f.Code && e.Category == f.Category && e.Alert == f.Alert
		}) {
			t.Errorf("%v: %s, %s, %s is not foreseen", err, f.Code, f.Category, f.Alert)
		}
	}
	n, plain := len(possible), len(classify.Taxonomy())
	expect.That(t, n <= plain+20, "%d are foreseen, of a table of %d: each is a time series", n, plain)
	if got := (classify.Options{}).Possible(); !slices.Equal(got, classify.Taxonomy()) {
		t.Errorf("without options it is the taxonomy, got %d of %d", len(got), len(classify.Taxonomy()))
	}
}
