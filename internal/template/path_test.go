package template

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S1-9: anything that some reader could interpret as a dot segment or a control character is refused, in any encoding.
func TestPathFault_S1_9_refusesWhatLeadsElsewhere(t *testing.T) {
	for name, value := range map[string]string{
		"encoded slashes":           "x/../../admin",
		"encoded backslashes":       `x\..\..\admin`,
		"mixed":                     `x/..\admin`,
		"at the beginning":          "../admin",
		"at the end":                "x/..",
		"alone":                     "..",
		"one dot":                   "x/./y",
		"encoded by the sender":     "x%2F..%2Fadmin",
		"dots encoded":              "%2e%2E/admin",
		"half encoded":              ".%2e/admin",
		"encoded twice":             "%252e%252e%252fadmin",
		"encoded three times":       "%25252e%25252e%25252fadmin",
		"a parameter (Tomcat)":      "x/..;/admin",
		"a parameter with a value":  "..;a=b/admin",
		"an encoded semicolon":      "..%3B/admin",
		"a blank (Windows)":         "x/.. /admin",
		"three dots (Windows)":      "x/.../admin",
		"NUL":                       "x\x00y",
		"NUL before the end":        "..\x00/admin",
		"NUL, encoded":              "x%00y",
		"a line feed":               "x\r\nHost: evil",
		"a C1 control":              "x\u0085y",
		"DEL":                       "x\x7fy",
		"overlong":                  "%c0%ae%c0%ae%c0%afadmin",
		"overlong, three bytes":     "%e0%80%ae%e0%80%ae/admin",
		"overlong backslash":        "..%c1%9cadmin",
		"full width":                "x/．．/admin",
		"full width slash":          "..／admin",
		"two dot leader":            "x/‥/admin",
		"%u of IIS":                 "%u002e%u002e%u002fadmin",
		"%u full width":             "%uff0e%uff0e/admin",
		"encoded without end":       "%" + strings.Repeat("25", 30) + "41",
		"a dot segment deep inside": strings.Repeat("a/", 500) + "../" + strings.Repeat("b/", 500),
		"dots after encoded blanks": "%20..%20/admin",
	} {
		expect.That(t, PathFault("/items/"+url.PathEscape(value)+"/public") != "", "%s: %q passes", name, value)
	}
}

func TestPathFault_leavesIdentifiersAlone(t *testing.T) {
	for _, value := range []string{
		"4711", "way/123", "urn:x:a;b=c", "a..b", "..a", "a..", "v1.2", ".hidden", "100%", "50 % off", "%zz", "%u12", "A 7/b&c=d?#ü%", `a\b`, "語", "x=..", "Σ…a",
		"https://example.org/a/b", "50%25", "%", "a%2Fb",
	} {
		expect.Equal(t, PathFault("/items/"+url.PathEscape(value)+"/public"), "", value, "is refused")
	}
}

// FuzzPathFault checks that a server that decodes, once or twice, and then resolves dot segments, stays below the
// position of the value.
func FuzzPathFault(f *testing.F) {
	for _, s := range []string{"a", "a/b", "..", "%2e%2e", "x/../../admin", `..\x`, "..;/x", "%252e%252e%252f", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		sent := "/items/" + url.PathEscape(value)
		if PathFault(sent) != "" {
			return
		}
		for range 2 {
			decoded, err := url.PathUnescape(sent)
			if err != nil {
				return
			}
			sent = decoded
			slashed := strings.ReplaceAll(sent, `\`, "/")
			clean := path.Clean(slashed)
			must.That(t, strings.HasPrefix(clean+"/", "/items/"), "%q leads to %s", value, clean)
		}
	})
}
