package enrich

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/urlpath"
	"github.com/switchback-geo/switchback/pkg/transform"
)

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
			if value != "" && urlpath.Fault("/a/"+url.PathEscape(value)+"/b") == "" && len(value) < 1000 {
				tt.Errorf("%q is refused: %v", value, err)
			}
			return
		}
		segments := strings.Split(u.EscapedPath(), "/")
		if u.Host != "h:1" || u.User != nil || u.Fragment != "" || len(segments) != 4 || segments[3] != "b" {
			tt.Fatalf("%q makes %s", value, u)
		}
		if back, err := url.PathUnescape(segments[2]); err != nil || back != value {
			tt.Errorf("in the path %q became %q, %v", value, back, err)
		}
		query, err := url.ParseQuery(u.RawQuery)
		if err != nil || len(query) != 2 || query.Get("x") != value || query.Get("y") != "1" {
			tt.Errorf("in the query %q became %v, %v", value, query, err)
		}
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
		if found := got.Text(); ok && found != want || !ok && want != "none" {
			t.Errorf("%s leads to %q, %v; want %s", text, found, ok, want)
		}
	}
}
