// Package noding turns line segments that cross, touch and overlap into a network on a grid: nodes at places of the
// grid, and edges that meet at nodes only.
//
//	segments ─▶ crossings ─▶ hot pixels ─▶ each segment by way of its pixels ─▶ network
//	           exact sweep   cells of the   until no edge passes through a      edges in order
//	                         grid           pixel that is not at its ends       around each node
//
// The method is snap rounding (Hobby, 1999; Guibas and Marimont, 1998), iterated until it is stable (Halperin and
// Packer, 2002). A cell of the grid is hot if it contains an end of a segment or a crossing. The package leads each
// segment through the centre of each hot cell that it passes. This moves a segment by at most half a cell and never to
// the other side of a node. In the end, every edge is at least half a cell away from each node that is not its own.
// Polygons built from the network therefore stay valid when their positions are written as doubles.
//
// A sweep (Bentley and Ottmann, 1979) finds the crossings. It compares exactly: places are whole numbers of a finer
// grid, package exact decides sides, and crossings are compared as fractions. The cost is n log n plus the number of
// crossings, which [Limits] bounds.
//
// # What the package refuses to do
//
// It knows nothing of polygons: package coverage decides what is inside. It stops when its context ends or when it
// reaches a limit.
package noding
