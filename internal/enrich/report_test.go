package enrich

import (
	"net/http"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Table D.2 of OGC 09-025r2 gives exceptions statuses of their own; what the report says counts more than they do.
func TestWFS_an_exception_is_read_whatever_its_status(t *testing.T) {
	latin := strings.Replace(report("InvalidParameterValue"), `version="1.0"`, `version="1.0" encoding="ISO-8859-1"`, 1)
	latin = strings.Replace(latin, "sorry", "Gemarkung M\xfcnster", 1)
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  classify.Class
		code   classify.Code
	}{
		{"service_403", 403, report("OperationProcessingFailed"), classify.RetryBackoff, classify.CodeBadResponse},
		{"service_500", 500, report("NoApplicableCode"), classify.RetryBackoff, classify.CodeHTTPServerError},
		{"service_400_says_what_the_status_says", 400, report("NoApplicableCode"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"refused_403_says_what_the_status_says", 403, report("NoApplicableCode"), classify.Permanent, classify.CodeHTTPForbidden},
		{"request_500", 500, report("InvalidParameterValue"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"request_501", 501, report("OptionNotSupported"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"not_found_404", 404, report("NotFound"), classify.Row, classify.CodeForeignKeyUnresolved},
		{"busy_503", 503, report("NoApplicableCode"), classify.RetryBackoff, classify.CodeHTTPUnavailable},
		{"limited_429", 429, report("NoApplicableCode"), classify.RetryAfter, classify.CodeHTTPTooManyRequests},
		{"no_report_500", 500, "<html>oops</html>", classify.Permanent, classify.CodeHTTPServerError},
		{"latin_200", 200, latin, classify.Permanent, classify.CodeHTTPBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			err := make1(t, wfsStep(server.URL+"/ows?key="+secret, map[string]string{"a": "{id}"})).Apply(t.Context(), parcel(), "")
			wantFailure(t, err, c.class, c.code, "/ows")
			if said := classify.ResponseOf(err); said == nil || said.Status != c.status {
				t.Errorf("the failure's record has the answer %v", said)
			}
		})
	}
	t.Run("not_found_and_not_required", func(t *testing.T) {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(report("NotFound")))
		})
		step := wfsStep(server.URL, map[string]string{"a": "{id}"})
		step.Required = false
		if err := make1(t, step).Apply(t.Context(), parcel(), ""); err != nil {
			t.Error(err)
		}
	})
}
