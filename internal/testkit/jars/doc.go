// Package jars brings Java libraries from Maven Central to tests: what a POM lists, once, into the
// user's cache folder.
//
// It downloads only when it is told to, so that a plain `go test` needs no network; without that,
// jars that are not in the cache are absent, which is told from broken. It runs nothing of them.
package jars
