// Package validity decides whether a geometry is valid and simple by OGC Simple
// Features (06-103r4, section 6.1), and says which rule is broken and where.
//
// It is made for geometries of strangers. A polygon or multipolygon, however many
// rings it has and whatever their shape, is judged in one sweep from west to
// east, in n·log n time for n positions: the sweep (Shamos and Hoey, 1976) keeps
// the edges that it is passing in order from south to north, so that an edge is
// only ever compared with its neighbours. Libraries that look for pairs of edges
// whose boxes overlap need n² for long edges side by side, such as the spikes of
// a star, and with that a record of a megabyte can stop a consumer for minutes.
//
// Verdicts do not depend on rounding. The only arithmetic is the question on
// which side of a line a point lies, and package exact answers it. A small ring is
// first compared edge by edge, which is faster and passes nearly every valid one.
// Only the place that a [Fault] of crossing edges names is rounded.
//
// # What is valid
//
// A ring is simple: it meets itself nowhere, not even in a single point. Rings of
// one polygon do not cross, share no edge, and touch in so few points that the
// interior stays in one piece. A hole lies in its exterior ring and in no other
// hole. Polygons of one multipolygon have no interior point and no edge in
// common; they may touch in points. Positions may be repeated. Winding and
// heights play no part.
//
// # What the package refuses to do
//
// It does not repair, does not convert, and knows no tolerance: positions that
// are nearly the same are not the same. It judges in the plane of the
// coordinates, so the antimeridian is nothing to it.
package validity
