package enrich

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// maxURLBytes is the longest URL that is sent. Servers refuse longer ones with an error that does not name the feature.
const maxURLBytes = 8 << 10

// parseNames splits a text at its braces: {id}, {properties.name}. Errors name the text by key.
func parseNames(key, text string) ([]template.Part, error) {
	parts, err := template.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", key, err)
	}
	return parts, nil
}

// address is a URL with names of feature values in braces.
type address []template.Part

func parseAddress(text string) (address, error) {
	parts, err := template.ParseURL(text)
	if err != nil {
		return nil, fmt.Errorf("http.url %w", err)
	}
	return parts, nil
}

// fill inserts the feature's values, each escaped for its place. A value can add neither a path segment nor a query
// parameter. fill refuses a path that software on the way could resolve differently (see package template): encoded
// twice, it would name another feature to every server that decodes once.
func (a address) fill(f *transform.Feature) (*url.URL, error) {
	var b strings.Builder
	for _, p := range a {
		if p.Name == "" {
			b.WriteString(p.Literal)
			continue
		}
		text, err := textOf(f, p.Name)
		if err != nil {
			return nil, err
		}
		if p.Query && strings.ContainsFunc(text, isUnprintable) {
			return nil, controlFault(p.Name)
		}
		b.WriteString(escape(text, p.Query))
		if b.Len() > maxURLBytes {
			return nil, &fault{classify.CodeLimitExceeded, fmt.Sprintf("with the feature's %s the URL has more than %d bytes", p.Name, maxURLBytes)}
		}
	}
	u, err := url.Parse(b.String())
	if err != nil {
		return nil, &fault{classify.CodeCoercionFailed, "the feature's values do not make a URL"}
	}
	if found := template.PathFault(u.EscapedPath()); found != "" {
		return nil, &fault{classify.CodeCoercionFailed, "with the feature's values the path of the URL " + found}
	}
	return u, nil
}

// isUnprintable reports whether a control character occurs in no text; line breaks and tabs do.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}

func controlFault(name string) error {
	return &fault{classify.CodeCoercionFailed, fmt.Sprintf("%s of the feature holds a control character", name)}
}

// valueOf returns the value of {id} or {properties.name}; ok is false if there is none.
func valueOf(f *transform.Feature, name string) (value transform.Value, ok bool) {
	if property, isProperty := strings.CutPrefix(name, "properties."); isProperty {
		return f.Property(property)
	}
	return f.ID, true
}

// textOf returns the text of {id} or {properties.name}. A missing value, null and the empty text are errors, because the
// question would be another one.
func textOf(f *transform.Feature, name string) (string, error) {
	value, ok := valueOf(f, name)
	if kind := value.Kind(); kind == transform.KindArray || kind == transform.KindObject {
		return "", &fault{classify.CodeWrongType, fmt.Sprintf("%s of the feature is an %s, and the request needs a plain value", name, kind)}
	}
	text := value.Text()
	if !ok || text == "" {
		return "", &fault{classify.CodeMissingRequired, fmt.Sprintf("the feature has no %s, which the request needs", name)}
	}
	return text, nil
}

// escape encodes a value (RFC 3986). A blank is %20 in both places: + means a blank in forms only.
func escape(text string, query bool) string {
	if query {
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	}
	return url.PathEscape(text)
}
