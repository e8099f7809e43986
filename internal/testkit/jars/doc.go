// Package jars fetches Java libraries for tests from Maven Central: the dependencies of a POM, once, into the user's
// cache folder.
//
// It only downloads if it is told to, so that a plain `go test` needs no network. Otherwise, jars that are not in the
// cache are reported as absent, which differs from broken. It runs no code of the libraries.
package jars
