// Package rings draws polygons for tests and measurements: shapes of any size that are hard for methods that compare
// edges by their boxes, and random polygons of which about half are valid. The same seed draws the same polygons.
package rings
