// Package exact decides on which side of a line a point lies, without rounding errors. It first computes the answer in
// plain doubles, and keeps it if rounding cannot have changed it. Otherwise it computes the answer again with exact
// expansions (Shewchuk, 1997), or with rational numbers for ordinates outside of the range of any map.
//
// The package has no tolerance: a point that is almost on a line is not on it.
package exact
