package crs

import "math"

// AxisOrder tells which coordinate of a pair comes first.
type AxisOrder string

const (
	// AxisXY is longitude, latitude or easting, northing.
	AxisXY AxisOrder = "xy"
	// AxisYX is latitude, longitude or northing, easting.
	AxisYX AxisOrder = "yx"
)

// Unit is the unit of a CRS's coordinates.
type Unit string

const (
	// Degree is the unit of geographic systems.
	Degree Unit = "degree"
	// Metre is the unit of projected systems.
	Metre Unit = "metre"
)

// CRS is a coordinate reference system with an axis order. [Lookup] and [EPSG] create it. It is immutable.
type CRS struct {
	code, name string
	order      AxisOrder
	authority  AxisOrder // the order in the definition
	datum      datum
	area       Bounds // area of use, in longitudes and latitudes

	// domain is the range in which the formulas keep the stated accuracy: longitudes relative to the central meridian,
	// and latitudes. It is wider than the area of use.
	domain Bounds

	method     string     // a method of systemTable
	projection projection // nil for a geographic system
	meridian   float64    // central meridian in degrees; for a geographic system, the centre of the domain
}

// Code returns the short name, "EPSG:25832" or "OGC:CRS84".
func (c *CRS) Code() string { return c.code }

// String returns the short name.
func (c *CRS) String() string { return c.code }

// Name returns the name in the EPSG dataset, "ETRS89 / UTM zone 32N".
func (c *CRS) Name() string { return c.name }

// Method returns the name of the projection method with its EPSG code: "transverse Mercator (9807)". For a geographic
// system it returns "degrees".
func (c *CRS) Method() string { return methodOf(c.method) }

// Unit returns the unit of both coordinates.
func (c *CRS) Unit() Unit {
	if c.projection == nil {
		return Degree
	}
	return Metre
}

// AxisOrder returns the order in which [Transform.Forward] takes and returns coordinates of this CRS: the order that the
// name implies, or the order set by [CRS.WithAxisOrder]. See the package documentation.
func (c *CRS) AxisOrder() AxisOrder { return c.order }

// AuthorityAxisOrder returns the axis order of the definition in the EPSG dataset or by the OGC.
func (c *CRS) AuthorityAxisOrder() AxisOrder { return c.authority }

// WithAxisOrder returns the same CRS with another axis order. It treats any value except [AxisYX] as [AxisXY].
func (c *CRS) WithAxisOrder(order AxisOrder) *CRS {
	other := *c
	other.order = AxisXY
	if order == AxisYX {
		other.order = AxisYX
	}
	return &other
}

// AreaOfUse returns the longitudes and latitudes for which the CRS is defined (EPSG dataset, extent), in degrees of its
// own datum.
func (c *CRS) AreaOfUse() Bounds { return c.area }

// digits rounds a sum of degrees to the number of digits of its terms.
func digits(degrees float64) float64 { return math.Round(degrees*1e9) / 1e9 }

// Domain returns the longitudes and latitudes that a [Transform] accepts, in degrees of the CRS's own datum. It is wider
// than the area of use because real data reach beyond it: 30° to either side of the central meridian of a UTM zone, the
// whole country for a national zone, to the equator for a polar system, and 5° around the area for others. The
// projection is exact in the whole domain. The accuracy of a datum is stated for the area of use.
func (c *CRS) Domain() Bounds {
	d := c.domain
	if d.MaxX-d.MinX < 360 {
		d.MinX, d.MaxX = wrap(digits(c.meridian+d.MinX)), wrap(digits(c.meridian+d.MaxX))
	}
	return d
}

// edgePoints is the number of samples per edge of an area in [CRS.Bounds].
const edgePoints = 32

// Bounds returns a box around the area of use in the CRS's own coordinates, in degrees or metres. For a projected system
// it is the box of the projected edges, accurate to about a kilometre. To judge a single point, use [CRS.Contains].
func (c *CRS) Bounds() Bounds {
	if c.projection == nil {
		return c.area
	}
	box := Bounds{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	east := c.area.MaxX
	if c.area.MinX > east { // the area crosses the antimeridian
		east += 360
	}
	for i := range edgePoints + 1 {
		part := float64(i) / edgePoints
		lon, lat := wrap(mix(c.area.MinX, east, part)), mix(c.area.MinY, c.area.MaxY, part)
		box = c.stretch(box, lon, c.area.MinY)
		box = c.stretch(box, lon, c.area.MaxY)
		box = c.stretch(box, c.area.MinX, lat)
		box = c.stretch(box, c.area.MaxX, lat)
	}
	return box
}

func mix(from, to, part float64) float64 { return from*(1-part) + to*part }

func (c *CRS) stretch(b Bounds, lon, lat float64) Bounds {
	x, y, _ := c.fromGeographic(lon, lat)
	return Bounds{min(b.MinX, x), min(b.MinY, y), max(b.MaxX, x), max(b.MaxY, y)}
}

// Contains reports whether a coordinate of this CRS, in its axis order, lies in its area of use. Coordinates outside can
// be transformed within the domain, but they are suspicious.
func (c *CRS) Contains(x, y float64) bool {
	if c.order == AxisYX {
		x, y = y, x
	}
	lon, lat, ok := c.toGeographic(x, y)
	return ok && c.area.Contains(lon, lat)
}

// slack is the distance in degrees by which a coordinate may exceed the domain because its digits were rounded: 1 mm.
// The edge of the world in Web Mercator needs it.
const slack = 1e-8

// toGeographic returns the longitude and latitude of an easting and northing, in degrees of the CRS's own datum. It
// returns false if they are outside the domain.
func (c *CRS) toGeographic(x, y float64) (lon, lat float64, ok bool) {
	if c.projection == nil {
		return x, y, c.holds(x, y)
	}
	d := &c.domain
	lon, lat = c.projection.inverse(x, y)
	lon, lat = degrees(lon), degrees(lat)
	ok = lon >= d.MinX-slack && lon <= d.MaxX+slack && lat >= d.MinY-slack && lat <= d.MaxY+slack
	lon = max(-180, min(180, lon))
	return wrap(c.meridian + lon), max(-90, min(90, lat)), ok
}

// fromGeographic returns the easting and northing of a longitude and latitude of the CRS's own datum. It returns false
// if they are outside the domain.
func (c *CRS) fromGeographic(lon, lat float64) (x, y float64, ok bool) {
	if c.projection == nil {
		return lon, lat, c.holds(lon, lat)
	}
	d := &c.domain
	relative := wrap(lon - c.meridian)
	inside := relative >= d.MinX-slack && relative <= d.MaxX+slack && lat >= d.MinY-slack && lat <= d.MaxY+slack
	if !inside {
		return 0, 0, false
	}
	x, y = c.projection.forward(radians(relative), radians(lat))
	return x, y, finite(x, y)
}

// holds reports whether a longitude and latitude lie in the domain of a geographic system.
func (c *CRS) holds(lon, lat float64) bool {
	d := &c.domain
	if !(lon >= -180 && lon <= 180 && lat >= d.MinY && lat <= d.MaxY) { // written so that NaN fails
		return false
	}
	if d.MaxX-d.MinX >= 360 {
		return true
	}
	relative := wrap(lon - c.meridian)
	return relative >= d.MinX && relative <= d.MaxX
}
