package crs

import "strconv"

// These methods of systemTable are not projections.
const (
	methodGeographic = "geographic" // longitude and latitude
	methodDatum      = "datum"      // the datum of a projected system, not offered on its own
)

// define returns the system with an EPSG code, in axis order x, y.
func define(epsg int) (*CRS, bool) {
	r, ok := findSystem(epsg)
	if !ok || r[colMethod] == methodDatum {
		return nil, false
	}
	return r.system(), true
}

// system returns the system in a row of systemTable.
func (r row) system() *CRS {
	c := &CRS{
		code: "EPSG:" + r[colCode], name: r[colName], order: AxisXY, authority: AxisOrder(r[colOrder]),
		datum: datum(r.code(colDatum)), method: r[colMethod], area: r.bounds(colArea), domain: r.bounds(colDomain), meridian: r.number(colMeridian),
	}
	c.domain.MinX -= c.meridian
	c.domain.MaxX -= c.meridian
	if r[colMethod] != methodGeographic {
		c.projection = newProjection(r[colMethod], c.datum.ellipsoid(), r)
	}
	return c
}

// crs84 returns longitude and latitude on WGS 84 (OGC 18-058r1 and others).
func crs84() *CRS {
	c, _ := define(int(wgs84))
	c.code, c.name, c.order, c.authority = "OGC:CRS84", "WGS 84 longitude-latitude", AxisXY, AxisXY
	return c
}

// Codes lists every supported CRS by its short name, geographic systems first.
func Codes() []string {
	out := []string{"OGC:CRS84"}
	for _, r := range ranked() {
		if r[colMethod] != methodDatum {
			out = append(out, "EPSG:"+r[colCode])
		}
	}
	return out
}

// shorten formats codes so that a run of numbers appears as its first and last number: "EPSG:32601-32660".
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
