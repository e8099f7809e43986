package crs

// projection is a map projection. Longitudes are counted from its own central
// meridian, angles are radians, lengths metres. Where it has no value it returns
// something that is not finite, or that lies outside the domain: the caller
// checks both.
type projection interface {
	forward(lon, lat float64) (x, y float64)
	inverse(x, y float64) (lon, lat float64)
}

// origin is where a projection's natural or false origin lies.
type origin struct {
	lat, lon float64 // degrees; the longitude is the central meridian
	x, y     float64 // false easting and northing in metres
}
