package crs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// gieOperation is an operation in PROJ's syntax, by its parameters.
type gieOperation map[string]string

func gieParameters(operation string) gieOperation {
	p := gieOperation{}
	if strings.HasPrefix(operation, "crs ") {
		p["proj"] = "crs"
		return p
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(operation, " = ", "=")) {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "+"), "=")
		if _, ok := p[name]; !ok || name == "proj" && p["proj"] != "pipeline" {
			p[name] = value
		}
	}
	return p
}

func (p gieOperation) kind() string {
	if p["proj"] == "" {
		return "no operation"
	}
	return p["proj"]
}

func (p gieOperation) has(name string) bool { _, ok := p[name]; return ok }

// number reads a parameter that may be an angle; missing is 0.
func (p gieOperation) number(name string) float64 {
	v, _ := gieAngle(p[name])
	return v
}

// scale reads k or k_0.
func (p gieOperation) scale() float64 {
	for _, name := range []string{"k", "k_0"} {
		if p.has(name) {
			return p.number(name)
		}
	}
	return 1
}

// unit returns the metres of an output unit.
func (p gieOperation) unit() float64 {
	if p["units"] == "us-ft" {
		return 1200. / 3937
	}
	if a, b, ok := strings.Cut(p["to_meter"], "/"); ok {
		over, _ := strconv.ParseFloat(a, 64)
		under, _ := strconv.ParseFloat(b, 64)
		return over / under
	}
	if p.has("to_meter") {
		return p.number("to_meter")
	}
	return 1
}

// understood are the parameters that the tests can pass on.
func understood() []string {
	return []string{
		"proj", "ellps", "datum", "R", "a", "b", "rf", "f", "lat_0", "lon_0", "lat_1", "lat_2", "x_0", "y_0",
		"k", "k_0", "lat_ts", "zone", "south", "units", "to_meter", "algo", "no_defs", "wktext",
	}
}

// ellipsoid reads the ellipsoid; PROJ's default is GRS80.
func (p gieOperation) ellipsoid() (ellipsoid, error) {
	named := map[string]ellipsoid{
		"": datum(4258).ellipsoid(), "GRS80": datum(4258).ellipsoid(), "WGS84": wgs84.ellipsoid(),
		"bessel": datum(4314).ellipsoid(), "airy": datum(4277).ellipsoid(),
		"clrk66": newEllipsoid(6378206.4, 1-6356583.8/6378206.4), "sphere": newEllipsoid(6370997, 0),
	}
	if p.has("R") {
		return newEllipsoid(p.number("R"), 0), nil
	}
	l, ok := named[p["ellps"]+p["datum"]]
	if !ok {
		return l, scopeError("ellipsoid " + p["ellps"] + p["datum"])
	}
	f := l.n * 2 / (1 + l.n)
	a := l.a
	if p.has("a") {
		a = p.number("a")
		f = 0
	}
	switch {
	case p.has("rf"):
		f = 1 / p.number("rf")
	case p.has("f"):
		f = p.number("f")
	case p.has("b"):
		f = 1 - p.number("b")/a
	}
	return newEllipsoid(a, f), nil
}

// system makes a system of the operation that reaches all the world.
func (p gieOperation) system() (*CRS, error) {
	switch p["proj"] {
	case "tmerc", "etmerc", "utm", "lcc", "laea", "aea", "somerc", "merc", "webmerc", "sterea", "stere", "krovak", "ups":
	case "pipeline":
		return nil, scopeError("chains in PROJ's own syntax")
	default:
		return nil, scopeError("operations that no supported CRS uses")
	}
	for name := range p {
		if !slices.Contains(understood(), name) {
			return nil, scopeError("parameter +" + name + ", which no supported CRS has")
		}
	}
	l, err := p.ellipsoid()
	if err != nil {
		return nil, err
	}
	if l.n > 0.01 {
		return nil, scopeError("a flattening of 1/16: six terms of a series do not hold 1 mm there")
	}
	c := &CRS{domain: Bounds{-180, -90, 180, 90}, area: Bounds{-180, -90, 180, 90}, meridian: p.number("lon_0")}
	if strings.HasSuffix(p["lon_0"], "W") {
		c.meridian = -math.Abs(c.meridian)
	}
	c.projection, err = p.projection(l, c)
	return c, err
}

