package crs

import "strconv"

// The methods of systemTable that are no projection.
const (
	methodGeographic = "geographic" // longitude and latitude
	methodDatum      = "datum"      // the datum of a projected system, not offered by itself
)

// define returns the system with an EPSG code, in the axis order x, y.
func define(epsg int) (*CRS, bool) {
	r, ok := findSystem(epsg)
	if !ok || r[colMethod] == methodDatum {
		return nil, false
	}
	return r.system(), true
}

// system makes the system of a line of systemTable.
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

// crs84 is longitude and latitude of WGS 84 (OGC 18-058r1 and others).
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
