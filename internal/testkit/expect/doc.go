// Package expect checks expectations, one statement for each of them.
//
// A test continues after a failed expectation, so that it shows all failures. Package must has the checks that end a
// test.
package expect
