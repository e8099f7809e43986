// Package sweep keeps the status of a plane sweep: the edges that the sweep line
// is passing, in order from south to north. An edge is inserted above a known one
// or removed in O(log n), its neighbours are at hand, and a search may go down the
// tree with a predicate of the caller's.
//
// It refuses to know what an edge is: items are numbers of the caller's, and the
// caller alone compares them. That the order is right is the caller's promise.
package sweep
