package transform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// SupportedCRS lists the coordinate reference systems that this version reads
// and writes, by their short names. Each is WGS 84 with longitude first, as RFC
// 7946 section 4 has it; a name may also be written as a URN
// ("urn:ogc:def:crs:OGC:1.3:CRS84") or as a URI
// ("http://www.opengis.net/def/crs/EPSG/0/4326"). Under the name EPSG:4326,
// too, a position is longitude, latitude: GeoJSON has never had another order.
func SupportedCRS() []string { return []string{"EPSG:4326", "OGC:CRS84"} }

// isSupportedCRS reports whether name means one of [SupportedCRS].
func isSupportedCRS(name string) bool {
	return slices.Contains(SupportedCRS(), shortCRS(name))
}

// shortCRS brings the ways to write a name to "AUTHORITY:CODE"; what it does
// not know stays as it is. Forms: OGC 09-048r5 (URN), OGC 09-048 (URI).
func shortCRS(name string) string {
	upper := strings.ToUpper(strings.TrimSpace(name))
	if upper == "CRS84" {
		return "OGC:CRS84"
	}
	var parts []string
	if rest, isURN := strings.CutPrefix(upper, "URN:OGC:DEF:CRS:"); isURN {
		parts = strings.Split(rest, ":")
	} else if _, rest, isURI := strings.Cut(upper, "://WWW.OPENGIS.NET/DEF/CRS/"); isURI {
		parts = strings.Split(rest, "/")
	}
	if len(parts) != 3 { // authority, version, code
		return upper
	}
	return parts[0] + ":" + parts[2]
}

// crs reads a crs member (GeoJSON 2008 section 3; RFC 7946 has none) and notes
// the name that it gives, for the gate to judge.
func (d *decoder) crs(f *Feature) error {
	value, err := d.value()
	if err != nil {
		return err
	}
	f.crs = append(f.crs, crsName(value))
	return nil
}

// crsName returns the name that a crs member gives: {"type": "name",
// "properties": {"name": …}}, {"type": "EPSG", "properties": {"code": …}}, or
// a string. Anything else, null included, has no name that could be known, and
// is returned as it was written.
func crsName(value Value) string {
	if value.Kind() == KindString {
		return value.text
	}
	if name := lookup(value.Members(), "properties.name", "."); name != nil && name.Kind() == KindString {
		return name.text
	}
	kind, code := lookup(value.Members(), "type", "."), lookup(value.Members(), "properties.code", ".")
	if kind != nil && code != nil && strings.EqualFold(kind.Text(), "EPSG") {
		return "EPSG:" + code.Text()
	}
	return string(value.AppendJSON(nil))
}

// checkCRS refuses a record whose crs member says anything but what the config
// says, before any other rule looks at it (S1-4).
func checkCRS(f *Feature) error {
	for _, name := range f.crs {
		if !isSupportedCRS(name) {
			return f.refuse(classify.CodeUnknownCRS, RuleCRS, "/crs", cut(name),
				"the record's coordinate reference system is not supported",
				"send WGS 84 ("+strings.Join(SupportedCRS(), " or ")+") and no crs member")
		}
	}
	return nil
}

// refuse makes an error of the gate.
func (f *Feature) refuse(code classify.Code, rule Rule, path, value, message, fix string) *Error {
	return &Error{Code: code, Stage: classify.StageGate, Rule: string(rule), Path: path, Value: value,
		Message: message, Fix: fix, Feature: f.IDString()}
}

// quoteList writes words for a message.
func quoteList[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.Quote(string(word))
	}
	return strings.Join(quoted, ", ")
}
