// Package flaghint says which flag was probably meant by one that a command does not have. Both programs ask it, so that they
// answer alike. It never takes a flag for another: a command line that is wrong stays wrong.
package flaghint
