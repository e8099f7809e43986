// Package noding turns line segments that cross, touch and run over each other
// into a network on a grid: nodes at places of the grid, and edges that meet at
// nodes only.
//
//	segments ─▶ crossings ─▶ hot pixels ─▶ each segment by way of its pixels ─▶ network
//	           exact sweep   cells of the   until no edge passes through a      edges in order
//	                         grid           pixel that is not at its ends       around each node
//
// The method is snap rounding (Hobby, 1999; Guibas and Marimont, 1998), iterated
// until it is stable (Halperin and Packer, 2002). Every cell of the grid that holds
// an end of a segment or a crossing is hot, and a segment is led through the centre
// of each hot cell that it passes. It moves by half a cell, passes no node on
// another side than before, and in the end no edge is nearer than half a cell to a
// node that is not its own: what is built of the network stays valid when its
// places are written as doubles.
//
// Crossings are found by a sweep (Bentley and Ottmann, 1979) that compares exactly:
// places are whole numbers of a finer grid, sides are decided by package exact, and
// crossings are compared as fractions. The cost is n log n and the number of
// crossings, which [Limits] bounds.
//
// # What the package refuses to do
//
// It knows nothing of polygons: what is inside is decided by package coverage. It
// does not go on when its context ends, nor beyond a limit.
package noding
