package enrich

import (
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/urlpath"
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
			expect.That(t, err != nil && reached == "" && classify.Of(err).Code == classify.CodeCoercionFailed && classify.Of(err).Class == classify.Row,
				"%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
		}
		for _, value := range []string{"4711", "way/123", "a..b", "100 %", "urn:x;y", "a…b"} {
			reached = ""
			err := steps.Apply(t.Context(), valued(value), "")
			expect.That(t, err == nil && strings.HasPrefix(reached, "/items/"), "%q, decoded %d times, reached %q: %v", value, rounds, reached, err)
		}
	}
}

// FuzzTemplate proves that whatever a value holds, it stays one segment of the path and one value of the query.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"a", "a/b", "..", ".", "%2e%2e", "a&b=c", "a?b#c", "\x00\r\nHost: evil", "ü 語", "@evil", "//evil"} {
		f.Add(s)
	}
	t := must.Get(parseTemplate("http://h:1/a/{properties.v}/b?x={properties.v}&y=1"))(f)
	f.Fuzz(func(tt *testing.T, value string) {
		if !utf8.ValidString(value) {
			tt.Skip("a feature holds valid UTF-8 only")
		}
		feature := &transform.Feature{}
		feature.SetProperty("v", transform.StringValue(value))
		u, err := t.fill(feature)
		if err != nil {
			expect.That(tt, value == "" || urlpath.Fault("/a/"+url.PathEscape(value)+"/b") != "" || len(value) >= 1000, "%q is refused: %v", value, err)
			return
		}
		segments := strings.Split(u.EscapedPath(), "/")
		must.That(tt, u.Host == "h:1" && u.User == nil && u.Fragment == "" && len(segments) == 4 && segments[3] == "b", "%q makes %s", value, u)
		if back, err := url.PathUnescape(segments[2]); err != nil || back != value {
			tt.Errorf("in the path %q became %q, %v", value, back, err)
		}
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
		p, err := parsePointer(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, ok := p.in(document)
		found := got.Text()
		expect.That(t, (!ok || found == want) && (ok || want == "none"), "%s leads to %q, %v; want %s", text, found, ok, want)
	}
}
