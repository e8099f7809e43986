// Package grid rounds ordinates to a decimal grid: the multiples of 10^-n, which are the coordinates with n decimals. It
// rounds half away from zero. A rounded ordinate is the double nearest to its decimal number, so it is written with at
// most n decimals and rounds to itself.
//
// The package does not round an ordinate that is too large to have n decimals in a double.
package grid
