// Package shapes answers questions about shapes as GeoJSON writes them: where a position or a part stands, which way rings
// run, what rounding leaves, and the canonical form for the content hash.
package shapes
