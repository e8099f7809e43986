package crs

import (
	"strconv"
	"strings"
)

// Lookup returns the CRS of a name. The forms, whose letters may be of either
// case, are
//
//	EPSG:25832, OGC:CRS84, CRS84                       x, y
//	urn:ogc:def:crs:EPSG::25832, …:EPSG:9.8:25832      order of the authority
//	urn:ogc:def:crs:OGC:1.3:CRS84                      order of the authority
//	http://www.opengis.net/def/crs/EPSG/0/25832        order of the authority
//	[EPSG:25832]                                       order of the authority
//
// (OGC 09-048r5 for URNs and URIs, a safe CURIE as in JSON-FG for the last). The
// version of a URN or URI is not looked at. A name of another form or code gives
// an [*UnknownError].
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

// EPSG returns the CRS of an EPSG code, as the SRID of EWKB or of a database
// column has it, in the order x, y. An unknown code gives an [*UnknownError].
func EPSG(code int) (*CRS, error) {
	if c, ok := define(code); ok {
		return c, nil
	}
	return nil, &UnknownError{Name: "EPSG:" + strconv.Itoa(code)}
}

// splitName takes a name in capitals apart; an empty authority means that it has
// no known form.
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

// byCode returns the CRS of an authority's code, or nil.
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

// Codes lists every supported CRS by its short name: geographic systems first,
// then those of one country or continent, then zones, and the whole world last.
func Codes() []string {
	out := []string{"OGC:CRS84"}
	for _, r := range codeRanges() {
		out = append(out, listCodes(r)...)
	}
	return out
}

// listCodes names every code of a range.
func listCodes(codes [2]int) []string {
	out := make([]string, 0, codes[1]-codes[0]+1)
	for code := codes[0]; code <= codes[1]; code++ {
		out = append(out, "EPSG:"+strconv.Itoa(code))
	}
	return out
}

// codeRanges lists the supported EPSG codes, first and last of each run, in the
// order of [Codes].
func codeRanges() [][2]int {
	return [][2]int{
		{4326, 4326},
		{4258, 4258},
		{4269, 4269},
		{2056, 2056},
		{27700, 27700},
		{2154, 2154},
		{3035, 3035},
		{5070, 5070},
		{25828, 25838},
		{26910, 26919},
		{32601, 32660},
		{32701, 32760},
		{3857, 3857},
	}
}

// shorten writes codes with each run of numbers as its first and last one:
// "EPSG:32601-32660".
func shorten(codes []string) []string {
	var out []string
	for i := 0; i < len(codes); {
		j := i + 1
		for j < len(codes) && number(codes[j]) == number(codes[j-1])+1 {
			j++
		}
		switch short := codes[i]; {
		case j-i > 2:
			out = append(out, short+"-"+strconv.Itoa(number(codes[j-1])))
		default:
			out = append(out, codes[i:j]...)
		}
		i = j
	}
	return out
}

// number returns the number of an EPSG code, or something that no other code
// follows.
func number(code string) int {
	_, digits, _ := strings.Cut(code, ":")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1 << 31
	}
	return n
}
