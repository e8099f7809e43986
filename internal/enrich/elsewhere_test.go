package enrich

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// decoding is a service that decodes a path as often as it says before it resolves dot segments, and takes a backslash for a
// slash and a semicolon for the end of a segment, as real ones do.
func decoding(rounds int, reached *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.EscapedPath()
		for range rounds {
			if decoded, err := url.PathUnescape(at); err == nil {
				at = decoded
			}
		}
		var segments []string
		for segment := range strings.SplitSeq(strings.ReplaceAll(at, `\`, "/"), "/") {
			name, _, _ := strings.Cut(segment, ";")
			segments = append(segments, name)
		}
		*reached = path.Clean("/" + strings.Join(segments, "/"))
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	}
}

func valued(value string) *transform.Feature {
	f := &transform.Feature{}
	f.SetProperty("v", transform.StringValue(value))
	return f
}

// S1-9: no value of a feature leads a request to another path, whatever the service decodes.
func TestApply_S1_9_aValueStaysBelowItsPlace(t *testing.T) {
	for rounds := range 4 {
		var reached string
		server := serve(t, decoding(rounds, &reached))
		steps := make1(t, stepOf(server.URL+"/items/{properties.v}", nil))
		for _, value := range []string{
			"x/../../admin", `x\..\..\admin`, "..", "../admin", "..;/admin", "..;x=y/admin", "%2e%2e/admin", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "..\x00/admin",
		} {
			reached = ""
			err := steps.Apply(t.Context(), valued(value), "")
			if err == nil || reached != "" || classify.Of(err).Code != classify.CodeCoercionFailed || classify.Of(err).Class != classify.Row {
				t.Errorf("%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
			}
		}
		for _, value := range []string{"4711", "way/123", "a..b", "100 %", "urn:x;y", "a…b"} {
			reached = ""
			if err := steps.Apply(t.Context(), valued(value), ""); err != nil || !strings.HasPrefix(reached, "/items/") {
				t.Errorf("%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
			}
		}
	}
}

// S1-9: in a query dots and slashes are data, and lines are part of a text. What no text has is refused.
func TestApply_S1_9_aQueryTakesTextOnly(t *testing.T) {
	var got string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Query().Get("q")
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	steps := make1(t, stepOf(server.URL+"/find?q={properties.v}", nil))
	for _, value := range []string{"../../x", "a/b", `a\b`, "Main St 1\n89073 Ulm", "a;b&c=d#e", "%2e%2e"} {
		if err := steps.Apply(t.Context(), valued(value), ""); err != nil || got != value {
			t.Errorf("%q arrived as %q: %v", value, got, err)
		}
	}
	for _, value := range []string{"a\x00b", "a\x1bb", "a\u0085b", "a\x7fb"} {
		if err := steps.Apply(t.Context(), valued(value), ""); err == nil || classify.Of(err).Code != classify.CodeCoercionFailed {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// S1-9: an id of a WFS request is one id, and a value of a filter is the value that it is.
func TestWFS_S1_9_aValueIsOneValue(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	byID := wfsStep(server.URL, nil)
	byID.HTTP.WFS.ID = "parcels.{properties.v}"
	for _, c := range []struct {
		step  config.EnrichStep
		value string
	}{
		{byID, "1,parcels.2"}, {byID, "1)(parcels.2"}, {byID, "1\n2"},
		{wfsStep(server.URL, map[string]string{"name": "{properties.v}"}), "a\x00b"}, {wfsStep(server.URL, map[string]string{"name": "{properties.v}"}), "a\uFFFE"},
	} {
		err := make1(t, c.step).Apply(t.Context(), valued(c.value), "")
		if err == nil || classify.Of(err).Code != classify.CodeCoercionFailed {
			t.Errorf("%q: %v", c.value, err)
		}
	}
}
