package enrich

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// getFeature is the address of a WFS 2.0 GetFeature request in key-value form (OGC 09-025r2, table 8). It asks for two features, so
// that a second match is noticed.
type getFeature struct {
	base  url.URL
	query url.Values      // the same for every feature
	id    []template.Part // nil if where selects the feature
	where []condition
}

// condition is an equality of a filter (OGC 09-026r2).
type condition struct {
	property string
	value    []template.Part
}

func newGetFeature(address string, w *config.WFSLookup) (*getFeature, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("http.url is not a URL")
	}
	g := &getFeature{base: *base, query: base.Query()}
	for name, value := range map[string]string{
		"service": "WFS", "version": "2.0.0", "request": "GetFeature", "typeNames": w.TypeName, "count": "2", "outputFormat": w.OutputFormat,
		"propertyName": strings.Join(w.Properties, ","),
	} {
		if value != "" {
			g.query.Set(name, value)
		}
	}
	if w.ID != "" {
		g.id, err = parseNames("http.wfs.id", w.ID)
		return g, err
	}
	for _, property := range slices.Sorted(maps.Keys(w.Where)) {
		value, err := parseNames("http.wfs.where."+property, w.Where[property])
		if err != nil {
			return nil, err
		}
		g.where = append(g.where, condition{property, value})
	}
	return g, nil
}

// fill returns the address for a feature.
func (g *getFeature) fill(f *transform.Feature) (*url.URL, error) {
	query := maps.Clone(g.query)
	name, wanted := "resourceId", func() (string, error) { return plainText(g.id, f, isListSyntax) }
	if g.id == nil {
		name, wanted = "filter", func() (string, error) { return g.filter(f) }
	}
	value, err := wanted()
	if err != nil {
		return nil, err
	}
	query.Set(name, value)
	out := g.base
	out.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	if len(out.RawQuery) > maxURLBytes {
		return nil, failed(classify.CodeLimitExceeded, "with the feature's values the URL has more than %d bytes", maxURLBytes)
	}
	return &out, nil
}

// filter returns the conditions as a filter, with each text escaped.
func (g *getFeature) filter(f *transform.Feature) (string, error) {
	var b bytes.Buffer
	b.WriteString(`<fes:Filter xmlns:fes="http://www.opengis.net/fes/2.0">`)
	if len(g.where) > 1 {
		b.WriteString("<fes:And>")
	}
	for _, c := range g.where {
		value, err := plainText(c.value, f, isNoXML)
		if err != nil {
			return "", err
		}
		b.WriteString("<fes:PropertyIsEqualTo><fes:ValueReference>")
		_ = xml.EscapeText(&b, []byte(c.property)) // a buffer takes everything
		b.WriteString("</fes:ValueReference><fes:Literal>")
		_ = xml.EscapeText(&b, []byte(value))
		b.WriteString("</fes:Literal></fes:PropertyIsEqualTo>")
	}
	if len(g.where) > 1 {
		b.WriteString("</fes:And>")
	}
	b.WriteString("</fes:Filter>")
	return b.String(), nil
}

// isListSyntax reports whether a character would turn an id into a list: a key-value request has no escape for it
// (OGC 09-025r2, 6.2.5.3), and would request other features.
func isListSyntax(r rune) bool { return strings.ContainsRune(",()", r) || unicode.IsControl(r) }

// isNoXML reports whether XML 1.0 cannot have a character (section 2.2). The encoder would replace it by U+FFFD, and
// request another value.
func isNoXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\uFFFE' || r == '\uFFFF'
}

