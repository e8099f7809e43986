// Package coverage finds what polygons cover, whatever their rings do: the places
// that an odd number of rings of one polygon surround, of all polygons together.
// Around it lays new rings.
//
//	rings ─▶ network ─▶ faces, and which polygons cover them ─▶ rings around what is covered
//	         package      an edge is the border of those          exteriors counterclockwise,
//	         noding       polygons that have it an odd            each with its holes
//	                      number of times
//
// A bow-tie becomes two triangles, a spike goes, a hole outside of its exterior
// becomes a polygon, polygons that overlap become one. What comes out is valid by
// OGC Simple Features: it is asked of package validity before it is returned.
// The area of each polygon by itself comes out too, so that the result can be held
// against it: it is at least the largest of them and at most their sum.
//
// # What the package refuses to do
//
// It does not decide whether a geometry should be changed, and does not know what
// its ordinates mean: package repair does. It gives nothing back that is not valid.
package coverage
