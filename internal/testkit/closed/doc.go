// Package closed proves for a test that enums are closed: that the list function of a string type names each constant of
// that type which the source of the package under test declares, once, and nothing else.
//
// It reads the Go files of the current folder, which `go test` makes that of the package. It judges no meaning of a word.
package closed
