// Package repair makes geometries valid, and says what that cost: areas before and
// after, and the rings and lines that nothing was left of.
//
//   - [Repair] puts a valid geometry in the place of one that is not.
//   - [Snap] rounds a geometry to a decimal grid so that it is valid there.
//   - [Cut] cuts a geometry at the 180th meridian (RFC 7946 section 3.1.9), closes
//     rings around a pole at the pole, and repairs what is cut.
//
// All three rest on package coverage: of a polygon what an odd number of its rings
// surround, of several polygons all of it together. What is valid already stays as
// it is. Heights stay with their positions; new positions have those of the edges
// that they lie on.
//
// # The guards
//
// The area of a result is at least that of its largest polygon, and at most the sum
// of all. A polygon that was valid by itself has the area that its rings have. A
// result that breaks one of these is not returned, and none is that is not valid.
//
// # What the package refuses to do
//
// It does not decide whether a geometry may be changed: its caller does. It does
// not guess what an edge of more than 180 degrees of longitude means, unless it is
// asked to cut: [Crosses] finds such edges. Work is bounded by [Limits] and by the
// context.
package repair
