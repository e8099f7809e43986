// Package repair makes geometries valid, and reports the cost: areas before and after, and the rings and lines of which
// nothing is left.
//
//   - [Repair] replaces an invalid geometry by a valid one.
//   - [Snap] rounds a geometry to a decimal grid so that it is valid there.
//   - [Cut] cuts a geometry at the 180th meridian (RFC 7946 section 3.1.9), closes
//     rings around a pole at the pole, and repairs what is cut.
//
// All three use package coverage: of a polygon what an odd number of its rings surround, of several polygons their
// union. What is already valid stays as it is. Heights stay with their positions; new positions have those of the edges
// on which they lie.
//
// # The guards
//
// The area of a result is at least that of its largest polygon, and at most the sum of all. A polygon that was valid on
// its own has the area that its rings have. A result that violates one of these, or is not valid, is not returned.
//
// # What the package refuses to do
//
// It does not decide whether a geometry may be changed: its caller does. It does not guess what an edge of more than 180
// degrees of longitude means unless it is asked to cut: [Crosses] finds such edges. [Limits] and the context bound the
// work.
package repair
