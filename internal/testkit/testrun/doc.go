// Package testrun reads the settings of a test run from the environment: the tier of tests to run, the factor for time
// limits, and the seed of random inputs. It also finds addresses for the servers of tests.
//
// A test that calls none of Fast, Proof and Nightly runs in every tier. Packages whose tests all run in seconds and need
// only Go do not import this package.
package testrun