// plainText inserts the feature's values into a text, without escaping. It refuses a value with an unfit character; unfit may be nil.
func plainText(parts []template.Part, f *transform.Feature, unfit func(rune) bool) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Literal)
		if p.Name == "" {
			continue
		}
		text, err := textOf(f, p.Name)
		if err != nil {
			return "", err
		}
		at := -1
		if unfit != nil {
			at = strings.IndexFunc(text, unfit)
		}
		if at >= 0 {
			r, _ := utf8.DecodeRuneInString(text[at:])
			return "", failed(classify.CodeCoercionFailed, "%s of the feature holds %q, which a WFS request cannot carry", p.Name, r)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// wfsFaults lists the exception codes of OWS (OGC 06-121r9, table 27) and WFS for wrong requests, which are permanent.
// All other codes, such as OperationProcessingFailed and NoApplicableCode, are failures of the service.
func wfsFaults() []string {
	return []string{
		"OperationNotSupported", "MissingParameterValue", "InvalidParameterValue", "VersionNegotiationFailed", "OptionNotSupported",
		"InvalidValue", "OperationParsingFailed",
	}
}

// wfsException parses an exception report. Services send reports with any status, even with a success (OGC 09-025r2,
// table D.2). It returns nil for another text, and if the status of a refusal is more specific than the report.
func wfsException(what string, status int, text []byte) error {
	code, ok := exceptionCode(text)
	switch {
	case !ok:
		return nil
	case code == "NotFound":
		return unmatched(what)
	case slices.Contains(wfsFaults(), code):
		return failed(classify.CodeHTTPBadRequest, "%s: the service answers with the exception %s", what, code)
	case status/100 == 4 && code != "OperationProcessingFailed":
		return nil
	default:
		return failed(classify.CodeBadResponse, "%s: the service answers with the exception %q", what, code)
	}
}

// maxExceptionCode is the number of bytes of an exception's code that are shown.
const maxExceptionCode = 64

// exceptionCode returns the code of the first exception of a complete report (OGC 06-121r9, clause 8).
func exceptionCode(text []byte) (code string, ok bool) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.Strict = false
	decoder.CharsetReader = asciiOf
	for {
		token, err := decoder.Token()
		if err != nil {
			return code, errors.Is(err, io.EOF) && ok
		}
		start, is := token.(xml.StartElement)
		switch {
		case is && !ok && start.Name.Local != "ExceptionReport":
			return "", false
		case is && !ok:
			ok = true
		case is && start.Name.Local == "Exception" && code == "":
			for _, a := range start.Attr {
				if a.Name.Local == "exceptionCode" {
					code = strings.ToValidUTF8(a.Value[:min(len(a.Value), maxExceptionCode)], "")
				}
			}
		}
	}
}

// asciiOf reads a text in another character set than UTF-8. It keeps ASCII characters only: names and codes are ASCII in every character
// set that services use.
func asciiOf(_ string, text io.Reader) (io.Reader, error) {
	all, err := io.ReadAll(text)
	for i, b := range all {
		if b >= utf8.RuneSelf {
			all[i] = '?'
		}
	}
	return bytes.NewReader(all), err
}

// errUnmatched marks a question that nothing matches. It is the record's failure only if the step requires an answer.
var errUnmatched = errors.New("nothing matches")

func unmatched(what string) error {
	return failed(classify.CodeForeignKeyUnresolved, "%s: %w", what, errUnmatched)
}

// oneFeature returns the feature of a GeoJSON answer: the answer itself, or the only member of a collection (RFC 7946).
func oneFeature(what string, answer transform.Value) (transform.Value, error) {
	switch typeOf(answer) {
	case "Feature":
		return answer, nil
	case "FeatureCollection":
	default:
		return transform.Value{}, failed(classify.CodeBadResponse, "%s: the answer is no GeoJSON feature or collection of features", what)
	}
	features, ok := child(answer, "features")
	if !ok || features.Kind() != transform.KindArray {
		return transform.Value{}, failed(classify.CodeBadResponse, "%s: the answer is a collection without features", what)
	}
	switch all := features.Items(); {
	case len(all) == 0:
		return transform.Value{}, unmatched(what)
	case len(all) > 1:
		return transform.Value{}, failed(classify.CodeForeignKeyUnresolved, "%s: more than one feature matches; ask for what tells them apart", what)
	case typeOf(all[0]) != "Feature":
		return transform.Value{}, failed(classify.CodeBadResponse, "%s: the collection holds what is no feature", what)
	default:
		return all[0], nil
	}
}

// stacItem returns an item of a STAC API (STAC 1.0), which is a GeoJSON feature of its own kind.
func stacItem(what string, answer transform.Value) (transform.Value, error) {
	if version, ok := child(answer, "stac_version"); typeOf(answer) != "Feature" || !ok || version.Kind() != transform.KindString {
		return transform.Value{}, failed(classify.CodeBadResponse, "%s: the answer is no STAC item", what)
	}
	return answer, nil
}

func typeOf(v transform.Value) string {
	t, _ := child(v, "type")
	return t.Text()
}

// failed returns a failure that no library reports: a missing value of the feature, or a wrong but successful answer.
func failed(code classify.Code, format string, args ...any) error {
	return classify.WithCode(code, classify.StageEnrich, fmt.Errorf(format, args...))
}
