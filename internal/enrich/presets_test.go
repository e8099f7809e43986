package enrich

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func number(n int) transform.Value { return transform.IntegerValue(int64(n)) }

const (
	oneParcel   = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"p.1","geometry":null,"properties":{"name":"Ulm"}}]}`
	noParcel    = `{"type":"FeatureCollection","features":[]}`
	twoParcels  = `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{}},{"type":"Feature","properties":{}}]}`
	sceneAnswer = `{"type":"Feature","stac_version":"1.0.0","id":"S2A","properties":{"name":"Ulm"}}`
)

func report(code string) string {
	return `<?xml version="1.0"?><ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows/1.1" version="2.0.0">` +
		`<ows:Exception exceptionCode="` + code + `" locator="x"><ows:ExceptionText>sorry</ows:ExceptionText></ows:Exception></ows:ExceptionReport>`
}

// wfsStep looks up a parcel by two properties.
func wfsStep(url string, where map[string]string) config.EnrichStep {
	return stepOf(url, func(s *config.EnrichStep) {
		s.Set = map[string]string{"place_name": "/properties/name"}
		s.HTTP.WFS = &config.WFSLookup{TypeName: "cad:parcels", Where: where, Properties: []string{"name", "area"}, OutputFormat: "application/json"}
	})
}

// The request conforms to OGC 09-025r2, and no value can break out of the filter.
func TestWFS_GetFeature(t *testing.T) {
	var got url.Values
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Query()
		_, _ = io.WriteString(w, oneParcel)
	})
	step := wfsStep(server.URL+"/ows?map=a", map[string]string{"PARZ_ID": "{properties.parcel_id}</fes:Literal>", "no": "{id}"})
	f := parcel()
	must.Do(t, mustSteps(t, step).Apply(t.Context(), f, ""))
	if name, _ := f.Property("place_name"); name.Text() != "Ulm" {
		t.Errorf("place_name is %s", name.Text())
	}
	for name, want := range map[string]string{
		"map": "a", "service": "WFS", "version": "2.0.0", "request": "GetFeature", "typeNames": "cad:parcels", "count": "2",
		"outputFormat": "application/json", "propertyName": "name,area",
	} {
		expect.That(t, got.Get(name) == want, "%s is %q, want %q", name, got.Get(name), want)
	}
	var filter struct {
		XMLName xml.Name `xml:"http://www.opengis.net/fes/2.0 Filter"`
		Equal   []struct {
			Reference string `xml:"ValueReference"`
			Literal   string
		} `xml:"And>PropertyIsEqualTo"`
	}
	must.Do(t, xml.Unmarshal([]byte(got.Get("filter")), &filter))
	e := filter.Equal
	expect.That(t, len(e) == 2 && e[0].Reference == "PARZ_ID" && e[0].Literal == "A 7/b&c=d?#ü%</fes:Literal>" && e[1].Literal == "4711", "filter %s", got.Get("filter"))
}

