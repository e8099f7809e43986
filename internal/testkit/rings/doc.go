// Package rings draws polygons for tests and measurements: shapes of any size that
// are hard for methods that compare edges by their boxes, and random polygons that
// are valid about as often as not. It draws the same for the same seed, and
// judges nothing.
package rings
