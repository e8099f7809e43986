// Package units converts numbers between units of measurement.
package units

import (
	"math"
	"slices"
)

// Unit is the relation of a unit to the base of its quantity: base = (x + shift) * up / down. The factors are whole
// numbers where the definition is exact, so that round values stay round.
type Unit struct {
	Name, Quantity  string
	up, down, shift float64
}

// table returns the closed list of units.
//
// Sources: BIPM, The International System of Units, 9th edition (2019), tables 4 and 8; NIST SP 811 (2008), appendix
// B.8, for units that are not metric. The international foot is 0.3048 m exactly. The US survey foot is 1200/3937 m;
// NIST retired it in 2022, and older State Plane data uses it.
func table() []Unit {
	return []Unit{
		{"m", "length", 1, 1, 0}, {"mm", "length", 1, 1000, 0}, {"cm", "length", 1, 100, 0}, {"km", "length", 1000, 1, 0},
		{"in", "length", 254, 10000, 0}, {"ft", "length", 3048, 10000, 0}, {"us_ft", "length", 1200, 3937, 0},
		{"yd", "length", 9144, 10000, 0}, {"mi", "length", 1609344, 1000, 0}, {"nmi", "length", 1852, 1, 0},

		{"m2", "area", 1, 1, 0}, {"a", "area", 100, 1, 0}, {"ha", "area", 10000, 1, 0}, {"km2", "area", 1e6, 1, 0},
		{"ft2", "area", 9290304, 1e8, 0}, {"yd2", "area", 83612736, 1e8, 0},
		{"acre", "area", 40468564224, 1e7, 0}, {"mi2", "area", 2589988110336, 1e6, 0},

		{"m3", "volume", 1, 1, 0}, {"l", "volume", 1, 1000, 0}, {"ft3", "volume", 28316846592, 1e12, 0},

		{"K", "temperature", 1, 1, 0}, {"degC", "temperature", 1, 1, 273.15}, {"degF", "temperature", 5, 9, 459.67},

		{"m/s", "speed", 1, 1, 0}, {"km/h", "speed", 1000, 3600, 0}, {"kn", "speed", 1852, 3600, 0}, {"mph", "speed", 44704, 100000, 0},

		{"Pa", "pressure", 1, 1, 0}, {"hPa", "pressure", 100, 1, 0}, {"kPa", "pressure", 1000, 1, 0}, {"bar", "pressure", 100000, 1, 0},

		{"kg", "mass", 1, 1, 0}, {"g", "mass", 1, 1000, 0}, {"t", "mass", 1000, 1, 0}, {"lb", "mass", 45359237, 1e8, 0},

		{"s", "time", 1, 1, 0}, {"min", "time", 60, 1, 0}, {"h", "time", 3600, 1, 0}, {"d", "time", 86400, 1, 0},

		{"rad", "angle", 1, 1, 0}, {"deg", "angle", math.Pi, 180, 0}, {"gon", "angle", math.Pi, 200, 0},
	}
}

// Names lists the units.
func Names() []string {
	var names []string
	for _, u := range table() {
		names = append(names, u.Name)
	}
	return names
}

// Find returns the unit with a name. Case matters.
func Find(name string) (Unit, bool) {
	all := table()
	i := slices.IndexFunc(all, func(u Unit) bool { return u.Name == name })
	if i < 0 {
		return Unit{}, false
	}
	return all[i], true
}

// Conversion converts numbers from one unit to another: (x * up + offset) / down.
type Conversion struct{ up, down, offset float64 }

// Between returns the conversion between two units of one quantity.
func Between(from, to Unit) Conversion {
	c := Conversion{up: from.up * to.down, down: from.down * to.up}
	// Shifts have two decimals, so anything smaller is the rounding error of this line.
	c.offset = math.Round((from.shift*c.up-to.shift*c.down)*1e6) / 1e6
	return c
}

// Convert computes in doubles, with one rounding per operation.
func (c Conversion) Convert(x float64) float64 {
	if x *= c.up; c.offset != 0 {
		x += c.offset
	}
	return x / c.down
}
