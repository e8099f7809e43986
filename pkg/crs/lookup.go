package crs

import (
	"strconv"
	"strings"
)

// Lookup returns the CRS of a name. The case of letters does not matter. The forms are
//
//	EPSG:25832, OGC:CRS84, CRS84                       x, y
//	urn:ogc:def:crs:EPSG::25832, …:EPSG:9.8:25832      order of the authority
//	urn:ogc:def:crs:OGC:1.3:CRS84                      order of the authority
//	http://www.opengis.net/def/crs/EPSG/0/25832        order of the authority
//	[EPSG:25832]                                       order of the authority
//
// (OGC 09-048r5 for URNs and URIs, a safe CURIE as in JSON-FG for the last). Lookup ignores the version in a URN or URI.
// It returns an [*UnknownError] for any other form or code.
func Lookup(name string) (*CRS, error) {
	authority, code, byAuthority := splitName(strings.ToUpper(strings.TrimSpace(name)))
	c := byCode(authority, code)
	if c == nil {
		return nil, &UnknownError{Name: name}
	}
	if byAuthority {
		return c.WithAxisOrder(c.authority), nil
	}
	return c, nil
}

// EPSG returns the CRS with an EPSG code in the order x, y, as for the SRID of EWKB or of a database column. It returns
// an [*UnknownError] for an unknown code.
func EPSG(code int) (*CRS, error) {
	if c, ok := define(code); ok {
		return c, nil
	}
	return nil, &UnknownError{Name: "EPSG:" + strconv.Itoa(code)}
}

// splitName splits a name in capitals into authority and code. The authority is empty if the form is unknown.
func splitName(name string) (authority, code string, byAuthority bool) {
	if name == "CRS84" {
		return "OGC", name, false
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		authority, code, found := strings.Cut(inner, ":")
		return onlyIf(ok && found, authority), code, true
	}
	rest, separator := name, ""
	for _, form := range [][2]string{
		{"URN:OGC:DEF:CRS:", ":"}, {"URN:X-OGC:DEF:CRS:", ":"},
		{"HTTP://WWW.OPENGIS.NET/DEF/CRS/", "/"}, {"HTTPS://WWW.OPENGIS.NET/DEF/CRS/", "/"},
	} {
		if after, ok := strings.CutPrefix(name, form[0]); ok {
			rest, separator = after, form[1]
		}
	}
	if separator == "" {
		authority, code, found := strings.Cut(name, ":")
		return onlyIf(found, authority), code, false
	}
	parts := strings.Split(rest, separator)
	if len(parts) != 3 { // authority, version, code
		return "", "", false
	}
	return parts[0], parts[2], true
}

func onlyIf(condition bool, s string) string {
	if condition {
		return s
	}
	return ""
}

// byCode returns the CRS with a code of an authority, or nil.
func byCode(authority, code string) *CRS {
	switch authority {
	case "OGC":
		if code == "CRS84" {
			return crs84()
		}
	case "EPSG":
		number, err := strconv.Atoi(code)
		if err != nil || strconv.Itoa(number) != code {
			return nil
		}
		if c, ok := define(number); ok {
			return c
		}
	}
	return nil
}

// number returns the number of an EPSG code, or a number that sorts after all codes.
func number(code string) int {
	_, digits, _ := strings.Cut(code, ":")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1 << 31
	}
	return n
}
