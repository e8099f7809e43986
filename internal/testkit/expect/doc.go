// Package expect tests what a test expects, one statement for each expectation.
//
// A test goes on after an expectation that failed, so that it shows all of them. Package must has the steps that end a test.
package expect
