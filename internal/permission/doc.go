// Package permission gives errors of a missing permission the words that an operator needs: which operation on which
// resource was refused to whom, and what prints the permissions that are needed.
//
// A client's error says only that something was refused, so each place that asks a broker names its operation and its
// resource here. The package refuses to decide what follows: a retry, a pause or the end is for its callers.
package permission
