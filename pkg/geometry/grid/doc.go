// Package grid rounds ordinates to a decimal grid: the multiples of 10^-n that
// coordinates with n decimals are. Rounding is half away from zero, and a rounded
// ordinate is the double nearest to its decimal number, so that it is written with
// no more than n decimals and rounds to itself.
//
// It refuses to round what a double has no n decimals for: such an ordinate stays
// as it is.
package grid
