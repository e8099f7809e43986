package enrich

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/switchback-geo/switchback/internal/urlpath"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// maxURLBytes is the longest URL that is sent; servers refuse longer ones with an error that does not name the feature.
const maxURLBytes = 8 << 10

// part is literal text, or the name of a value when name is set.
type part struct {
	literal string
	name    string
	query   bool // of a URL: behind the first question mark
}

// parseNames cuts a text at its braces: {id}, {properties.name}. key names the text in errors.
func parseNames(key, text string) ([]part, error) {
	var parts []part
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("%s has a } without a {", key)
		}
		if before != "" {
			parts = append(parts, part{literal: before})
		}
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("%s has a { without a }", key)
		}
		if !isValueName(name) {
			return nil, fmt.Errorf("%s: {%s} names nothing of a feature; write {id} or {properties.name}", key, name)
		}
		parts = append(parts, part{name: name})
		rest = tail
	}
	return parts, nil
}

// isValueName reports whether name is id or properties. and a name.
func isValueName(name string) bool {
	property, isProperty := strings.CutPrefix(name, "properties.")
	return name == "id" || isProperty && property != ""
}

// template is a URL with names of values of a feature in braces.
type template struct {
	parts []part
}

// parseTemplate cuts a URL at its braces. They may stand in the path and in the query, not in the host: a feature must
// not choose who is asked.
func parseTemplate(text string) (template, error) {
	parts, err := parseNames("http.url", text)
	if err != nil {
		return template{}, err
	}
	plain := ""
	for i, p := range parts {
		if p.name == "" {
			plain += p.literal
			continue
		}
		if !pastHost(plain) {
			return template{}, fmt.Errorf("http.url: {%s} stands in the host; use braces in the path or the query only", p.name)
		}
		parts[i].query = strings.Contains(plain, "?")
		plain += "x"
	}
	return template{parts}, checkURL(plain)
}

func checkURL(plain string) error {
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		return errors.New("http.url is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("http.url must begin with http:// or https:// and a host")
	case u.User != nil:
		return errors.New("http.url has a user; secrets are not allowed in the file")
	case u.Fragment != "":
		return errors.New("http.url has a fragment (#), which is never sent")
	}
	if fault := urlpath.Fault(u.EscapedPath()); fault != "" {
		return fmt.Errorf("the path of http.url %s; write the path out", fault)
	}
	return nil
}

func pastHost(plain string) bool {
	_, afterScheme, ok := strings.Cut(plain, "://")
	return ok && strings.ContainsAny(afterScheme, "/?")
}

// fill puts the feature's values in, each escaped for where it stands. A value can add neither a segment to the path nor
// a parameter to the query. A path that software on the way could resolve to another one is refused (see package urlpath): by
// encoding twice it would name another feature to every server that decodes once.
func (t template) fill(f *transform.Feature) (*url.URL, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		text, err := textOf(f, p.name)
		if err != nil {
			return nil, err
		}
		if p.query && strings.ContainsFunc(text, isUnprintable) {
			return nil, controlFault(p.name)
		}
		b.WriteString(escape(text, p.query))
		if b.Len() > maxURLBytes {
			return nil, &fault{classify.CodeLimitExceeded, fmt.Sprintf("with the feature's %s the URL has more than %d bytes", p.name, maxURLBytes)}
		}
	}
	u, err := url.Parse(b.String())
	if err != nil {
		return nil, &fault{classify.CodeCoercionFailed, "the feature's values do not make a URL"}
	}
	if found := urlpath.Fault(u.EscapedPath()); found != "" {
		return nil, &fault{classify.CodeCoercionFailed, "with the feature's values the path of the URL " + found}
	}
	return u, nil
}

// isUnprintable finds the control characters that no text has: lines and tabs are part of one.
func isUnprintable(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}

func controlFault(name string) error {
	return &fault{classify.CodeCoercionFailed, fmt.Sprintf("%s of the feature holds a control character", name)}
}

// valueOf gives what {id} or {properties.name} names; ok is false when there is nothing.
func valueOf(f *transform.Feature, name string) (value transform.Value, ok bool) {
	if property, isProperty := strings.CutPrefix(name, "properties."); isProperty {
		return f.Property(property)
	}
	return f.ID, true
}

// textOf gives the text of {id} or {properties.name}. Nothing, null and the empty text are missing: something else would
// be asked.
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

// escape encodes a value (RFC 3986). A blank is %20 in both places: + means it in forms only.
func escape(text string, query bool) string {
	if query {
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	}
	return url.PathEscape(text)
}
