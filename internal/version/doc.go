// Package version says what a binary was built from: version, commit, Go version and platform. It reads what the Go toolchain
// writes into every binary, and what a build without version control names by linker flags. It contacts nothing and never guesses:
// what is not known is empty.
package version
