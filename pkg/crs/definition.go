package crs

import "fmt"

// margin is how many degrees the domain of a regional system reaches beyond its
// area of use.
const margin = 5

// define returns the system with an EPSG code, in the axis order x, y. Codes,
// parameters and areas of use are those of the EPSG dataset v11.022.
func define(epsg int) (*CRS, bool) {
	c := utm(epsg)
	if c == nil {
		c = geographic(epsg)
	}
	if c == nil {
		c = projected(epsg)
	}
	if c == nil {
		return nil, false
	}
	c.code, c.order = fmt.Sprintf("EPSG:%d", epsg), AxisXY
	return c, true
}

// crs84 is longitude and latitude of WGS 84 (OGC 18-058r1 and others).
func crs84() *CRS {
	c := geographic(4326)
	c.code, c.name, c.order, c.authority = "OGC:CRS84", "WGS 84 longitude-latitude", AxisXY, AxisXY
	return c
}

// geographic returns a system of latitudes and longitudes, or nil.
func geographic(epsg int) *CRS {
	world := Bounds{-180, -90, 180, 90}
	c := &CRS{authority: AxisYX, domain: world}
	switch epsg {
	case 4326:
		c.name, c.datum, c.area = "WGS 84", wgs84, world
	case 4258:
		c.name, c.datum, c.area = "ETRS89", etrs89, Bounds{-16.1, 33.26, 38.01, 84.73}
	case 4269:
		c.name, c.datum, c.area = "NAD83", nad83, Bounds{167.65, 14.92, -40.73, 86.45}
	default:
		return nil
	}
	return c
}

// projected returns a projected system that is not of a family, or nil.
func projected(epsg int) *CRS {
	switch epsg {
	case 3857:
		area := Bounds{-180, -85.06, 180, 85.06}
		return &CRS{
			name: "WGS 84 / Pseudo-Mercator", authority: AxisXY, datum: wgs84, area: area, domain: area,
			projection: webMercator{radius: wgs84Ellipsoid().a},
		}
	case 27700:
		o := origin{lat: 49, lon: -2, x: 400000, y: -100000}
		return regional("OSGB36 / British National Grid", AxisXY, osgb36, Bounds{-9.01, 49.75, 2.01, 61.01}, o,
			newTransverseMercator(airy1830(), o, 0.9996012717))
	case 2056:
		// 46°57'8.66" and 7°26'22.5", the old observatory of Berne.
		o := origin{lat: 46 + 57./60 + 8.66/3600, lon: 7 + 26./60 + 22.5/3600, x: 2600000, y: 1200000}
		return regional("CH1903+ / LV95", AxisXY, ch1903plus, Bounds{5.96, 45.82, 10.49, 47.81}, o,
			newSwissObliqueMercator(bessel1841(), o))
	case 2154:
		o := origin{lat: 46.5, lon: 3, x: 700000, y: 6600000}
		return regional("RGF93 v1 / Lambert-93", AxisXY, rgf93, Bounds{-9.86, 41.15, 10.38, 51.56}, o,
			newLambertConformalConic(grs80(), o, 49, 44))
	case 3035:
		o := origin{lat: 52, lon: 10, x: 4321000, y: 3210000}
		return regional("ETRS89-extended / LAEA Europe", AxisYX, etrs89, Bounds{-35.58, 24.6, 44.83, 84.73}, o,
			newLambertAzimuthalEqualArea(grs80(), o))
	case 5070:
		o := origin{lat: 23, lon: -96}
		return regional("NAD83 / Conus Albers", AxisXY, nad83, Bounds{-124.79, 24.41, -66.91, 49.38}, o,
			newAlbers(grs80(), o, 29.5, 45.5))
	}
	return nil
}

// regional makes a projected system whose domain is its area of use with a
// margin.
func regional(name string, authority AxisOrder, d datum, area Bounds, o origin, p projection) *CRS {
	return &CRS{
		name: name, authority: authority, datum: d, area: area, projection: p, meridian: o.lon,
		domain: Bounds{
			MinX: area.MinX - margin - o.lon, MinY: area.MinY - margin,
			MaxX: area.MaxX + margin - o.lon, MaxY: area.MaxY + margin,
		},
	}
}