func (p gieOperation) projection(l ellipsoid, c *CRS) (projection, error) {
	o := origin{lat: p.number("lat_0"), lon: c.meridian, x: p.number("x_0"), y: p.number("y_0")}
	switch p["proj"] {
	case "tmerc", "etmerc":
		if p["algo"] == "evenden_snyder" {
			return nil, scopeError("asks for PROJ's approximate algorithm")
		}
		return newTransverseMercator(l, o, p.scale()), nil
	case "utm":
		c.meridian = 6*p.number("zone") - 183
		return newTransverseMercator(l, origin{x: 500000}, 0.9996), nil
	case "lcc":
		if p["lat_1"] == p["lat_2"] || !p.has("lat_2") {
			if !p.has("lat_0") || p["lat_0"] != p["lat_1"] {
				return nil, scopeError("one standard parallel that is not the origin: no supported CRS has that")
			}
			return newLambertConformalConic1(l, o, p.scale()), nil
		}
		l.a *= p.scale() // the scale is a factor of the radius, as a is
		return newLambertConformalConic(l, o, p.number("lat_1"), p.number("lat_2")), nil
	case "laea":
		if math.Abs(o.lat) == 90 {
			return nil, scopeError("polar aspect: no supported CRS has that")
		}
		return newLambertAzimuthalEqualArea(l, o), nil
	case "aea":
		return newAlbers(l, o, p.number("lat_1"), p.number("lat_2")), nil
	case "somerc":
		return newSwissObliqueMercator(l, o, p.scale()), nil
	case "sterea":
		if math.Abs(o.lat) == 90 {
			return nil, scopeError("polar aspect by way of a sphere: no supported CRS has that")
		}
		return newObliqueStereographic(l, o, p.scale()), nil
	case "stere", "ups":
		return p.polar(l, o)
	case "krovak":
		return p.krovak(c)
	case "merc":
		if p.has("lat_ts") {
			return nil, scopeError("a parallel that is true to scale: no supported CRS has that")
		}
		return newMercator(l, o, p.scale()), nil
	}
	return webMercator{radius: l.a}, nil
}

func (p gieOperation) polar(l ellipsoid, o origin) (projection, error) {
	if p["proj"] == "ups" {
		return newPolarStereographic(l, origin{lat: map[bool]float64{true: -90, false: 90}[p.has("south")], x: 2e6, y: 2e6}, 0.994, 0), nil
	}
	if math.Abs(o.lat) != 90 {
		return nil, scopeError("oblique aspect of the ellipsoid without a sphere between: no supported CRS has that")
	}
	return newPolarStereographic(l, o, p.scale(), p.number("lat_ts")), nil
}

// krovak has PROJ's default origin, and always the ellipsoid of Bessel, whatever the
// definition says.
func (p gieOperation) krovak(c *CRS) (projection, error) {
	if p.has("lat_0") || p.has("lon_0") {
		return nil, scopeError("another origin: no supported CRS has that")
	}
	r, _ := findSystem(5514)
	c.meridian = r.number(colMeridian)
	return newProjection("krovak", datum(4156).ellipsoid(), r), nil
}

// geocentric runs a pair of the operations helmert and cart, of which only what a
// change of datum needs is here.
func (p gieOperation) geocentric(c gieCase) (float64, error) {
	if len(c.accept) < 3 {
		return 0, scopeError("no geocentric coordinate")
	}
	v := vector(c.accept[:3])
	if p["proj"] == "helmert" {
		h, err := p.helmert(c.inverse)
		if err != nil {
			return 0, err
		}
		v = h.apply(v)
	} else {
		l, err := p.ellipsoid()
		if err != nil {
			return 0, err
		}
		if c.inverse { // the height of the result is forgotten here, so it is not compared
			lon, lat := l.geographic(v)
			dx, dy := math.Remainder(degrees(lon)-c.expect[0], 360)*111320*math.Cos(lat), (degrees(lat)-c.expect[1])*111320
			return math.Hypot(dx, dy), within(math.Hypot(dx, dy), c)
		}
		v = l.geocentric(radians(v[0]), radians(v[1]), v[2])
	}
	off := math.Sqrt(square(v[0]-c.expect[0]) + square(v[1]-c.expect[1]) + square(v[2]-c.expect[2]))
	return off, within(off, c)
}

func square(v float64) float64 { return v * v }

func (p gieOperation) helmert(inverse bool) (helmert, error) {
	var out helmert
	switch {
	case p.has("t_epoch"):
		return out, scopeError("depends on time: there are no epochs here")
	case p.has("theta"):
		return out, scopeError("in the plane: no supported CRS needs it")
	case p.has("exact"):
		return out, scopeError("exact rotation: EPSG methods 9606 and 9607 take the linear one")
	}
	sign := 1.0
	if p["convention"] == "coordinate_frame" {
		sign = -1
	}
	return newHelmert(&helmertParameters{
		tx: p.number("x"), ty: p.number("y"), tz: p.number("z"), scale: p.number("s"),
		rx: sign * p.number("rx"), ry: sign * p.number("ry"), rz: sign * p.number("rz"),
	}, inverse), nil
}
