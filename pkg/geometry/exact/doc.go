// Package exact answers geometric questions about doubles without a rounding
// error: on which side of a line a point lies. The answer is first computed in
// plain doubles and kept where their error cannot change it; else it is computed
// again by exact expansions (Shewchuk, 1997), and with rational numbers for
// ordinates that no map has.
//
// It refuses to have a tolerance: points that are nearly on a line are not on it.
package exact
