// Package validity decides whether a geometry is valid and simple by OGC Simple Features (06-103r4, section 6.1), and
// returns the broken rule and its place.
//
// Its input may be hostile. It judges a polygon or multipolygon, however many rings it has and whatever their shape, in
// one sweep from west to east, in n·log n time for n positions. The sweep (Shamos and Hoey, 1976) keeps the edges that
// it passes in order from south to north, so that an edge is only compared with its neighbours. Libraries that look for
// pairs of edges with overlapping boxes need n² for long edges side by side, such as the spikes of a star, so that a
// record of a megabyte can stop a consumer for minutes.
//
// Verdicts do not depend on rounding. The only arithmetic is on which side of a line a point lies, which package exact
// answers. A small ring is first compared edge by edge, which is faster and accepts nearly every valid one. Only the
// place in a [Fault] of crossing edges is rounded.
//
// # What is valid
//
// A ring is simple: it does not meet itself, not even in a single point. Rings of one polygon do not cross, share no
// edge, and touch in so few points that the interior stays connected. A hole lies in its exterior ring and in no other
// hole. Polygons of one multipolygon have no interior point and no edge in common; they may touch in points. Positions
// may be repeated. Winding and heights do not matter.
//
// # What the package refuses to do
//
// It does not repair, does not convert, and has no tolerance: positions that are nearly the same are not the same. It
// judges in the plane of the coordinates, so it does not know the antimeridian.
package validity
