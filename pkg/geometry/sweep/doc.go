// Package sweep keeps the status of a plane sweep: the segments that the sweep line meets, in order from south to north.
// It finds the segments on which a place lies, inserts and removes segments in O(log n), and reports whether two
// neighbours cross ahead of the sweep line.
//
// Items are numbers that the caller assigns. The caller stores their segments, puts them in order, and decides what a
// crossing means.
package sweep
