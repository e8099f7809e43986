// Package sweep keeps the status of a plane sweep: the segments that the sweep line passes, in order from south to north. It inserts a segment
// above a known one or removes it in O(log n), has its neighbours at hand, finds what a place lies on, and tells whether neighbours cross ahead.
//
// Items are numbers of the caller's, who keeps their segments, puts them in their order and decides what a crossing means.
package sweep