// OGC 09-025r2, table D.2, assigns statuses to exceptions. The exception report takes precedence over the status.
func TestWFS_answers(t *testing.T) {
	latin := strings.Replace(report("InvalidParameterValue"), `version="1.0"`, `version="1.0" encoding="ISO-8859-1"`, 1)
	latin = strings.Replace(latin, "sorry", "Gemarkung M\xfcnster", 1)
	for _, c := range []struct {
		name   string
		status int
		answer string
		class  classify.Class
		code   classify.Code
	}{
		{"nothing_matches", 200, noParcel, classify.Row, classify.CodeForeignKeyUnresolved},
		{"two_match", 200, twoParcels, classify.Row, classify.CodeForeignKeyUnresolved},
		{"no_collection", 200, `{"name":"Ulm"}`, classify.RetryBackoff, classify.CodeBadResponse},
		{"no_features", 200, `{"type":"FeatureCollection"}`, classify.RetryBackoff, classify.CodeBadResponse},
		{"odd_features", 200, `{"type":"FeatureCollection","features":[1]}`, classify.RetryBackoff, classify.CodeBadResponse},
		{"page_of_a_proxy", 200, "<html><body>busy</body></html>", classify.RetryBackoff, classify.CodeBadResponse},
		{"half_a_report", 200, report("NotFound")[:90], classify.RetryBackoff, classify.CodeBadResponse},
		{"exception_of_the_request", 200, report("InvalidParameterValue"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"exception_of_the_service", 200, report("OperationProcessingFailed"), classify.RetryBackoff, classify.CodeBadResponse},
		{"exception_not_found", 200, report("NotFound"), classify.Row, classify.CodeForeignKeyUnresolved},
		{"exception_in_latin", 200, latin, classify.Permanent, classify.CodeHTTPBadRequest},
		{"service_403", 403, report("OperationProcessingFailed"), classify.RetryBackoff, classify.CodeBadResponse},
		{"service_500", 500, report("NoApplicableCode"), classify.RetryBackoff, classify.CodeHTTPServerError},
		{"service_400_keeps_the_code_of_the_status", 400, report("NoApplicableCode"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"refused_403_keeps_the_code_of_the_status", 403, report("NoApplicableCode"), classify.Permanent, classify.CodeHTTPForbidden},
		{"request_500", 500, report("InvalidParameterValue"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"request_501", 501, report("OptionNotSupported"), classify.Permanent, classify.CodeHTTPBadRequest},
		{"not_found_404", 404, report("NotFound"), classify.Row, classify.CodeForeignKeyUnresolved},
		{"busy_503", 503, report("NoApplicableCode"), classify.RetryBackoff, classify.CodeHTTPUnavailable},
		{"limited_429", 429, report("NoApplicableCode"), classify.RetryAfter, classify.CodeHTTPTooManyRequests},
		{"no_report_500", 500, "<html>oops</html>", classify.Permanent, classify.CodeHTTPServerError},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			})
			step := wfsStep(server.URL+"/ows?key="+secret, map[string]string{"a": "{id}"})
			err := mustSteps(t, step).Apply(t.Context(), parcel(), "")
			wantFailure(t, err, c.class, c.code, "")
			response := classify.ResponseOf(err)
			expect.That(t, c.status == http.StatusOK || response != nil && response.Status == c.status, "the failure's record has the answer %v", response)
			if c.name != "nothing_matches" && c.name != "not_found_404" {
				return
			}
			f := parcel()
			step.Required = false
			must.Do(t, mustSteps(t, step).Apply(t.Context(), f, ""))
			name, ok := f.Property("place_name")
			expect.That(t, ok && name.IsNull(), "place_name is %s, and nothing is required", name.Text())
		})
	}
}

func TestSTAC_item(t *testing.T) {
	var got string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.EscapedPath()
		_, _ = io.WriteString(w, sceneAnswer)
	})
	step := stepOf(server.URL+"/v1/", func(s *config.EnrichStep) {
		s.Set = map[string]string{"place_name": "/properties/name"}
		s.HTTP.STAC = &config.STACLookup{Collection: "sentinel-2-l2a", Item: "{properties.parcel_id}"}
	})
	must.Do(t, mustSteps(t, step).Apply(t.Context(), parcel(), ""))
	want := "/v1/collections/sentinel-2-l2a/items/A%207%2Fb&c=d%3F%23%C3%BC%25"
	expect.That(t, got == want, "asked for %s, want %s", got, want)
	step.HTTP.URL = serve(t, say(strings.Replace(sceneAnswer, "stac_version", "version", 1))).URL
	err := mustSteps(t, step).Apply(t.Context(), parcel(), "")
	wantFailure(t, err, classify.RetryBackoff, classify.CodeBadResponse, "no STAC item")
}

