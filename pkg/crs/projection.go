package crs

// projection is a map projection. Longitudes are relative to its central meridian, angles are in radians and lengths in
// metres. Where it has no value, it returns values that are not finite or outside of the domain. The caller checks both.
type projection interface {
	forward(lon, lat float64) (x, y float64)
	inverse(x, y float64) (lon, lat float64)
}

// origin is the natural or false origin of a projection.
type origin struct {
	lat, lon float64 // degrees; the longitude is the central meridian
	x, y     float64 // false easting and northing in metres
}

// newProjection returns the projection in a row of systemTable, or nil if the method is not a projection.
func newProjection(method string, l ellipsoid, r row) projection {
	o := origin{lat: r.number(colLatitude), lon: r.number(colMeridian), x: r.number(colX), y: r.number(colY)}
	scale, first, second := r.number(colScale), r.number(colParallel1), r.number(colParallel2)
	switch method {
	case "tmerc":
		return newTransverseMercator(l, o, scale)
	case "lcc1":
		return newLambertConformalConic1(l, o, scale)
	case "lcc2":
		return newLambertConformalConic(l, o, first, second)
	case "albers":
		return newAlbers(l, o, first, second)
	case "laea":
		return newLambertAzimuthalEqualArea(l, o)
	case "swiss":
		return newSwissObliqueMercator(l, o, scale)
	case "stereo":
		return newObliqueStereographic(l, o, scale)
	case "polar":
		return newPolarStereographic(l, o, scale, first)
	case "krovak":
		return newKrovak(l, o, scale, first, second)
	case "merc":
		return newMercator(l, o, scale)
	case "web":
		return webMercator{radius: l.a}
	}
	return nil
}

// methodOf returns the name and the EPSG code of a method of systemTable for people.
func methodOf(method string) string {
	switch method {
	case methodGeographic:
		return "degrees"
	case "tmerc":
		return "transverse Mercator (9807)"
	case "lcc1":
		return "Lambert conformal conic, one parallel (9801)"
	case "lcc2":
		return "Lambert conformal conic, two parallels (9802)"
	case "albers":
		return "Albers equal area (9822)"
	case "laea":
		return "Lambert azimuthal equal area (9820)"
	case "swiss":
		return "Swiss oblique Mercator (9815, azimuth 90°)"
	case "stereo":
		return "oblique stereographic (9809)"
	case "polar":
		return "polar stereographic (9810, 9829)"
	case "krovak":
		return "Krovak, north orientated (1041)"
	case "merc":
		return "Mercator (9804)"
	case "web":
		return "Web Mercator (1024)"
	}
	return ""
}
