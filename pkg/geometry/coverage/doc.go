// Package coverage computes the area that polygons cover, even if their rings cross, touch or overlap. A polygon covers
// the places that an odd number of its rings surround; the result is the union over all polygons, outlined by new rings.
//
//	rings ─▶ network ─▶ faces, and which polygons cover them ─▶ rings around what is covered
//	         package      an edge is the border of those          exteriors counterclockwise,
//	         noding       polygons that have it an odd            each with its holes
//	                      number of times
//
// A bow-tie becomes two triangles, a spike disappears, a hole outside of its exterior becomes a polygon, and overlapping
// polygons become one. The result is valid by OGC Simple Features: package validity checks it before the package returns
// it. The package also returns the area of each polygon by itself, so that callers can check the result: its area is at
// least the largest of them and at most their sum.
//
// # What the package refuses to do
//
// It does not decide whether a geometry should change, and it does not know what ordinates mean: package repair does. It
// never returns an invalid polygon.
package coverage