func TestGeoJSON_answer_is_one_feature(t *testing.T) {
	for answer, want := range map[string]classify.Code{oneParcel: "", sceneAnswer: "", noParcel: classify.CodeForeignKeyUnresolved} {
		step := stepOf(serve(t, say(answer)).URL, func(s *config.EnrichStep) {
			s.Set, s.HTTP.Answer = map[string]string{"n": "/properties/name"}, config.AnswerGeoJSON
		})
		err := mustSteps(t, step).Apply(t.Context(), parcel(), "")
		expect.That(t, (err == nil) == (want == "") && (err == nil || classify.Of(err).Code == want), "%s: %v", answer, err)
	}
}

// decoding is a service that decodes a path several times before it resolves dot segments, and accepts a backslash as a
// slash and a semicolon as the end of a segment, as real services do.
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

// S1-9: no value of a feature directs a request to another path, however the service decodes the path.
func TestApply_S1_9_aValueStaysBelowItsPlace(t *testing.T) {
	for rounds := range 4 {
		var reached string
		server := serve(t, decoding(rounds, &reached))
		steps := mustSteps(t, stepOf(server.URL+"/items/{properties.v}", nil))
		for _, value := range []string{
			"x/../../admin", `x\..\..\admin`, "..", "../admin", "..;/admin", "..;x=y/admin", "%2e%2e/admin", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "..\x00/admin",
		} {
			reached = ""
			err := steps.Apply(t.Context(), valued(value), "")
			expect.That(t, err != nil && reached == "" && classify.Of(err).Code == classify.CodeCoercionFailed && classify.Of(err).Class == classify.Row, "%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
		}
		for _, value := range []string{"4711", "way/123", "a..b", "100 %", "urn:x;y", "a…b"} {
			reached = ""
			err := steps.Apply(t.Context(), valued(value), "")
			expect.That(t, err == nil && strings.HasPrefix(reached, "/items/"), "%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
		}
	}
}

// FuzzTemplate checks that any value stays one segment of the path and one value of the query.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"a", "a/b", "..", ".", "%2e%2e", "a&b=c", "a?b#c", "\x00\r\nHost: evil", "ü 語", "@evil", "//evil"} {
		f.Add(s)
	}
	t := must.Get(parseAddress("http://h:1/a/{properties.v}/b?x={properties.v}&y=1"))(f)
	f.Fuzz(func(tt *testing.T, value string) {
		if !utf8.ValidString(value) {
			tt.Skip("a feature contains valid UTF-8 only")
		}
		feature := &transform.Feature{}
		feature.SetProperty("v", transform.StringValue(value))
		u, err := t.fill(feature)
		if err != nil {
			expect.That(tt, value == "" || template.PathFault("/a/"+url.PathEscape(value)+"/b") != "" || len(value) >= 1000, "%q is refused: %v", value, err)
			return
		}
		segments := strings.Split(u.EscapedPath(), "/")
		must.That(tt, u.Host == "h:1" && u.User == nil && u.Fragment == "" && len(segments) == 4 && segments[3] == "b", "%q: %s", value, u)
		back, err := url.PathUnescape(segments[2])
		expect.That(tt, err == nil && back == value, "in the path %q became %q, %v", value, back, err)
		query, err := url.ParseQuery(u.RawQuery)
		expect.That(tt, err == nil && len(query) == 2 && query.Get("x") == value && query.Get("y") == "1", "in the query %q became %v, %v", value, query, err)
	})
}

func TestPointer_RFC6901_section_5(t *testing.T) {
	document := must.Get(transform.ParseValue([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`)))(t)
	for text, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": "bar", "/foo/1": "baz", "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3", "/g|h": "4",
		`/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8",
		"/foo/2": "none", "/foo/-": "none", "/foo/00": "none", "/foo/+1": "none", "/foo/-1": "none", "/a/b": "none", "/foo/0/x": "none",
	} {
		got, ok := pointer(text).in(document)
		found := got.Text()
		expect.That(t, (!ok || found == want) && (ok || want == "none"), "%s leads to %q, %v; want %s", text, found, ok, want)
	}
}
